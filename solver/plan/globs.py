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


def digit_globs(numbers: Iterable[int], known: Iterable[int]) -> list[str]:
    """Return the globs of two digit classes that match as many of some numbers as they can, and no other known one.

    With the tens as rows and the ones as columns these are the maximal rectangles: sets of rows with all columns that
    they share. Digits that no known number has are left open, and classes become no longer for them.
    """
    wanted, free = set(numbers), set(known) - set(numbers)
    rows = {
        tens: frozenset(ones for ones in range(10) if 10 * tens + ones not in free)
        for tens in range(1, 10)
        if any(number // 10 == tens for number in wanted)
    }
    columns = set(rows.values())
    for row in rows.values():
        columns |= {row & other for other in columns}
    globs = []
    for ones in columns - {frozenset()}:
        used = [ten for ten, row in rows.items() if ones <= row]
        hit = {one for one in ones if any(10 * ten + one in wanted for ten in used)}
        globs.append(_digit_class(used) + _digit_class(hit))
    return sorted(globs)
