"""Globs over block numbers: the shortest readable ones that match some blocks and no others."""

import re
from collections import defaultdict
from collections.abc import Iterable


def _digit_class(digits: Iterable[int]) -> str:
    """Return digits as one glob: `4`, `[4-7]` or `[0-24]`."""
    ordered = sorted(set(digits))
    if len(ordered) == 1:
        return str(ordered[0])
    parts: list[list[int]] = []
    for digit in ordered:
        if parts and parts[-1][-1] == digit - 1:
            parts[-1].append(digit)
        else:
            parts.append([digit])
    return "[" + "".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts) + "]"


def number_globs(numbers: Iterable[int]) -> list[str]:
    """Return globs that together match exactly these numbers, written in decimal.

    Numbers that share all digits but the last become one class of digits; equal classes merge one digit further
    up: 0 to 35 is `[0-9]`, `[1-2][0-9]`, `3[0-5]`.
    """
    last_digits: dict[str, set[int]] = defaultdict(set)
    for number in numbers:
        last_digits[str(number)[:-1]].add(int(str(number)[-1]))
    prefixes: dict[tuple[str, str], set[int]] = defaultdict(set)
    globs: list[str] = []
    for prefix, digits in last_digits.items():
        ending = _digit_class(digits)
        if prefix:
            prefixes[prefix[:-1], ending].add(int(prefix[-1]))
        else:
            globs.append(ending)
    globs += [head + _digit_class(digits) + ending for (head, ending), digits in prefixes.items()]
    return sorted(globs, key=_least)


def _least(glob: str) -> int:
    """Return the least number that a glob of digits and digit classes matches."""
    return int(re.sub(r"\[(\d)[^]]*\]", r"\1", glob))
