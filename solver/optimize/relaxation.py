"""A price on bytes instead of a limit: what every assignment costs at least, and where along the hulls that leads.

This is the Lagrangian relaxation of the multiple-choice knapsack (Kellerer, Pferschy, Pisinger: Knapsack Problems,
chapter 11). With p/q to pay for a byte, each unit takes the option with the least score q * value + p * bytes.
Scores are integers, so that bounds are exact whatever the price; the price itself may be found in floats.
"""

from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.optimize.merge import Integers
from solver.optimize.problem import Counts, Problem, Vector

Scores = NDArray[Any]
"""64-bit integers where they surely fit, else Python's own as objects."""

_LIMIT = 2**62
"""Sums of costs stay below this, and differences of scores."""


class Table:
    """The options of a problem in flat arrays, class by class.

    Parameters
    ----------
    problem
        It has classes, each with units and options.
    axis
        The cost that is to be low beside the bytes, as an index into an option's vector.

    Raises
    ------
    OverflowError
        If sums could leave 64 bits.

    """

    def __init__(self, problem: Problem, axis: int) -> None:
        self.problem, self.axis = problem, axis
        lengths = np.array([len(part.options) for part in problem.classes], np.int64)
        self.units = np.array([part.count for part in problem.classes], np.int64)
        self.ends = np.cumsum(lengths)
        self.starts = self.ends - lengths
        self.owners = np.repeat(np.arange(len(lengths)), lengths)
        vectors = [option.vector for part in problem.classes for option in part.options]
        self.vectors = np.array(vectors, np.int64).reshape(-1, 3)
        largest = np.abs(self.vectors.astype(np.float64)) * self.units[self.owners, None]
        if max(largest.sum(axis=0)) + max(map(abs, problem.fixed)) >= _LIMIT:
            raise OverflowError("the sums of a problem leave 64 bits")

    @property
    def sizes(self) -> Integers:
        """Bytes of each option."""
        return self.vectors[:, 0]

    @property
    def values(self) -> Integers:
        """The cost of each option that is to be low."""
        return self.vectors[:, self.axis]

    def vector(self, taken: Integers) -> Vector:
        """Return the exact costs of an assignment: of each option, how many units take it."""
        size, risk, ticks = (taken @ self.vectors).tolist()
        fixed = self.problem.fixed
        return fixed[0] + size, fixed[1] + risk, fixed[2] + ticks

    def counts(self, taken: Integers) -> Counts:
        """Return an assignment class by class."""
        flat = taken.tolist()
        return tuple(
            tuple(flat[start:end]) for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        )

    def hulls(self) -> Integers:
        """Return the options on the lower hulls of (bytes, value): class by class, bytes rising, values falling."""
        order = np.lexsort((self.values, self.sizes, self.owners))
        while True:
            same, saved, _ = self.along(order)
            beaten = np.flatnonzero(same & (saved <= 0)) + 1
            if not len(beaten):
                break
            order = np.delete(order, beaten)
        while True:
            same, saved, paid = self.along(order)
            rate = np.divide(saved, paid, where=same, out=np.zeros(len(same)))
            above = np.flatnonzero(same[:-1] & same[1:] & (rate[:-1] <= rate[1:])) + 1
            if not len(above):
                return order
            order = np.delete(order, above)

    def along(self, order: Integers) -> tuple[NDArray[np.bool_], Integers, Integers]:
        """Return from each option to the next: whether one class has both, the value saved, the bytes paid."""
        same = self.owners[order][1:] == self.owners[order][:-1]
        return same, -np.diff(self.values[order]), np.diff(self.sizes[order])


@dataclass(frozen=True, slots=True)
class Break:
    """Where steps along the hulls, best value for a byte first, reach a limit on the bytes."""

    price: tuple[int, int]
    """p and q of the first step that is not taken whole; 0 and 1 where all are taken."""

    taken: Integers
    """The assignment before that step, and as many units of the step as fit."""


def find_break(table: Table, limit: int) -> Break | None:
    """Return where hull steps reach `limit` bytes, the fixed part included, or None if nothing is that small."""
    hulls = table.hulls()
    same, saved, paid = table.along(hulls)
    first = hulls[np.concatenate([[True], ~same])]
    taken = np.zeros(len(table.owners), np.int64)
    taken[first] = table.units
    room = limit - table.vector(taken)[0]
    if room < 0:
        return None
    steps = np.flatnonzero(same)
    order = steps[np.argsort(-saved[steps] / paid[steps], kind="stable")]
    source, target, units = hulls[order], hulls[order + 1], table.units[table.owners[hulls[order]]]
    reached = np.cumsum(units * paid[order])
    whole = int(np.searchsorted(reached, room, side="right"))
    # The steps of one class follow each other, so that all of its units stand where its last step led.
    np.add.at(taken, source[:whole], -units[:whole])
    np.add.at(taken, target[:whole], units[:whole])
    if whole == len(order):
        return Break((0, 1), taken)
    left = room - (int(reached[whole - 1]) if whole else 0)
    some = left // int(paid[order[whole]])
    taken[source[whole]] -= some
    taken[target[whole]] += some
    price, per = int(saved[order[whole]]), int(paid[order[whole]])
    common = gcd(price, per)
    return Break((price // common, per // common), taken)


class Relaxation:
    """What every assignment of a table costs at least at a price of p/q for a byte."""

    def __init__(self, table: Table, price: tuple[int, int]) -> None:
        self.table, (self.p, self.q) = table, price
        largest = [int(np.abs(costs).max(initial=0)) for costs in (table.values, table.sizes)]
        # The prices themselves, too: numpy multiplies nothing by an integer that 64 bits do not hold, not even zero.
        fits = max(self.p, self.q, self.q * largest[0] + self.p * largest[1]) < _LIMIT // 2
        values, sizes = (costs if fits else costs.astype(object) for costs in (table.values, table.sizes))
        self._scores: Scores = values * self.q + sizes * self.p

    @cached_property
    def _least(self) -> Scores:
        """The least score of each class."""
        least: Scores = np.minimum.reduceat(self._scores, self.table.starts)
        return least

    @cached_property
    def extra(self) -> Scores:
        """By how much each option's score exceeds the least of its class."""
        extra: Scores = self._scores - self._least[self.table.owners]
        return extra

    @cached_property
    def floor(self) -> int:
        """The least score of any assignment, the fixed part included."""
        units = self.table.units.astype(object)
        return self.score(self.table.problem.fixed) + int((self._least.astype(object) * units).sum())

    def score(self, vector: Vector) -> int:
        """Return the score of exact costs."""
        return self.q * vector[self.table.axis] + self.p * vector[0]

    def least_value(self, most_bytes: int) -> int:
        """Return what the value of no assignment within these bytes is below."""
        return -((self.p * most_bytes - self.floor) // self.q)

    def least_bytes(self, most_value: int) -> int | None:
        """Return what the bytes of no assignment within this value are below, or None where bytes have no price."""
        return -((self.q * most_value - self.floor) // self.p) if self.p else None
