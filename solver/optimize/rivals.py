"""All rows of settings as rivals: the best plan within a total, whichever row it is of."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

from solver.optimize.best import best_of_rows
from solver.optimize.cpsat import Objective, SolverSettings
from solver.optimize.merged_row import MergedRow
from solver.optimize.points import lexicographic
from solver.optimize.problem import Point, Problem
from solver.optimize.side_rules import SideRules


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

    def least_bytes(self) -> int | None:
        """Return what the total of no plan is below; None if there is none."""
        if self.merged is None:
            return 0
        return int(self.merged.sizes[0]) + self.problem.service_bytes if len(self.merged.sizes) else None


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
        bounds = [(bound, row) for row in self.rows if (bound := row.least_bytes()) is not None]
        return self._best(bounds, self.most, ("bytes", "risk"))

    def _best(self, bounds: Sequence[tuple[int, Rival]], total: int, order: tuple[Objective, ...]) -> Point | None:
        return best_of_rows(sorted(bounds, key=itemgetter(0)), lambda row: self._search(row, total, order), order)

    def _search(self, row: Rival, total: int, order: tuple[Objective, ...]) -> Point | None:
        bound = None if row.merged is None or order[0] != "risk" else row.merged.bound
        return lexicographic(row.problem, row.within(total), order, self._settings, self._rules, bound=bound)
