"""Three to seven plans from the front, each with a reason to exist."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from solver.optimize.front_points import Front, hull_corners
from solver.optimize.problem import Point
from solver.plan.names import BALANCED, BETWEEN, FASTEST, GUIDE, LOWEST_RISK, SIMPLEST, SMALLEST

FEWEST, MOST = 3, 7


@dataclass(frozen=True, slots=True)
class Pick:
    """A point and the names under which it is offered; `reasons` come after those of the names."""

    point: Point
    names: tuple[str, ...]
    reasons: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[int, int, int]:
        """What tells plans apart."""
        return self.point.risk, self.point.total_bytes, self.point.decode_ticks

    def also_guide(self, reason: str) -> "Pick":
        """Return the same plan as one that Quark's guide names too."""
        names = self.names if GUIDE in self.names else (*self.names, GUIDE)
        return replace(self, names=names, reasons=(*self.reasons, reason))


def knee(front: Front) -> int:
    """Return the index of the point farthest below the line between the ends of the front, both axes scaled to 0..1."""
    totals: list[int] = front.totals.tolist()
    risks: list[int] = front.risks.tolist()
    width, height = totals[-1] - totals[0], risks[0] - risks[-1]

    def below(index: int) -> int:
        # Exact integers: distance from the chord times width times height.
        return (totals[-1] - totals[index]) * height - (risks[index] - risks[-1]) * width

    return max(range(len(front)), key=below)


def _between(front: Front, taken: Iterable[Point], wanted: int) -> list[Point]:
    """Return up to `wanted` further points: the corners of the front's lower hull nearest to an even spread by bytes.

    At its corners whole classes of layers take one scheme, which keeps patterns short.
    """
    totals = front.totals.tolist()
    held = {point.total_bytes for point in taken}
    free = [index for index in hull_corners(front) if totals[index] not in held]
    chosen: list[int] = []
    for number in range(1, max(0, wanted) + 1):
        target = totals[0] + (totals[-1] - totals[0]) * number // (wanted + 1)
        left = [index for index in free if index not in chosen]
        if left:
            chosen.append(min(left, key=lambda index: (abs(totals[index] - target), index)))
    return front.points(sorted(chosen))


def pick(front: Front, fastest: Point | None, uniform: Sequence[Point], wanted: int | None = None) -> list[Pick]:
    """Return the plans to offer, by rising risk, then rising bytes.

    A plan that is best in several ways is offered once, under all its names. Where that leaves fewer than `wanted`,
    or three, points between the others are added; where it leaves more than `wanted`, those that are named last go.

    Parameters
    ----------
    front
        Points by rising bytes and falling risk, at least one.
    fastest
        The point with the shortest decoding step, if one was sought.
    uniform
        Plans with one scheme everywhere, least risky first.

    """
    least_risky, balanced, smallest = front.points([len(front) - 1, knee(front), 0])
    named = [(least_risky, LOWEST_RISK), (balanced, BALANCED), (smallest, SMALLEST)]
    named += [(fastest, FASTEST)] if fastest is not None else []
    named += [(uniform[0], SIMPLEST)] if uniform else []
    names: dict[tuple[int, int, int], list[str]] = {}
    points: dict[tuple[int, int, int], Point] = {}
    for point, name in named:
        key = (point.risk, point.total_bytes, point.decode_ticks)
        points.setdefault(key, point)
        names.setdefault(key, []).append(name)
    if wanted is not None:
        points = dict(list(points.items())[:wanted])
    for point in _between(front, points.values(), (wanted or FEWEST) - len(points)):
        key = (point.risk, point.total_bytes, point.decode_ticks)
        points.setdefault(key, point)
        names.setdefault(key, []).append(BETWEEN)
    return [Pick(points[key], tuple(names[key])) for key in sorted(points)][: wanted or MOST]
