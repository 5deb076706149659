"""All rows of settings as rivals: the best plan within a total, whichever row it is of."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from solver.optimize.cpsat import Objective, SolverSettings
from solver.optimize.merged_row import MergedRow
from solver.optimize.points import lexicographic
from solver.optimize.problem import Point, Problem, Proof
from solver.optimize.side_rules import SideRules
from solver.optimize.stopping import SearchInterrupted


@dataclass(frozen=True, slots=True)
class Rival:
    """One row: what is left for its weights, and the front that no plan of it beats, where that is known."""

    problem: Problem
    limit: int
    merged: MergedRow | None = None

    def within(self, total: int) -> int:
        """Return what a total leaves for weights."""
        return min(self.limit, total - self.problem.service_bytes)

    def least_risk(self, total: int) -> int | None:
        """Return what the risk of no plan within a total is below; None if there is none."""
        if self.merged is None:
            return 0
        place = self.merged.place(self.within(total))
        return int(self.merged.risks[place]) if place >= 0 else None

    def least_bytes(self) -> int:
        """Return what the total of no plan is below."""
        return 0 if self.merged is None else int(self.merged.sizes[0]) + self.problem.service_bytes


class _Best:
    """The best point so far in one order, and what is proven of all rows that were searched."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self.point: Point | None = None
        self._least: int | None = None

    def cost(self, point: Point) -> int:
        """Return the cost that is to be low, bytes as a total."""
        return point.risk if self._objective == "risk" else point.total_bytes

    def _key(self, point: Point) -> tuple[int, int, int]:
        return self.cost(point), point.total_bytes, point.risk

    def is_below(self, bound: int) -> bool:
        """Return whether what has this bound cannot be better."""
        return self.point is not None and bound > self.cost(self.point)

    def add(self, point: Point | None) -> None:
        """Take what a row has, with its proof."""
        if point is None:
            return
        beside = 0 if self._objective == "risk" else point.problem.service_bytes
        proven = point.proof.bound + beside if point.proof.objective == self._objective else self.cost(point)
        self.at_least(proven)
        if self.point is None or self._key(point) < self._key(self.point):
            self.point = point

    def at_least(self, bound: int) -> None:
        """Note that some row may have a plan as good as this."""
        self._least = bound if self._least is None else min(bound, self._least)

    def proven(self) -> Point | None:
        """Return the best point, with a proof against all rows."""
        point, least = self.point, self._least
        if point is None or least is None or least >= self.cost(point):
            return point
        beside = self.cost(point) - (point.risk if self._objective == "risk" else point.weights_bytes)
        value = self.cost(point) - beside
        return replace(point, proof=Proof("feasible", self._objective, value, least - beside))


class Rivals:
    """Rows that compete: a row whose bound another one's plan has reached already is not searched.

    Parameters
    ----------
    rows
        The plainest first; problems are `separated` where blocks are groups.

    """

    def __init__(self, rows: Sequence[Rival], settings: SolverSettings, rules: SideRules) -> None:
        self.rows, self._settings, self._rules = rows, settings, rules

    @property
    def most(self) -> int:
        """Bytes that no plan exceeds."""
        return max(row.limit + row.problem.service_bytes for row in self.rows)

    def safest(self, total: int) -> Point | None:
        """Return the plan within a total with the least risk, then the least bytes."""
        bounds = [(bound, row) for row in self.rows if (bound := row.least_risk(total)) is not None]
        return self._best(bounds, total, ("risk", "bytes"))

    def smallest(self) -> Point | None:
        """Return the plan with the least bytes in all, then the least risk."""
        return self._best([(row.least_bytes(), row) for row in self.rows], self.most, ("bytes", "risk"))

    def _best(self, bounds: Sequence[tuple[int, Rival]], total: int, order: tuple[Objective, ...]) -> Point | None:
        best, left = _Best(order[0]), sorted(bounds, key=itemgetter(0))
        try:
            while left and not best.is_below(left[0][0]):
                best.add(self._search(left[0][1], total, order))
                left.pop(0)
        except SearchInterrupted as stop:
            found = stop.point
            best.add(None if found is None else replace(found, problem=left[0][1].problem))
            for bound, _ in left if found is None else left[1:]:
                best.at_least(bound)
            stop.point = best.proven()
            raise
        return best.proven()

    def _search(self, row: Rival, total: int, order: tuple[Objective, ...]) -> Point | None:
        bound = None if row.merged is None or order[0] != "risk" else row.merged.bound
        point = lexicographic(row.problem, row.within(total), order, self._settings, self._rules, bound=bound)
        return None if point is None else replace(point, problem=row.problem)
