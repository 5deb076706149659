"""Three to seven plans from the front, each with a reason to exist."""

from collections.abc import Sequence
from dataclasses import dataclass

from solver.optimize.problem import Point

LOWEST_RISK = "lowest risk"
BALANCED = "balanced"
SMALLEST = "smallest"
FASTEST = "fastest"
SIMPLEST = "simplest"
BETWEEN = "in between"
UNBOUND = "planner's own"

FEWEST, MOST = 3, 7


@dataclass(frozen=True, slots=True)
class Pick:
    """A point and the names under which it is offered."""

    point: Point
    names: tuple[str, ...]


def knee(front: Sequence[Point]) -> Point:
    """Return the point farthest below the line between the ends of the front, both axes scaled to 0..1."""
    first, last = front[0], front[-1]
    width, height = last.total_bytes - first.total_bytes, first.risk - last.risk
    if not width or not height:
        return first

    def below(point: Point) -> int:
        # Exact integers: distance from the chord times width times height.
        return (last.total_bytes - point.total_bytes) * height - (point.risk - last.risk) * width

    return max(front, key=below)


def _between(front: Sequence[Point], taken: Sequence[Point], wanted: int) -> list[Point]:
    """Return up to `wanted` further points of the front, evenly spread by rank."""
    free = [point for point in front if point not in taken]
    if not free or wanted <= 0:
        return []
    step = max(1, len(free) // (wanted + 1))
    return free[step - 1 :: step][:wanted]


def pick(front: Sequence[Point], fastest: Point | None, uniform: Sequence[Point]) -> list[Pick]:
    """Return the plans to offer, by rising risk, then rising bytes.

    A plan that is best in several ways is offered once, under all its names. Where that leaves fewer than three,
    points between the others are added.

    Parameters
    ----------
    front
        Points by rising bytes and falling risk, at least one.
    fastest
        The point with the shortest decoding step, if one was sought.
    uniform
        Plans with one scheme everywhere, least risky first.

    """
    named = [(front[-1], LOWEST_RISK), (knee(front), BALANCED), (front[0], SMALLEST)]
    named += [(fastest, FASTEST)] if fastest is not None else []
    named += [(uniform[0], SIMPLEST)] if uniform else []
    names: dict[tuple[int, int, int], list[str]] = {}
    points: dict[tuple[int, int, int], Point] = {}
    for point, name in named:
        key = (point.risk, point.total_bytes, point.read_bytes)
        points.setdefault(key, point)
        names.setdefault(key, []).append(name)
    for point in _between(front, list(points.values()), FEWEST - len(points)):
        key = (point.risk, point.total_bytes, point.read_bytes)
        points.setdefault(key, point)
        names.setdefault(key, []).append(BETWEEN)
    return [Pick(points[key], tuple(names[key])) for key in sorted(points)][:MOST]
