"""Reads and writes documents: whole or not at all, and the same bytes for the same content."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from solver.errors import BadInputError, MissingError
from solver.plan.document import QuantPlan

PLAN_NAME = "quant_plan.json"


def to_json(document: Any) -> str:
    """Return a document as indented JSON with a final newline."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


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


def read_plan(path: Path) -> QuantPlan:
    """Return the plan in a file.

    Raises
    ------
    MissingError
        If there is no such file.
    BadInputError
        If it is no plan of ours; the offending fields are named.

    """
    if not path.is_file():
        raise MissingError(
            "there is no plan.", where=str(path), mend="`solve --model MODEL --hardware NAME` writes one."
        )
    try:
        return QuantPlan.model_validate_json(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise BadInputError("is no text file.", where=str(path)) from error
    except ValidationError as error:
        fields = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'document'}: {item['msg']}"
            for item in error.errors(include_url=False)[:5]
        )
        raise BadInputError(
            f"is no plan of this tool: {fields}.",
            where=str(path),
            mend="Plan again, or mend the fields named.",
        ) from error


def write_plan(path: Path, plan: QuantPlan) -> None:
    """Write a plan."""
    write_atomic(path, to_json(plan.model_dump(mode="json")))
