"""Supported points: where the front touches its lower hull. There, whole classes take one option."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from solver.optimize.problem import Option, Problem

_Step = tuple[Fraction, int]
"""Risk saved for each byte, and the bytes that a whole class's step costs."""


def lower_hull(options: Sequence[Option]) -> list[Option]:
    """Return the options on the lower convex hull of (bytes, risk), by rising bytes and falling risk."""
    hull: list[Option] = []
    for option in sorted(options, key=lambda option: (option.size_bytes, option.risk)):
        if hull and option.risk >= hull[-1].risk:
            continue
        while len(hull) > 1 and _saving(hull[-2], hull[-1]) <= _saving(hull[-1], option):
            hull.pop()
        hull.append(option)
    return hull


def _saving(smaller: Option, larger: Option) -> Fraction:
    return Fraction(smaller.risk - larger.risk, larger.size_bytes - smaller.size_bytes)


def supported_sizes(problem: Problem, limit: int) -> list[int]:
    """Return the bytes of weights of all supported points up to `limit`, ascending.

    Starting from the smallest option of every class, classes step up their hulls in the order of what a byte
    saves. Units of a class step together, so that such points need few patterns.
    """
    size = problem.fixed[0]
    steps: list[_Step] = []
    for part in problem.classes:
        hull = lower_hull(part.options)
        size += part.count * hull[0].size_bytes
        steps.extend(
            (_saving(smaller, larger), part.count * (larger.size_bytes - smaller.size_bytes))
            for smaller, larger in pairwise(hull)
        )
    sizes = [size]
    for _, cost in sorted(steps, key=lambda step: (-step[0], step[1])):
        sizes.append(sizes[-1] + cost)
    return [size for size in sizes if size <= limit]


def spread(sizes: Sequence[int], count: int) -> list[int]:
    """Return at most `count` of the sizes, evenly spread by rank, both ends among them."""
    if len(sizes) <= count:
        return list(sizes)
    return [sizes[index * (len(sizes) - 1) // (count - 1)] for index in range(count)]
