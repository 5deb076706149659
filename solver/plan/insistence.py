"""The least risky plan of a request: what the planner does, and what insisting on something else costs."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from solver.catalog.rule import Yields
from solver.errors import InfeasibleError, LimitReachedError, PlannerError
from solver.optimize.problem import Point
from solver.plan.alternatives import Pick
from solver.plan.assignment import Assignment, assign
from solver.plan.context import Context, resolve
from solver.plan.describe import describe
from solver.plan.document import Alternative
from solver.plan.explanation import Outcome, PlanPart
from solver.plan.names import LOWEST_RISK
from solver.plan.request import PlanRequest
from solver.plan.solved import solved
from solver.rules.units import Member


@dataclass(frozen=True)
class Safest:
    """A request's least risky plan, by layer and as it is offered."""

    point: Point
    assignment: Assignment
    alternative: Alternative


def least_risky(context: Context) -> Safest:
    """Return the plan of least predicted loss, then of fewest bytes, within the budget.

    Raises
    ------
    PlannerError
        If there is none: InfeasibleError carries the least footprint.
    """
    found = solved(context)
    best, choices = found.front[-1], found.choices
    return Safest(best, assign(best, choices.partition), describe(1, Pick(best, (LOWEST_RISK,)), choices, context))


def solved_or_why(context: Context, members: Iterable[Member]) -> tuple[Safest | None, Outcome]:
    """Return the least risky plan, and what it gives these layers; or no plan, and why there is none.

    Raises
    ------
    LimitReachedError
        If the time limit ended the search: then nothing is known.
    """
    try:
        safest = least_risky(context)
    except LimitReachedError:
        raise
    except InfeasibleError as error:
        return None, Outcome(status="no_plan", why=error.what, least_footprint_bytes=error.least_footprint_bytes)
    except PlannerError as error:
        return None, Outcome(status="no_plan", why=error.what)
    return safest, Outcome(status="fits", plan=_plan_part(safest, members))


def insist(request: PlanRequest, needs: Yields | None, context: Context, members: Iterable[Member]) -> Outcome | None:
    """Return what a changed request of the same model leads to, forced where it has to be; None where nothing helps."""
    if needs == "nothing":
        return None
    asked = request.model_copy(update={"force": True}) if needs == "force" else request
    try:
        changed = resolve(asked, context.analysis, context.inventory, context.catalog)
    except PlannerError as error:
        return Outcome(status="no_plan", why=error.what)
    return solved_or_why(changed, members)[1]


def _plan_part(safest: Safest, members: Iterable[Member]) -> PlanPart:
    given: Counter[str] = Counter()
    for member in members:
        given[safest.assignment.schemes[member]] += member.layers
    item = safest.alternative
    if item.footprint is None or item.risk is None or item.proof is None:
        raise LookupError("a described point has its numbers")
    return PlanPart(
        given=dict(given),
        total_bytes=item.footprint.total_bytes,
        weights_bytes=item.footprint.weights_bytes,
        delta_nll=item.risk.delta_nll,
        decode_seconds_per_token=item.decode_seconds_per_token,
        kv_cache_scheme=item.kv_cache_scheme,
        algorithm=item.algorithm,
        proof=item.proof.status,
    )
