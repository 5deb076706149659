"""The front under rules that no merge knows: epsilon-constraint solves by CP-SAT, bounded by merges.

Merges without the rules give a front that no plan under them beats. Its points that keep the rules are points of the
front under them, too. Between two known points lies a box: bytes above those of the first, risk below it. A solve in a
box (least risk within some bytes, then least bytes at that risk) finds a point or shows a part of the box to be empty;
where the merge has nothing below the risk of a box, it is empty without a solve.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import pairwise

from solver.optimize.front_points import Front
from solver.optimize.problem import Point
from solver.optimize.rivals import Rivals
from solver.optimize.side_rules import SideRules
from solver.optimize.stopping import Stops
from solver.optimize.supported import spread

_MOST_LOOKED_AT = 200_000
"""Counts that are looked at to see which points of a merge keep the rules."""

_FIRST_LOOKED_AT = 400
"""Points that are looked at first: where most of them break a rule, the others are left to the solves."""


@dataclass(frozen=True, order=True, slots=True)
class _Box:
    """Where a point may lie: bytes above `low`, at most `high`, risk below `risk`; the largest box comes first."""

    rank: int
    low: int
    high: int
    risk: int = field(compare=False)


class Boxes:
    """A search for the points of a front under side rules: all of them, or the ends and an even spread between.

    Parameters
    ----------
    rivals
        The rows, each with its merge.
    merged
        The front of these merges.
    rules
        What points of the merge have to keep to be taken.

    """

    def __init__(self, rivals: Rivals, merged: Front, rules: SideRules) -> None:
        self._rivals, self._merged, self._rules = rivals, merged, rules
        self._boxes: list[_Box] = []

    def search(self, found: list[Point], stops: Stops, most_solves: int) -> bool:
        """Append points, each with its proof, and return whether no other is left.

        A solve that is ended early leaves its box unknown; `stops` says so.
        """
        if not len(self._merged.totals):
            return True
        found += self._keeping()
        stops.interrupted = stops.interrupted or self._merged.interrupted
        self._find_ends(found, stops)
        for before, after in pairwise(sorted(found, key=lambda point: point.total_bytes)):
            self._add(before.total_bytes, after.total_bytes - 1, before.risk)
        for _ in range(most_solves):
            if not self._boxes:
                break
            self._solve(heappop(self._boxes), found, stops)
        return not self._boxes

    def _keeping(self) -> list[Point]:
        """Return the points of the merge that keep the rules, of as many as are looked at."""
        first, *_ = self._merged.points([0])
        options = sum(len(part.options) for part in first.problem.classes)
        most, places = max(2, _MOST_LOOKED_AT // options), range(len(self._merged.totals))
        some = spread(places, min(most, _FIRST_LOOKED_AT))
        found = self._of_merge(some)
        return found if 2 * len(found) < len(some) else self._of_merge(spread(places, most))

    def _of_merge(self, places: Sequence[int]) -> list[Point]:
        points = self._merged.points(places)
        return [point for point in points if self._rules.broken_by(point.problem, point.counts) is None]

    def _find_ends(self, found: list[Point], stops: Stops) -> None:
        """Append the safest and the smallest point, unless the merge has them."""
        smallest, safest = int(self._merged.totals[0]), int(self._merged.risks[-1])
        if not any(point.risk == safest for point in found):
            point = stops.point(partial(self._rivals.safest, self._rivals.most))
            found += [] if point is None else [point]
        # Where nothing is safest, nothing keeps the rules.
        if (found or stops.cut_short) and not any(point.total_bytes == smallest for point in found):
            point = stops.point(self._rivals.smallest)
            found += [] if point is None else [point]

    def _place(self, total: int) -> int:
        """Return the index of the last point of the merge within a total, -1 if there is none."""
        return int(self._merged.totals.searchsorted(total, side="right")) - 1

    def _first(self, low: int, risk: int) -> int:
        """Return the first point of the merge that a plan above some bytes and below some risk may be near to."""
        below = int((-self._merged.risks).searchsorted(-risk, side="right"))
        return max(below, self._place(low + 1))

    def _add(self, low: int, high: int, risk: int) -> None:
        """Add a box, unless the merge shows that nothing lies in it."""
        last = self._place(high)
        if high > low and last >= 0 and self._merged.risks[last] < risk:
            heappush(self._boxes, _Box(self._first(low, risk) - last, low, high, risk))

    def _solve(self, box: _Box, found: list[Point], stops: Stops) -> None:
        """Look at the half of a box with fewer bytes; what is left are boxes again."""
        last = self._place(box.high)
        middle = (self._first(box.low, box.risk) + last) // 2
        limit = box.high if middle == last else int(self._merged.totals[middle + 1]) - 1
        point, risk = stops.point(partial(self._rivals.safest, limit)), box.risk
        if point is not None and point.risk < risk:
            found.append(point)
            self._add(box.low, point.total_bytes - 1, risk)
            risk = point.risk
        self._add(limit, box.high, risk)
