"""Proven points of a front that is too large to be merged: the ends, and the least risk at totals between."""

from solver.optimize.problem import Point
from solver.optimize.reductions import reduced
from solver.optimize.rivals import Rivals
from solver.optimize.supported import spread, supported_sizes


def sample(found: list[Point], rivals: Rivals, between: int) -> bool:
    """Append the safest and the smallest point, and the least risky ones at an even spread of supported totals.

    Returns whether no other is left, which is not known.
    """
    ends = [point for point in (rivals.safest(rivals.most), rivals.smallest()) if point is not None]
    found.extend(ends)
    totals = {
        size + row.problem.service_bytes
        for row in rivals.rows
        for size in supported_sizes(reduced(row.problem), row.limit)
    }
    inner = [size for size in sorted(totals) if ends and ends[-1].total_bytes < size < ends[0].total_bytes]
    for total in spread(inner, between):
        point = rivals.safest(total)
        found.extend([] if point is None else [point])
    return False
