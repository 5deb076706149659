"""The best point over all rows of settings, with a proof against all of them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from solver.errors import LimitReachedError
from solver.optimize.cpsat import OBJECTIVES, Objective
from solver.optimize.problem import Point, Problem, Proof
from solver.optimize.stopping import SearchInterrupted

Row = TypeVar("Row")


def beside(problem: Problem, objective: Objective) -> int:
    """Return what a cost of the whole plan has beside that of the weights."""
    return {"bytes": problem.service_bytes, "risk": 0, "time": problem.cache_ticks}[objective]


def cost_of(point: Point, objective: Objective) -> int:
    """Return a cost of the whole plan: bytes of everything on a device, risk steps, ticks of a decoding step."""
    return point.vector[OBJECTIVES.index(objective)] + beside(point.problem, objective)


def least_cost(problem: Problem, objective: Objective) -> int:
    """Return the cost of the whole plan where each unit has the option that is best for it: none is below."""
    axis = OBJECTIVES.index(objective)
    chosen = sum(part.count * min(option.vector[axis] for option in part.options) for part in problem.classes)
    return problem.fixed[axis] + chosen + beside(problem, objective)


class _Best:
    """The best point so far in one order, and what is proven of all rows that were searched."""

    def __init__(self, order: Sequence[Objective]) -> None:
        self._order = order
        self.point: Point | None = None
        self._least: int | None = None

    def _key(self, point: Point) -> tuple[int, ...]:
        return tuple(cost_of(point, objective) for objective in self._order)

    def is_below(self, bound: int) -> bool:
        """Return whether what has this bound cannot be better."""
        return self.point is not None and bound > cost_of(self.point, self._order[0])

    def add(self, point: Point | None) -> None:
        """Take what a row has, with its proof."""
        if point is None:
            return
        first = self._order[0]
        proven = (
            point.proof.bound + beside(point.problem, first)
            if point.proof.objective == first
            else cost_of(point, first)
        )
        self.at_least(proven)
        if self.point is None or self._key(point) < self._key(self.point):
            self.point = point

    def at_least(self, bound: int) -> None:
        """Note that some row may have a plan as good as this."""
        self._least = bound if self._least is None else min(bound, self._least)

    def proven(self) -> Point | None:
        """Return the best point, with a proof against all rows."""
        point, least, first = self.point, self._least, self._order[0]
        if point is None or least is None or least >= cost_of(point, first):
            return point
        others = beside(point.problem, first)
        return replace(point, proof=Proof("feasible", first, cost_of(point, first) - others, least - others))


def best_of_rows(
    rows: Iterable[tuple[int, Row]], search: Callable[[Row], Point | None], order: Sequence[Objective]
) -> Point | None:
    """Return the point that is least in the first objective over all rows, then in the next; None if none has any.

    Parameters
    ----------
    rows
        Each with what the first cost of no plan of it is below. Of equals the first row stays; one whose bound another
        one's plan has reached is not searched.
    search
        Finds the best point of a row, or that there is none.

    Raises
    ------
    LimitReachedError
        If nothing was found, and the time limit has ended the search of a row. Where another has a point, that one
        stands, with a bound on what the first may have.
    SearchInterrupted
        At an interrupt; it has the best point so far, with a bound on the rest.
    """
    best, left, missed = _Best(order), list(rows), list[LimitReachedError]()
    try:
        while left:
            bound, row = left[0]
            if not best.is_below(bound):
                try:
                    best.add(search(row))
                except LimitReachedError as error:
                    missed.append(error)
                    best.at_least(bound)
            left.pop(0)
    except KeyboardInterrupt as interrupt:
        stop = SearchInterrupted.of(interrupt)
        best.add(stop.point)
        for bound, _ in left if stop.point is None else left[1:]:
            best.at_least(bound)
        stop.point = best.proven()
        raise stop from None
    if best.point is None and missed:
        raise missed[0]
    return best.proven()
