"""Fronts that several budgets share: a front within a limit holds the front within every smaller one."""

from collections.abc import Sequence

import numpy as np

from solver.optimize.merge import Integers, MergedFront
from solver.optimize.problem import Counts, Problem, Proof


class CutFront:
    """The points of a front within a smaller limit on bytes; assignments are found once.

    They are those that a merge within the smaller limit gives: no point that it leaves out for its bytes is on the way
    to one that stays, and what makes a point does not depend on what else is asked for.
    """

    def __init__(self, whole: MergedFront, limit: int, found: dict[int, Counts]) -> None:
        self._whole, self._found = whole, found
        length = int(np.searchsorted(whole.sizes, limit, side="right"))
        self.sizes: Integers = whole.sizes[:length]
        self.risks: Integers = whole.risks[:length]

    def counts(self, indices: Sequence[int]) -> list[Counts]:
        """Return the options that make some points; see `MergedFront`."""
        new = [index for index in dict.fromkeys(indices) if index not in self._found]
        if new:
            self._found.update(zip(new, self._whole.counts(new), strict=True))
        return [self._found[index] for index in indices]

    def proof(self, index: int) -> Proof:
        """Return that no assignment has less risk at a point's bytes."""
        return self._whole.proof(index)


class KeptFronts:
    """Merged fronts by their problem, each with the largest limit that was asked for."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Problem, int, MergedFront, dict[int, Counts]]] = {}

    def within(self, problem: Problem, limit: int, *, most_work: int | None) -> CutFront:
        """Return the front of a problem within a limit; largest limits first are merged once.

        Raises
        ------
        FrontTooLargeError
            If it is more work than that to merge.

        """
        kept = self._kept.get(id(problem))
        if kept is None or kept[1] < limit:
            kept = (problem, limit, MergedFront(problem, limit, most_work=most_work), {})
            self._kept[id(problem)] = kept
        return CutFront(kept[2], limit, kept[3])
