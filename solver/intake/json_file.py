"""Reads JSON files that others wrote, without silently losing half of a contradiction."""

import json
from pathlib import Path
from typing import Any


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if found.setdefault(key, value) != value:
            raise ValueError(f"{key!r} stands twice, with different values")
    return found


def read_json(path: Path) -> Any:
    """Return the content of a JSON file.

    Raises
    ------
    OSError
        If it cannot be read.
    RecursionError
        If it is nested too deeply.
    ValueError
        If it is no JSON, or gives one key of an object two values, of which readers keep one silently.

    """
    return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_unambiguous)
