"""Fixing by a bound: of a large problem only a core is left, in which alone anything better can lie.

An option whose score exceeds the least of its class by more than limits and bound leave apart is in no assignment
within the limits (Kellerer, Pferschy, Pisinger: Knapsack Problems, section 11.4).
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from solver.optimize.cpsat import OBJECTIVES, Known, Objective
from solver.optimize.fill import filled
from solver.optimize.merge import Integers
from solver.optimize.problem import Counts, Problem, UnitClass
from solver.optimize.reductions import Reduced
from solver.optimize.relaxation import Relaxation, Table, find_break


class Fixing:
    """The price of bytes at which a problem breaks, and what follows from it for one objective.

    Parameters
    ----------
    problem
        It has at least one class.
    objective
        What is to be low: `risk` or `time`.
    limit
        Bytes of weights on one device at most, the fixed part included.

    Raises
    ------
    OverflowError
        If sums could leave 64 bits.
    ValueError
        If nothing keeps the limit.

    """

    def __init__(self, problem: Problem, objective: Objective, limit: int) -> None:
        self.problem = problem
        self._table = Table(problem, OBJECTIVES.index(objective))
        self.objective: Objective = objective
        limit = self._rounded(0, limit)
        found = find_break(self._table, limit)
        if found is None:
            raise ValueError(f"nothing is as small as {limit} bytes")
        self._relaxation, self._limit, self._break = Relaxation(self._table, found.price), limit, found.taken
        self.start: Counts = self._table.counts(found.taken)
        """An assignment within the limit: that of the break, or a better one."""
        self.proven = False
        """Whether a merge has shown that none within the limit has less of the objective."""

    def fill(self, most_units: int) -> None:
        """Start from the best assignment that changes at most so many units of the break."""
        best = filled(self._relaxation, self._break, self._limit, most_units)
        self.start, self.proven = self._table.counts(best.taken), best.proven

    def _rounded(self, axis: int, limit: int) -> int:
        """Return the largest cost up to a limit that sums can have: steps have a divisor in common."""
        table, costs = self._table, self._table.vectors[:, axis]
        least = np.minimum.reduceat(costs, table.starts)
        base = table.problem.fixed[axis] + int(least @ table.units)
        divisor = int(np.gcd.reduce(costs - least[table.owners]))
        return limit - (limit - base) % divisor if divisor and limit >= base else min(limit, base)

    def known(self, objective: Objective, limits: Mapping[Objective, int]) -> Known:
        """Return the price, and what no assignment within the limits is below if the price tells it."""
        relaxation, bound = self._relaxation, None
        if objective == self.objective:
            bound = relaxation.least_value(self._rounded(0, limits["bytes"]))
        elif objective == "bytes":
            bound = relaxation.least_bytes(self._rounded(self._table.axis, limits[self.objective]))
        return Known((relaxation.p, relaxation.q), self.objective, bound)

    def core(self, limits: Mapping[Objective, int]) -> Reduced | None:
        """Return the problem with what alone can be in an assignment within limits on the bytes and the objective.

        Units that must take the best option of their class are in the fixed part. None if no assignment is within.
        """
        table, relaxation = self._table, self._relaxation
        corner = [0, 0, 0]
        for axis, name in ((table.axis, self.objective), (0, "bytes")):
            corner[axis] = self._rounded(axis, limits[name])
        gap = relaxation.score((corner[0], corner[1], corner[2])) - relaxation.floor
        if gap < 0:
            return None
        if relaxation.extra.dtype != object:
            gap = min(gap, int(np.iinfo(np.int64).max))
        free, best = self._deviating(gap)
        base = np.zeros(len(table.owners), np.int64)
        base[best] = table.units - free
        kept = [np.flatnonzero(relaxation.extra[start:end] <= gap) + start for start, end in self._spans(free)]
        classes = tuple(self._part(places, int(free[table.owners[places[0]]])) for places in kept)

        def expand(counts: Counts) -> Counts:
            taken = base.copy()
            for places, row in zip(kept, counts, strict=True):
                taken[places] += row
            return table.counts(taken)

        return Reduced(replace(table.problem, classes=classes, fixed=table.vector(base)), expand)

    def _deviating(self, gap: int) -> tuple[Integers, Integers]:
        """Return of each class how many units may take another than its best option, and that option."""
        table, extra = self._table, self._relaxation.extra
        lowest = np.flatnonzero(extra == 0)
        best = lowest[np.unique(table.owners[lowest], return_index=True)[1]]
        others = np.where(extra <= gap, extra, -1)
        others[best] = -1
        open_classes = np.unique(table.owners[others >= 0])
        free = np.zeros(len(table.units), np.int64)
        for number in open_classes.tolist():
            span = others[table.starts[number] : table.ends[number]]
            nearest, units = int(span[span >= 0].min()), int(table.units[number])
            free[number] = min(units, gap // nearest) if nearest else units
        return free, best

    def _spans(self, free: Integers) -> list[tuple[int, int]]:
        numbers = np.flatnonzero(free)
        return list(zip(self._table.starts[numbers].tolist(), self._table.ends[numbers].tolist(), strict=True))

    def _part(self, places: Integers, units: int) -> UnitClass:
        number = int(self._table.owners[places[0]])
        part = self._table.problem.classes[number]
        first = int(self._table.starts[number])
        return UnitClass(part.units[:units], tuple(part.options[place - first] for place in places.tolist()))
