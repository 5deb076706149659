"""The third axis, decoding time, by exact levels: the least risk within the budget under limits on the time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from solver.optimize.cpsat import SolverSettings
from solver.optimize.points import least_of_rows
from solver.optimize.problem import Budget, Point, Problem
from solver.optimize.side_rules import SideRules
from solver.optimize.stopping import Stops


@dataclass(frozen=True, slots=True)
class TimeLevel:
    """A limit on the ticks of one decoding step, and the plan within it with the least risk, then bytes, then time."""

    most_ticks: int
    point: Point


def limits_between(shortest: int, longest: int, count: int) -> list[int]:
    """Return at most `count` different limits, evenly spread between two times, both left out."""
    places = (shortest + (longest - shortest) * number // (count + 1) for number in range(1, count + 1))
    return sorted({place for place in places if shortest < place < longest})


def least_risky_within(
    problems: Sequence[Problem], budget: Budget, settings: SolverSettings, rules: SideRules, most_ticks: int
) -> Point | None:
    """Return the plan within the budget and a time that has the least risk, then bytes, then time, or None.

    No plan is at least as good in all three and better in one: that is proven where the proof is `optimal`.
    """
    within = replace(rules, most_ticks=most_ticks if rules.most_ticks is None else min(most_ticks, rules.most_ticks))
    return least_of_rows(problems, budget, ("risk", "bytes", "time"), settings, within)


def time_levels(
    problems: Sequence[Problem],
    budget: Budget,
    settings: SolverSettings,
    rules: SideRules,
    limits: Sequence[int],
    stops: Stops,
) -> list[TimeLevel]:
    """Return the least risky plan at each limit that some plan keeps; what ends one early is noted in `stops`.

    A limit at which the search was ended before it had a plan is left out, and so are those after an interrupt.
    """
    found = (
        (limit, stops.point(partial(least_risky_within, problems, budget, settings, rules, limit))) for limit in limits
    )
    return [TimeLevel(limit, point) for limit, point in found if point is not None]
