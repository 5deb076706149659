"""Points that are found one by one, until an interrupt at most."""

from collections.abc import Callable, Sequence

import numpy as np

from solver.optimize.front_points import Front
from solver.optimize.merge import Integers
from solver.optimize.problem import Budget, Counts, Point, Problem, Proof
from solver.optimize.stopping import SearchInterrupted

Search = Callable[[list[Point]], bool]
"""Appends points to a list, and returns whether no other is left."""


class FoundPoints:
    """What a search has found, and whether that is all, or an interrupt ended it.

    Raises
    ------
    KeyboardInterrupt
        At an interrupt before there is any point; a later one ends the search.

    """

    def __init__(self, search: Search) -> None:
        self.points: list[Point] = []
        self.complete, self.interrupted = False, False
        try:
            self.complete = search(self.points)
        except KeyboardInterrupt as stop:
            self.interrupted = True
            if isinstance(stop, SearchInterrupted) and stop.point is not None:
                self.points.append(stop.point)
            if not self.points:
                raise

    def front(self, problems: Sequence[Problem], budget: Budget) -> Front:
        """Return the points as a front; each is of one of the problems."""
        rows = [(each, _Points([point for point in self.points if point.problem is each])) for each in problems]
        return Front(rows, budget, complete=self.complete, interrupted=self.interrupted)


class _Points:
    """Points of one problem by rising bytes, each once."""

    def __init__(self, points: Sequence[Point]) -> None:
        by_costs = {point.vector[:2]: point for point in points}
        self._points = [by_costs[key] for key in sorted(by_costs)]
        self.sizes: Integers = np.array([point.vector[0] for point in self._points], np.int64)
        """Bytes of weights of each point, rising."""
        self.risks: Integers = np.array([point.vector[1] for point in self._points], np.int64)
        """Risk steps of each point."""

    def counts(self, indices: Sequence[int]) -> list[Counts]:
        """Return the assignments of some points."""
        return [self._points[index].counts for index in indices]

    def proof(self, index: int) -> Proof:
        """Return what is proven of a point."""
        return self._points[index].proof
