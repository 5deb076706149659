"""The best assignment near the break: the units that can change at the least cost, merged as far as that pays.

A state that lies further above the bound than the best assignment would with all bytes used leads to nothing better.
Where nothing else is left out, the best is proven: all is counted in integers, and what is rounded is rounded down.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solver.optimize.merge import Integers
from solver.optimize.relaxation import Relaxation

_STATES = 20_000
"""Sums that are kept after each unit: more find little, and cost time."""
_MOST = 2**60
"""What lies above the bound is counted in steps, so many at most: one more option stays within 64 bits."""


@dataclass(frozen=True)
class _States:
    """What changes of the first units add: bytes rising, values falling; how far above the bound; and their origin."""

    sizes: Integers
    values: Integers
    extras: Integers
    parents: NDArray[np.int32]
    options: NDArray[np.int32]

    def only(self, kept: Integers | NDArray[np.bool_]) -> "_States":
        return _States(self.sizes[kept], self.values[kept], self.extras[kept], self.parents[kept], self.options[kept])


_Origins = tuple[int, NDArray[np.int32], NDArray[np.int32]]
"""Of one unit: the option that it has; of each state after it, the state before it and its new option."""


@dataclass(frozen=True)
class Filled:
    """The best assignment that a merge has found, and whether it is proven that none has less of the objective."""

    taken: Integers
    proven: bool


class _Fill:
    """The merge from an assignment on; what it found last is the best."""

    def __init__(self, relaxation: Relaxation, taken: Integers, limit: int) -> None:
        self._table, self._taken = relaxation.table, taken
        vector = self._table.vector(taken)
        self._room = limit - vector[0]
        # An assignment of this value that uses all bytes lies so far above the bound.
        self._above, self._price = relaxation.score((limit, vector[1], vector[2])) - relaxation.floor, relaxation.q
        self._step = self._above // _MOST + 1
        # Rounded down, what options lie above the bound is never more than it is; none that matters lies above the gap.
        most = self._gap + 1
        self._extras: Integers = np.minimum(relaxation.extra // self._step, most).astype(np.int64)
        self._base = (relaxation.score(vector) - relaxation.floor) // self._step
        self._used = np.flatnonzero(taken)
        # Only if all units begin at their least scores does every change lead away from the bound.
        self._complete = not relaxation.extra[self._used].any()

    @property
    def _gap(self) -> int:
        """How many steps above the bound something better may lie."""
        return self._above // self._step

    def _units(self) -> Iterator[int]:
        """Yield the option of one unit after the other, those first that can change at the least cost."""
        others, owners = self._extras.copy(), self._table.owners[self._used]
        others[self._used] = np.iinfo(np.int64).max
        nearest = np.minimum.reduceat(others, self._table.starts)
        # Of a class that is split, each unit could have what others have.
        nearest[owners[1:][owners[1:] == owners[:-1]]] = 0
        for place in np.argsort(nearest[owners], kind="stable").tolist():
            main = int(self._used[place])
            for _ in range(int(self._taken[main])):
                if nearest[owners[place]] > self._gap:
                    return
                yield main

    def _added(self, before: _States, main: int) -> _States:
        """Return the changes with those of one more unit, without what is beaten or cannot lead to less."""
        table, many = self._table, len(before.sizes)
        owner = table.owners[main]
        options = np.arange(table.starts[owner], table.ends[owner])
        added = _States(
            (before.sizes + (table.sizes[options] - table.sizes[main])[:, None]).ravel(),
            (before.values + (table.values[options] - table.values[main])[:, None]).ravel(),
            (before.extras + (self._extras[options] - self._extras[main])[:, None]).ravel(),
            np.tile(np.arange(many, dtype=np.int32), len(options)),
            np.repeat(options.astype(np.int32), many),
        )
        added = added.only(added.extras <= self._gap)
        added = added.only(np.lexsort((added.values, added.sizes)))
        falls = np.ones(len(added.sizes), dtype=bool)
        falls[1:] = added.values[1:] < np.minimum.accumulate(added.values)[:-1]
        added = added.only(falls)
        self._complete = self._complete and len(added.sizes) <= _STATES
        return added.only(np.sort(np.argsort(added.extras, kind="stable")[:_STATES]))

    def run(self, most_units: int) -> Filled:
        """Return the best assignment that is found when at most so many units change."""
        none, origin = np.zeros(1, np.int64), np.zeros(1, np.int32)
        states = _States(none, none, np.full(1, self._base, np.int64), origin, origin)
        stages: list[_Origins] = []
        best, size, found = 0, 0, self._taken
        for main in self._units():
            if len(stages) == most_units:
                self._complete = False
                break
            states = self._added(states, main)
            stages.append((main, states.parents, states.options))
            # Values fall with rising bytes: the last that fits is the best.
            last = int(np.searchsorted(states.sizes, self._room, side="right")) - 1
            if last < 0:
                continue
            value, taken = int(states.values[last]), int(states.sizes[last])
            if (value, taken) < (best, size):
                self._above += self._price * (value - best)
                best, size, found = value, taken, self._replayed(stages, last)
        return Filled(found, self._complete)

    def _replayed(self, stages: list[_Origins], place: int) -> Integers:
        taken = self._taken.copy()
        for main, parents, options in reversed(stages):
            taken[main] -= 1
            taken[options[place]] += 1
            place = int(parents[place])
        return taken


def filled(relaxation: Relaxation, taken: Integers, limit: int, most_units: int) -> Filled:
    """Return the best assignment within `limit` bytes of weights that leads from `taken`, which is within it.

    Units of which at most `most_units` may change: where many have the same bytes, it takes hundreds until sums come
    near a limit. The same on every machine: sorts are stable, and what is cut off does not depend on the clock.
    """
    return _Fill(relaxation, taken, limit).run(most_units)
