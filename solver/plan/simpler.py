"""The price of simplicity: what deciding more coarsely costs at the same budget."""

from functools import partial

from solver.optimize.groups import GRANULARITIES, Granularity
from solver.optimize.points import safest
from solver.optimize.problem import RISK_STEPS_PER_NAT
from solver.optimize.side_rules import SideRules
from solver.optimize.stopping import Stops
from solver.plan.context import Context
from solver.plan.document import SimplerPart
from solver.plan.solved import Solved, solver_settings


def _nats(steps: int) -> float:
    return float(f"{steps / RISK_STEPS_PER_NAT:.6g}")


def simpler_plans(found: Solved, context: Context, stops: Stops) -> tuple[SimplerPart, ...]:
    """Return the least loss within the budget for each coarser granularity, proven over its groups.

    A granularity whose search was ended before that was known is left out.
    """
    parts = []
    for granularity in GRANULARITIES[:-1]:
        priced = partial(_priced, found, context, granularity)
        part = stops.made(priced, None)
        parts += [] if part is None else [part]
    return tuple(parts)


def _priced(found: Solved, context: Context, granularity: Granularity) -> SimplerPart:
    point = safest(found.problems, context.budget, solver_settings(context), SideRules(granularity))
    if point is None:
        return SimplerPart(granularity=granularity, delta_nll=None, price_nll=None)
    price = point.risk - int(found.free.risks[-1])
    return SimplerPart(granularity=granularity, delta_nll=_nats(point.risk), price_nll=_nats(price))


def price_of_rules(found: Solved) -> float | None:
    """Return what the side rules cost at the same budget, in nats; None where there are none."""
    return None if found.rules.plain else _nats(int(found.front.risks[-1]) - int(found.free.risks[-1]))
