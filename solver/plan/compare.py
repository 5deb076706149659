"""Documents compared field by field."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from solver.plan.verification import Difference

_ROUNDED = 2e-6
"""Relative distance of two numbers that were rounded to six digits."""

_LONGEST = 160
"""Characters of a value that are shown."""

_ABSENT = object()


def written(value: Any) -> str:
    """Return a value as it stands in a document, numbers with their thousands set apart."""
    if value is _ABSENT:
        return "nothing"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _alike(expected: Any, found: Any) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (expected, found))
    if numbers and (isinstance(expected, float) or isinstance(found, float)):
        return math.isclose(expected, found, rel_tol=_ROUNDED)
    return type(expected) is type(found) and bool(expected == found)


def differences(where: str, expected: Any, found: Any) -> Iterator[Difference]:
    """Yield each leaf of two JSON documents that is not the same in both, rounded numbers by their digits."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for name in dict.fromkeys((*expected, *found)):
            place = f"{where}.{name}" if where else str(name)
            yield from differences(place, expected.get(name, _ABSENT), found.get(name, _ABSENT))
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, (one, other) in enumerate(zip(expected, found, strict=True), start=1):
            yield from differences(f"{where}[{number}]", one, other)
    elif not _alike(expected, found):
        yield Difference(where=where, expected=written(expected), found=written(found))
