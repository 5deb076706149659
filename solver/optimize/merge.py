"""The whole front of bytes and risk where memory is the only thing that units share: a Nemhauser-Ullmann merge.

Units are added one after the other; after each, only points stay that no other beats. What is left at the end is
every non-dominated point, exact in integers. Which options make a point is found by replaying from stored stages.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from solver.optimize.problem import Counts, Option, Problem, Proof


class FrontTooLargeError(Exception):
    """A front has more points than may be merged; others can be computed one by one."""


Integers = NDArray[np.int64]

_LIMIT = 2**62
"""Sums stay below this, so that no int64 overflows."""


@dataclass(frozen=True)
class Stage:
    """Non-dominated points of some units: bytes rising, risk falling."""

    sizes: Integers
    risks: Integers

    def __len__(self) -> int:
        return len(self.sizes)

    def find(self, sizes: Integers, risks: Integers) -> Integers:
        """Return the index of each given point, -1 for those that are none of the stage."""
        places = np.minimum(np.searchsorted(self.sizes, sizes), len(self) - 1)
        found = (self.sizes[places] == sizes) & (self.risks[places] == risks)
        return np.where(found, places, -1)


def _added(stage: Stage, options: Sequence[Option], room: int) -> Stage:
    """Return the stage with one more unit; points above `room` bytes are left out."""
    sizes = np.concatenate([stage.sizes + option.size_bytes for option in options])
    risks = np.concatenate([stage.risks + option.risk for option in options])
    kept = sizes <= room
    sizes, risks = sizes[kept], risks[kept]
    # By bytes alone: a stable sort merges runs that are sorted already, twice as fast as one by bytes and risk.
    order = np.argsort(sizes, kind="stable")
    sizes, risks = sizes[order], risks[order]
    falls = np.ones(len(sizes), dtype=bool)
    falls[1:] = risks[1:] < np.minimum.accumulate(risks)[:-1]
    sizes, risks = sizes[falls], risks[falls]
    # Of points of equal bytes the last has the least risk.
    last = np.ones(len(sizes), dtype=bool)
    last[:-1] = sizes[:-1] != sizes[1:]
    return Stage(sizes[last], risks[last])


class MergedFront:
    """Every non-dominated (bytes, risk) of a problem within a limit on the bytes of weights.

    Parameters
    ----------
    problem
        Units that share nothing but memory.
    limit
        Bytes of weights on one device at most, the fixed part included.
    most_work
        Points that all stages may have together; None is no limit.

    Raises
    ------
    FrontTooLargeError
        If there is more work than that.
    OverflowError
        If sums could leave 64 bits.

    """

    def __init__(self, problem: Problem, limit: int, *, most_work: int | None = None) -> None:
        self._problem = problem
        self._units = [(number, part.options) for number, part in enumerate(problem.classes) for _ in range(part.count)]
        largest = [
            problem.fixed[axis] + sum(max(option.vector[axis] for option in options) for _, options in self._units)
            for axis in (0, 1)
        ]
        if max(largest) >= _LIMIT:
            raise OverflowError("the sums of a front leave 64 bits")
        least = [min(option.size_bytes for option in options) for _, options in self._units]
        # What the units that are still to come take at least is not to be had by those before.
        self._room = limit - problem.fixed[0] - np.cumsum([0, *least[::-1]])[::-1]
        self._step = max(1, isqrt(len(self._units)))
        self._stored = {0: Stage(np.zeros(1, np.int64), np.zeros(1, np.int64))}
        work = 0
        for index, stage in self._replay(0, len(self._units)):
            work += len(stage)
            if most_work is not None and work > most_work:
                raise FrontTooLargeError
            if index % self._step == 0 or index == len(self._units):
                self._stored[index] = stage

    def _replay(self, start: int, end: int) -> Iterator[tuple[int, Stage]]:
        """Yield the stages after units `start` to `end`, each with the number of units that it holds."""
        stage = self._stored[start]
        for index in range(start, end):
            stage = _added(stage, self._units[index][1], int(self._room[index + 1]))
            yield index + 1, stage

    @property
    def _last(self) -> Stage:
        return self._stored[len(self._units)]

    def __len__(self) -> int:
        return len(self._last)

    @cached_property
    def sizes(self) -> Integers:
        """Bytes of weights of each point, rising."""
        return self._last.sizes + self._problem.fixed[0]

    @cached_property
    def risks(self) -> Integers:
        """Risk steps of each point, falling."""
        return self._last.risks + self._problem.fixed[1]

    def proof(self, index: int) -> Proof:
        """Return that no assignment has less risk at a point's bytes: the merge leaves out only what is beaten."""
        risk = int(self.risks[index])
        return Proof("optimal", "risk", risk, risk)

    def counts(self, indices: Sequence[int]) -> list[Counts]:
        """Return the options that make some points: for each class and option, how many units take it.

        Where several assignments make a point, the first option in the order of the problem is taken for the last
        unit, and so on backwards: the answer does not depend on what else is asked for.
        """
        taken = [[[0] * len(part.options) for part in self._problem.classes] for _ in indices]
        sizes, risks = self._last.sizes[list(indices)], self._last.risks[list(indices)]
        for start in sorted(set(self._stored) - {len(self._units)}, reverse=True):
            end = min(start + self._step, len(self._units))
            stages = {start: self._stored[start], **dict(self._replay(start, end))}
            for index in range(end - 1, start - 1, -1):
                number, options = self._units[index]
                choice = np.full(len(sizes), -1)
                for place in range(len(options) - 1, -1, -1):
                    option = options[place]
                    found = stages[index].find(sizes - option.size_bytes, risks - option.risk)
                    choice[found >= 0] = place
                for row, place in enumerate(choice.tolist()):
                    taken[row][number][place] += 1
                sizes = sizes - np.array([options[place].size_bytes for place in choice])
                risks = risks - np.array([options[place].risk for place in choice])
        return [tuple(tuple(row) for row in classes) for classes in taken]
