"""Reads and writes documents: whole or not at all, and the same bytes for the same content."""

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from solver.errors import BadInputError, MissingError
from solver.files import write_atomic
from solver.intake.json_file import read_json, small_object
from solver.plan.document import QuantPlan

PLAN_NAME = "quant_plan.json"


def to_json(document: Any) -> str:
    """Return a document as indented JSON with a final newline."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


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


def plan_document(path: Path) -> Any:
    """Return a plan as it lies on disk.

    Raises
    ------
    BadInputError
        If it gives one key two values, of which readers keep one silently.

    """
    try:
        return read_json(path)
    except ValueError as error:
        raise BadInputError(f"is no plan of this tool: {error}.", where=str(path)) from error


def write_plan(path: Path, plan: QuantPlan) -> None:
    """Write a plan."""
    write_atomic(path, to_json(plan.model_dump(mode="json")))


def is_plan(path: Path) -> bool:
    """Return whether a file is a written plan rather than a model, by its content."""
    return "requires_confirmation" in (small_object(path) or {})
