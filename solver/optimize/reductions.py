"""What can be left out of a problem without losing its optimum; fixing by a bound is in `solver.optimize.fixing`."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import gcd

from solver.optimize.problem import Counts, Option, Problem, UnitClass
from solver.rules.units import Unit

Rows = list[list[int]]
"""One cost of each option, by class."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """A smaller problem, and what turns its counts into counts of the whole one at the same costs."""

    problem: Problem
    expand: Callable[[Counts], Counts]


def offset(rows: Rows, units: Sequence[int]) -> tuple[Rows, int]:
    """Return the rows with each class's least cost subtracted, and what that is in all: `units` of each class.

    cost = offset + new cost, exactly, because every unit takes one option.
    """
    least = [min(row) for row in rows]
    shifted = [[value - lowest for value in row] for row, lowest in zip(rows, least, strict=True)]
    return shifted, sum(lowest * count for lowest, count in zip(least, units, strict=True))


def divided(rows: Rows) -> tuple[Rows, int]:
    """Return the rows divided by the greatest divisor that all costs have in common, and the divisor; 1 if all are 0.

    cost = divisor * new cost, exactly; a limit on the cost may be rounded down to a multiple.
    """
    divisor = gcd(*chain.from_iterable(rows)) or 1
    return [[value // divisor for value in row] for row in rows], divisor


def count_identical(problem: Problem) -> Reduced:
    """Return the problem with classes of equal options as one: only how many units take an option matters.

    Options count as equal by their costs in the order in which they stand. The first classes get the first options.
    """
    members: dict[tuple[tuple[int, int, int], ...], list[int]] = {}
    for number, part in enumerate(problem.classes):
        members.setdefault(tuple(option.vector for option in part.options), []).append(number)
    merged = tuple(_as_one([problem.classes[number] for number in numbers]) for numbers in members.values())

    def expand(counts: Counts) -> Counts:
        taken: list[tuple[int, ...]] = [()] * len(problem.classes)
        for numbers, row in zip(members.values(), counts, strict=True):
            left = list(row)
            for number in numbers:
                taken[number] = _draw(left, problem.classes[number].count)
        return tuple(taken)

    return Reduced(replace(problem, classes=merged), expand)


def _as_one(parts: Sequence[UnitClass]) -> UnitClass:
    if len(parts) == 1:
        return parts[0]
    return replace(parts[0], units=tuple(chain.from_iterable(part.units for part in parts)))


def _draw(left: list[int], units: int) -> tuple[int, ...]:
    """Take units from the counts that are left, first options first."""
    drawn: list[int] = []
    for place, count in enumerate(left):
        drawn.append(min(count, units - sum(drawn)))
        left[place] -= drawn[-1]
    return tuple(drawn)


def drop_dominated(problem: Problem) -> Reduced:
    """Return the problem with no option that another one of its class beats or equals in all costs."""
    return _with_rows(problem, [without_dominated(part.options) for part in problem.classes])


def with_options(problem: Problem, may_have: Callable[[UnitClass, Option], bool]) -> Reduced:
    """Return the problem with only some of its options; a class may be left with none."""
    return _with_rows(
        problem, [tuple(option for option in part.options if may_have(part, option)) for part in problem.classes]
    )


def _with_rows(problem: Problem, kept: Sequence[tuple[Option, ...]]) -> Reduced:
    places = [[part.options.index(option) for option in row] for part, row in zip(problem.classes, kept, strict=True)]

    def expand(counts: Counts) -> Counts:
        taken = [[0] * len(part.options) for part in problem.classes]
        for row, ours, numbers in zip(taken, counts, places, strict=True):
            for place, number in zip(numbers, ours, strict=True):
                row[place] = number
        return tuple(map(tuple, taken))

    classes = tuple(replace(part, options=row) for part, row in zip(problem.classes, kept, strict=True))
    return Reduced(replace(problem, classes=classes), expand)


def without_dominated(options: Sequence[Option]) -> tuple[Option, ...]:
    """Return the options that no other is at least as good as in bytes, risk and decoding time.

    Of options with equal costs the first stays. Ordered by bytes, then risk: the order of all tie-breaks.
    """
    kept: list[Option] = []
    for option in sorted(options, key=lambda option: (*option.vector, option.scheme)):
        if not any(_no_more(other.vector, option.vector) for other in kept):
            kept.append(option)
    return tuple(kept)


def reduced(problem: Problem) -> Problem:
    """Return the problem without dominated options; classes that have the same ones then are one."""
    units: dict[tuple[tuple[str, ...], tuple[Option, ...]], list[Unit]] = defaultdict(list)
    for part in problem.classes:
        names = tuple(sorted({member.family.name for member in part.units[0].members}))
        units[names, without_dominated(part.options)].extend(part.units)
    classes = (
        UnitClass(tuple(sorted(members, key=lambda unit: unit.first_block)), options)
        for (_, options), members in units.items()
    )
    return replace(problem, classes=tuple(classes))


def prune_rows(problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems without those that another row beats option by option.

    A row is beaten when another with the same cache, and no more of anything beside the choices, has the same classes
    and, for each of its options, the same scheme at no more bytes, risk and time. Of equal rows the first stays.
    """
    kept: list[Problem] = []
    for problem in problems:
        if any(_beats(other, problem) for other in kept):
            continue
        kept = [other for other in kept if not _beats(problem, other)] + [problem]
    return kept


def _beats(better: Problem, worse: Problem) -> bool:
    if better.settings.kv_cache_scheme != worse.settings.kv_cache_scheme:
        return False
    if better.avoids_native != worse.avoids_native or len(better.classes) != len(worse.classes):
        return False
    if not _no_more(_beside(better), _beside(worse)):
        return False
    for ours, theirs in zip(better.classes, worse.classes, strict=True):
        if ours.units != theirs.units:
            return False
        costs = {option.scheme: option.vector for option in ours.options}
        if not all(
            option.scheme in costs and _no_more(costs[option.scheme], option.vector) for option in theirs.options
        ):
            return False
    return True


def _beside(problem: Problem) -> tuple[int, ...]:
    """Return what no choice changes."""
    return *problem.fixed, problem.kv_cache_bytes, problem.overhead_bytes, problem.cache_ticks


def _no_more(ours: Sequence[int], theirs: Sequence[int]) -> bool:
    return all(map(int.__le__, ours, theirs))
