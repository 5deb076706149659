"""The plans of a request that are offered: those of its front, and those that were asked for beside it."""

from functools import partial

from solver.optimize.different import Difference, least_risky_different
from solver.optimize.points import fastest, uniform_points
from solver.optimize.problem import Point
from solver.optimize.stopping import Stops
from solver.optimize.time_levels import TimeLevel, limits_between, time_levels
from solver.plan.alternatives import Pick, pick
from solver.plan.assignment import assign
from solver.plan.context import Context
from solver.plan.names import DIFFERENT, FASTER
from solver.plan.solved import Solved, solver_settings

DIFFERENT_SHARE = 0.25
"""Of the weights that have a choice, what a plan gives another scheme to be called different."""


def find_picks(found: Solved, context: Context, stops: Stops) -> tuple[list[Pick], int]:
    """Return the plans to offer, and at how many limits on the decoding step the least risk was sought.

    First those of the front, then those that are less risky than all that are as fast, then those that differ. What is
    ended before it has a plan is left out.
    """
    settings, budget, rules = solver_settings(context), context.budget, found.rules
    quickest = stops.point(lambda: fastest(found.problems, budget, settings, rules))
    uniform = uniform_points(found.problems, budget, rules)
    picks = pick(found.front, quickest, uniform, context.request.alternatives)
    levels = _levels(found, context, stops, quickest)
    for level in levels:
        own = Pick(level.point, (FASTER,))
        if all(own.key != other.key for other in picks):
            picks.append(own)
    for _ in range(context.request.diverse):
        others = tuple(assign(item.point, found.choices.partition).schemes for item in picks)
        different = partial(least_risky_different, difference=Difference(DIFFERENT_SHARE, others))
        point = stops.point(partial(different, found.problems, budget, settings, rules))
        if point is None:
            break
        picks.append(Pick(point, (DIFFERENT,)))
    return picks, len(levels) + (quickest is not None)


def _levels(found: Solved, context: Context, stops: Stops, quickest: Point | None) -> list[TimeLevel]:
    """Return the least risky plans between the shortest decoding step and that of the least risky plan of all."""
    if quickest is None or not context.request.faster:
        return []
    limits = limits_between(quickest.decode_ticks, found.front[-1].decode_ticks, context.request.faster)
    return time_levels(found.problems, context.budget, solver_settings(context), found.rules, limits, stops)
