"""A plan as it lies on disk, against the published schema of plans."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import ValidationError

from solver.catalog.paths import SCHEMAS_DIR
from solver.plan.verification import Check, Difference, checked

_SCHEMA = "quant_plan.schema.json"


def _innermost(error: "ValidationError") -> "ValidationError":
    """Return what is wrong farthest inside: where one of several forms is allowed, the outer error names none."""
    while error.context:
        error = max(error.context, key=lambda inner: len(inner.absolute_path))
    return error


def schema_check(document: Any) -> Check:
    """Return whether a document keeps the schema of plans, with each place where it does not."""
    from jsonschema import Draft202012Validator  # takes as long to import as planning a small model

    schema = json.loads(Path(SCHEMAS_DIR / _SCHEMA).read_text(encoding="utf-8"))
    found = sorted(
        map(_innermost, Draft202012Validator(schema).iter_errors(document)), key=lambda error: error.json_path
    )
    fields = len(document) if isinstance(document, dict) else 0
    return checked(
        "schema",
        f"{fields} fields and what is in them: as {_SCHEMA}",
        (Difference(where=error.json_path, expected="what the schema allows", found=error.message) for error in found),
    )
