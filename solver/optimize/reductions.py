"""What can be left out of a problem without losing a point of its front."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from solver.optimize.problem import Option, Problem, UnitClass
from solver.rules.units import Unit


def without_dominated(options: Sequence[Option]) -> tuple[Option, ...]:
    """Return the options that no other is at least as good as in bytes, risk and decoding time.

    Of options with equal costs the first stays. Ordered by bytes, then risk: the order of all tie-breaks.
    """
    kept: list[Option] = []
    for option in sorted(options, key=lambda option: (*option.vector, option.scheme)):
        if not any(all(map(int.__le__, other.vector, option.vector)) for other in kept):
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

    A row is beaten when another with the same cache, and no more bytes beside the weights, has the same classes and,
    for each of its options, the same scheme at no more risk. Of equal rows the first stays.
    """
    kept: list[Problem] = []
    for problem in problems:
        if any(_beats(other, problem) for other in kept):
            continue
        kept = [other for other in kept if not _beats(problem, other)] + [problem]
    return kept


def _beats(better: Problem, worse: Problem) -> bool:
    same_cache = better.settings.kv_cache_scheme == worse.settings.kv_cache_scheme
    if not same_cache or better.overhead_bytes > worse.overhead_bytes or len(better.classes) != len(worse.classes):
        return False
    for ours, theirs in zip(better.classes, worse.classes, strict=True):
        if ours.units != theirs.units:
            return False
        risks = {option.scheme: option.risk for option in ours.options}
        if any(risks.get(option.scheme, option.risk + 1) > option.risk for option in theirs.options):
            return False
    return True
