"""Points that are found one by one, until something ends that."""

from collections.abc import Callable, Sequence

import numpy as np

from solver.optimize.front_points import Front
from solver.optimize.merge import Integers
from solver.optimize.problem import Budget, Counts, Point, Problem, Proof
from solver.optimize.stopping import Stops

Search = Callable[[list[Point], Stops], bool]
"""Appends points to a list, notes what ended it early, and returns whether no other point is left."""


def found_front(search: Search, problems: Sequence[Problem], budget: Budget) -> Front:
    """Return what a search finds as a front; each point is of one of the problems.

    Raises
    ------
    KeyboardInterrupt
        At an interrupt before there is any point; a later one ends the search.
    LimitReachedError
        If the time limit ended the search before there was any point.

    """
    points, stops = list[Point](), Stops()
    complete = stops.made(lambda: search(points, stops), otherwise=False)
    if not points:
        stops.raise_the_first()
    rows = [(each, _Points([point for point in points if point.problem is each])) for each in problems]
    return Front(rows, budget, complete=complete and not stops.cut_short, stops=stops)


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
