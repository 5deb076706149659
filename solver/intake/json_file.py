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


def small_object(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file, or None if it holds none or cannot be read."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            # Checkpoints are large: what does not begin as a JSON object is not read.
            if not file.read(64).lstrip().startswith(b"{"):
                return None
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
