"""Writes files: whole or not at all."""

import os
import tempfile
from pathlib import Path

from solver.errors import BadInputError


def write_atomic(path: Path, text: str) -> None:
    """Write a file under a temporary name beside it and rename it, so that no half-written file is ever seen.

    Raises
    ------
    BadInputError
        If the folder does not exist or cannot be written.

    """
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            temporary = Path(file.name)
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except (OSError, UnicodeEncodeError) as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        reason = error.strerror if isinstance(error, OSError) else "a name in it is no text"
        raise BadInputError(
            f"cannot be written: {reason}.", where=str(path), mend="Name a file in a folder that exists."
        ) from error
