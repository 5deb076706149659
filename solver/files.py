"""Writes files: whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from solver.errors import BadInputError


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a temporary file beside a path, and rename it to that at the end: no half-written file is ever seen.

    Raises
    ------
    BadInputError
        If the folder does not exist or cannot be written.

    """
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = Path(file.name)
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except (OSError, UnicodeEncodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "a name in it is no text"
        raise BadInputError(
            f"cannot be written: {reason}.", where=str(path), mend="Name a file in a folder that exists."
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_atomic(path: Path, text: str) -> None:
    """Write a text under a temporary name beside a path and rename it.

    Raises
    ------
    BadInputError
        If the folder does not exist or cannot be written.

    """
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
