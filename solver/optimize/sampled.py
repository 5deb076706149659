"""Proven points of a front that is too large to be merged: the ends, and the least risk at totals between."""

from functools import partial

from solver.optimize.problem import Point
from solver.optimize.reductions import reduced
from solver.optimize.rivals import Rivals
from solver.optimize.stopping import Stops
from solver.optimize.supported import spread, supported_sizes


def sample(found: list[Point], stops: Stops, rivals: Rivals, between: int) -> bool:
    """Append the safest and the smallest point, and the least risky ones at an even spread of supported totals.

    Returns whether no other is left, which is not known.
    """
    ends = [stops.point(partial(rivals.safest, rivals.most)), stops.point(rivals.smallest)]
    found.extend(point for point in ends if point is not None)
    totals = {
        size + row.problem.service_bytes
        for row in rivals.rows
        for size in supported_sizes(reduced(row.problem), row.limit)
    }
    safest, smallest = ends
    least = -1 if smallest is None else smallest.total_bytes
    most = rivals.most if safest is None else safest.total_bytes
    inner = [size for size in sorted(totals) if least < size < most] if found or stops.limited else []
    for total in spread(inner, between):
        point = stops.point(partial(rivals.safest, total))
        found.extend([] if point is None else [point])
    return False
