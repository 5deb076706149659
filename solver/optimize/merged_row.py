"""Fronts of one row of settings by merges alone: in groups, and with few schemes; what other rules leave lies above."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb

from solver.catalog import NATIVE
from solver.optimize.cpsat import Objective, SolverSettings
from solver.optimize.grouped import Grouped
from solver.optimize.groups import avoids_native
from solver.optimize.merge import FrontTooLargeError, Integers, MergedFront
from solver.optimize.problem import Counts, Option, Problem, Proof, UnitClass
from solver.optimize.reductions import Reduced, drop_dominated, with_options
from solver.optimize.side_rules import SideRules

_MOST_MERGES = 40
"""Choices of schemes of which each is merged for itself: beyond, points are sought one by one."""


class MergedRow:
    """Every non-dominated point of a problem that another one stands for; see `MergedFront`."""

    def __init__(self, problem: Problem, expand: Callable[[Counts], Counts], limit: int, most_work: int) -> None:
        plain = drop_dominated(problem)
        self._plain, self._whole = plain, expand
        self._merged = MergedFront(plain.problem, limit, most_work=most_work)
        self.sizes: Integers = self._merged.sizes
        self.risks: Integers = self._merged.risks

    def counts(self, indices: Sequence[int]) -> list[Counts]:
        """Return the options that make some points, for each class of the whole problem."""
        return [self._whole(self._plain.expand(counts)) for counts in self._merged.counts(indices)]

    def proof(self, index: int) -> Proof:
        """Return that no plan of this kind has less risk at a point's bytes."""
        return self._merged.proof(index)

    def place(self, size: int) -> int:
        """Return the index of the last point within some bytes, -1 if there is none."""
        return int(self.sizes.searchsorted(size, side="right")) - 1

    def bound(self, objective: Objective, limits: Mapping[Objective, int]) -> int | None:
        """Return what no assignment within limits is below; None where a merge does not tell."""
        last = self.place(limits["bytes"])
        if objective == "risk" and last >= 0:
            return int(self.risks[last])
        if objective == "bytes" and "risk" in limits:
            first = int((-self.risks).searchsorted(-limits["risk"]))
            return int(self.sizes[first]) if first < len(self.sizes) else None
        return None


def _base(problem: Problem, rules: SideRules) -> Reduced | None:
    """Return the problem whose units share nothing but memory and the number of schemes; None if it has no answer."""
    if rules.granularity == "unit":
        return with_options(problem, lambda part, option: option.scheme != NATIVE or not avoids_native(problem, part))
    grouped = Grouped(problem, rules.granularity, dominated=rules.max_schemes is not None)
    return Reduced(grouped.problem, grouped.expanded) if grouped.possible else None


def _few_schemes(problem: Problem, most: int | None) -> Iterator[Reduced]:
    """Yield the problem once for each choice of schemes; where one leaves a unit nothing, it is left out."""
    names = sorted({option.scheme for part in problem.classes for option in part.options} - {NATIVE})
    if most is None or most >= len(names):
        yield Reduced(problem, lambda counts: counts)
        return
    if comb(len(names), most) > _MOST_MERGES:
        raise FrontTooLargeError
    for chosen in combinations(names, most):
        open_to = {NATIVE, *chosen}

        def among(_: UnitClass, option: Option, open_to: set[str] = open_to) -> bool:
            return option.scheme in open_to

        found = with_options(problem, among)
        if all(part.options for part in found.problem.classes):
            yield found


def merged_rows(problem: Problem, limit: int, settings: SolverSettings, rules: SideRules) -> list[MergedRow]:
    """Return fronts that together have every non-dominated plan of some granularity with at most so many schemes.

    Other rules are left out: with them, no plan has less risk at the same bytes. Blocks as groups need a `separated`
    problem. Empty if units have no scheme in common.

    Raises
    ------
    FrontTooLargeError
        If there is more to merge than the settings allow.
    """
    base = _base(problem, rules)
    if base is None or not all(part.options for part in base.problem.classes):
        return []
    rows = []
    for part in _few_schemes(base.problem, rules.max_schemes):

        def expand(counts: Counts, part: Reduced = part, base: Reduced = base) -> Counts:
            return base.expand(part.expand(counts))

        rows.append(MergedRow(part.problem, expand, limit, settings.merge_work))
    return rows


def merges_alone(rules: SideRules) -> bool:
    """Return whether merges know all there is to some rules."""
    return rules == SideRules(granularity=rules.granularity, max_schemes=rules.max_schemes)


def relaxed(rules: SideRules) -> SideRules:
    """Return the rules that a single merge knows."""
    return replace(rules, overrides=None, max_schemes=None, most_ticks=None)
