"""The front of footprint and risk over all rows of settings: every point, or proven ones where there are too many."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Protocol, overload

import numpy as np

from solver.errors import VerificationError
from solver.optimize.cpsat import SolverSettings
from solver.optimize.grouped import Grouped, GroupedFront
from solver.optimize.merge import FrontTooLargeError, Integers, MergedFront
from solver.optimize.points import lexicographic
from solver.optimize.problem import Budget, Counts, Point, Problem, Proof
from solver.optimize.progress import Progress
from solver.optimize.reductions import reduced
from solver.optimize.side_rules import NO_RULES, SideRules
from solver.optimize.supported import spread, supported_sizes
from solver.optimize.verify import verify_front, verify_point

_SAMPLES = 12
"""Sizes between the ends of a row whose front is too large to be merged, at which the least risk is sought."""

_RULED_SAMPLES = 4
"""Sizes between the ends of a row under side rules: each takes two solves with rows of their own."""


class _Row(Protocol):
    """The points of one row of settings by rising bytes of weights, as arrays."""

    @property
    def sizes(self) -> Integers: ...
    @property
    def risks(self) -> Integers: ...
    def counts(self, indices: Sequence[int]) -> list[Counts]: ...
    def proof(self, index: int) -> Proof: ...


class _SampledRow:
    """Proven points of one row: the ends, and the least risk at sizes between them."""

    def __init__(self, problem: Problem, limit: int, settings: SolverSettings, rules: SideRules) -> None:
        smallest = lexicographic(problem, limit, ("bytes", "risk"), settings, rules)
        safest = lexicographic(problem, limit, ("risk", "bytes"), settings, rules)
        sizes = supported_sizes(reduced(problem), limit)
        if smallest is not None and safest is not None:
            sizes = [size for size in sizes if smallest.weights_bytes < size < safest.weights_bytes]
        between = [
            lexicographic(problem, size, ("risk", "bytes"), settings, rules)
            for size in spread(sizes, _SAMPLES if rules.plain else _RULED_SAMPLES)
        ]
        found = {point.vector[:2]: point for point in (smallest, *between, safest) if point is not None}
        self._points = [found[key] for key in sorted(found)]
        self.sizes = np.array([point.vector[0] for point in self._points], np.int64)
        self.risks = np.array([point.vector[1] for point in self._points], np.int64)

    def counts(self, indices: Sequence[int]) -> list[Counts]:
        return [self._points[index].counts for index in indices]

    def proof(self, index: int) -> Proof:
        return self._points[index].proof


class Front(Sequence[Point]):
    """Points that none beats in bytes and risk, by rising bytes; each becomes an assignment when it is asked for.

    Assignments cost a second run of the merge: ask for several points at once.

    Parameters
    ----------
    rows
        Problems with the points of each within the budget.
    complete
        Whether every non-dominated point is there.
    interrupted
        Whether the search was ended before it had gone through all rows.

    """

    def __init__(
        self,
        rows: Sequence[tuple[Problem, _Row]],
        budget: Budget,
        *,
        complete: bool,
        interrupted: bool = False,
    ) -> None:
        self._rows, self._budget, self.complete, self.interrupted = rows, budget, complete, interrupted
        none = np.empty(0, np.int64)
        totals = np.concatenate([none, *(row.sizes + problem.service_bytes for problem, row in rows)])
        risks = np.concatenate([none, *(row.risks for _, row in rows)])
        owners = np.concatenate([none, *(np.full(len(row.sizes), number) for number, (_, row) in enumerate(rows))])
        places = np.concatenate([none, *(np.arange(len(row.sizes)) for _, row in rows)])
        # Of equals the first row stays: the plainest settings.
        order = np.lexsort((owners, risks, totals))
        falls = np.ones(len(order), dtype=bool)
        falls[1:] = risks[order][1:] < np.minimum.accumulate(risks[order])[:-1]
        kept = order[falls] if len(order) else order
        self.totals, self.risks = totals[kept], risks[kept]
        self._owners, self._places = owners[kept], places[kept]
        self._made: dict[int, Point] = {}
        verify_front(self.totals, self.risks)

    def __len__(self) -> int:
        return len(self.totals)

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> list[Point]: ...
    def __getitem__(self, index: int | slice) -> Point | list[Point]:
        """Return a point, or several, re-checked from its assignment."""
        if isinstance(index, slice):
            return self.points(range(len(self))[index])
        return self.points([range(len(self))[index]])[0]

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points(range(len(self))))

    def problem_of(self, index: int) -> Problem:
        """Return the problem whose row has a point."""
        return self._rows[int(self._owners[index])][0]

    def points(self, indices: Sequence[int]) -> list[Point]:
        """Return some points, each re-checked from its assignment.

        Raises
        ------
        VerificationError
            If an assignment does not cost what its point says, or breaks the budget.
        """
        wanted: dict[int, list[int]] = defaultdict(list)
        for index in indices:
            if index not in self._made:
                wanted[int(self._owners[index])].append(index)
        for owner, ours in wanted.items():
            problem, row = self._rows[owner]
            places = [int(self._places[index]) for index in ours]
            for index, place, counts in zip(ours, places, row.counts(places), strict=True):
                vector = problem.vector(counts)
                if (vector[0] + problem.service_bytes, vector[1]) != (self.totals[index], self.risks[index]):
                    raise VerificationError(f"an assignment costs {vector}, which is not its point of the front")
                self._made[index] = Point(problem, counts, vector, row.proof(place))
                verify_point(self._made[index], self._budget)
        return [self._made[index] for index in indices]


def _row(problem: Problem, limit: int, settings: SolverSettings, rules: SideRules) -> tuple[_Row, bool]:
    """Return the points of one row, and whether they are all."""
    try:
        if rules.plain and settings.fronts is not None:
            return settings.fronts.within(problem, limit, most_work=settings.merge_work), True
        if rules.plain:
            return MergedFront(problem, limit, most_work=settings.merge_work), True
        if rules.only_groups and (grouped := Grouped(problem, rules.granularity)).possible:
            return GroupedFront(grouped, limit, most_work=settings.merge_work), True
    except FrontTooLargeError:
        pass
    return _SampledRow(problem, limit, settings, rules), False


def exact_front(
    problems: Sequence[Problem], budget: Budget, settings: SolverSettings, rules: SideRules = NO_RULES
) -> Front:
    """Return the front within the budget: all of its points where they can be merged, else proven ones.

    Under side rules the problems need all options; dominated ones may be what a rule leaves. An interrupt ends the
    search: the front of the rows that are done is returned, marked.

    Raises
    ------
    KeyboardInterrupt
        If no row was done.
    VerificationError
        If CP-SAT finds another least risk than the merge, or a point fails its re-check.

    """
    rows: list[tuple[Problem, _Row]] = []
    complete, interrupted = True, False
    for number, problem in enumerate(problems):
        if settings.watch is not None:
            settings.watch(Progress(number, len(problems)))
        apart = rules.apart(problem)
        try:
            row, whole = _row(apart, budget.weights_limit(problem), settings, rules)
        except KeyboardInterrupt:
            # Rows that are done have proven points; without any there is nothing to show.
            if not any(len(done.sizes) for _, done in rows):
                raise
            complete, interrupted = False, True
            break
        rows.append((apart, row))
        complete = complete and whole
    front = Front(rows, budget, complete=complete, interrupted=interrupted)
    if len(front) and complete:
        # Sampled points have their proof from what this asks.
        _verify_least_risk(front, budget, settings, rules)
    return front


def _verify_least_risk(front: Front, budget: Budget, settings: SolverSettings, rules: SideRules) -> None:
    """Check the end of a front by another method."""
    problem, risk = front.problem_of(len(front) - 1), int(front.risks[-1])
    found = lexicographic(problem, budget.weights_limit(problem), ("risk",), settings, rules)
    if found is None or found.proof.bound > risk or found.proof.value < risk:
        raise VerificationError(f"CP-SAT bounds the risk by {found and found.proof}, the front by {risk}")
    # Its assignment, which takes a run of the merge, is needed for side rules alone.
    if not rules.plain and (broken := rules.broken_by(problem, front[-1].counts)) is not None:
        raise VerificationError(f"a point of the front has {broken}")


def hull_corners(front: Front) -> list[int]:
    """Return the indices of the points at the corners of the front's lower convex hull."""
    totals, risks = front.totals.tolist(), front.risks.tolist()
    corners: list[int] = []
    for index in range(len(front)):
        while len(corners) > 1:
            first, middle = corners[-2:]
            lower = (risks[first] - risks[middle]) * (totals[index] - totals[middle])
            if lower > (risks[middle] - risks[index]) * (totals[middle] - totals[first]):
                break
            corners.pop()
        corners.append(index)
    return corners
