"""A front of footprint and risk over all rows of settings: points as numbers, assignments when they are asked for."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Protocol, overload

import numpy as np

from solver.errors import VerificationError
from solver.optimize.merge import Integers
from solver.optimize.problem import Budget, Counts, Point, Problem, Proof
from solver.optimize.stopping import Stops
from solver.optimize.verify import verify_front, verify_point


class Row(Protocol):
    """The points of one row of settings by rising bytes of weights, as arrays."""

    @property
    def sizes(self) -> Integers:
        """Bytes of weights of each point."""

    @property
    def risks(self) -> Integers:
        """Risk steps of each point."""

    def counts(self, indices: Sequence[int]) -> list[Counts]:
        """Return the options that make some points."""

    def proof(self, index: int) -> Proof:
        """Return how far a point is proven."""


class Front(Sequence[Point]):
    """Points that none beats in bytes and risk, by rising bytes; each becomes an assignment when it is asked for.

    Assignments cost a second run of the merge: ask for several points at once.

    Parameters
    ----------
    rows
        Problems with the points of each within the budget.
    complete
        Whether every non-dominated point is there.
    stops
        What ended the search before it had all that it seeks.

    """

    def __init__(
        self,
        rows: Sequence[tuple[Problem, Row]],
        budget: Budget,
        *,
        complete: bool,
        stops: Stops | None = None,
    ) -> None:
        self._rows, self._budget, self.complete, self.stops = rows, budget, complete, stops or Stops()
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

    @property
    def interrupted(self) -> bool:
        """Whether an interrupt ended the search."""
        return self.stops.interrupted

    @property
    def limited(self) -> bool:
        """Whether the time limit ended a part of the search, or left a point with a gap."""
        return self.stops.limited

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
