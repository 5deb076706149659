"""The price of simplicity: what deciding more coarsely costs at the same budget."""

from solver.optimize.groups import GRANULARITIES
from solver.optimize.points import safest
from solver.optimize.problem import RISK_STEPS_PER_NAT
from solver.optimize.side_rules import SideRules
from solver.plan.context import Context
from solver.plan.document import SimplerPart
from solver.plan.solved import Solved, solver_settings


def _nats(steps: int) -> float:
    return float(f"{steps / RISK_STEPS_PER_NAT:.6g}")


def simpler_plans(found: Solved, context: Context) -> tuple[SimplerPart, ...]:
    """Return the least loss within the budget for each coarser granularity, proven over its groups."""
    parts = []
    least = int(found.free.risks[-1])
    for granularity in GRANULARITIES[:-1]:
        rules = SideRules(granularity)
        point = safest(found.problems, context.budget, solver_settings(context), rules)
        risk = None if point is None else point.risk
        parts.append(
            SimplerPart(
                granularity=granularity,
                delta_nll=None if risk is None else _nats(risk),
                price_nll=None if risk is None else _nats(risk - least),
            )
        )
    return tuple(parts)


def price_of_rules(found: Solved) -> float | None:
    """Return what the side rules cost at the same budget, in nats; None where there are none."""
    return None if found.rules.plain else _nats(int(found.front.risks[-1]) - int(found.free.risks[-1]))
