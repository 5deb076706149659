"""The least risky plan of a request: what the planner does, and what insisting on something else costs."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from solver.catalog.rule import Yields
from solver.errors import InfeasibleError, LimitReachedError, PlannerError
from solver.optimize.cpsat import SolverSettings
from solver.optimize.points import lexicographic
from solver.optimize.problem import Point
from solver.optimize.verify import verify_point
from solver.plan.alternatives import LOWEST_RISK, Pick
from solver.plan.assignment import Assignment, assign
from solver.plan.choices import find_choices
from solver.plan.context import Context, resolve
from solver.plan.describe import describe
from solver.plan.document import Alternative
from solver.plan.explanation import Outcome, PlanPart
from solver.plan.infeasible import infeasible
from solver.plan.problems import find_problems
from solver.plan.request import PlanRequest
from solver.rules.units import Member


@dataclass(frozen=True)
class Solved:
    """A request's least risky plan, by layer and as it is offered."""

    point: Point
    assignment: Assignment
    alternative: Alternative


def least_risky(context: Context) -> Solved:
    """Return the plan of least predicted loss, then of fewest bytes, within the budget.

    Raises
    ------
    PlannerError
        If there is none: InfeasibleError carries the least footprint.
    """
    choices = find_choices(context)
    problems = find_problems(context, choices)
    settings = SolverSettings(seed=context.request.seed, deterministic_seconds=context.request.time_limit)
    found = [
        point
        for problem in problems
        if (point := lexicographic(problem, context.budget.weights_limit(problem), ("risk", "bytes"), settings))
        is not None
    ]
    if not found:
        raise infeasible(context, problems, settings)
    best = min(found, key=lambda point: (point.risk, point.total_bytes))
    verify_point(best, context.budget)
    return Solved(best, assign(best, choices.partition), describe(1, Pick(best, (LOWEST_RISK,)), choices, context))


def solved_or_why(context: Context, members: Iterable[Member]) -> tuple[Solved | None, Outcome]:
    """Return the least risky plan, and what it gives these layers; or no plan, and why there is none.

    Raises
    ------
    LimitReachedError
        If the time limit ended the search: then nothing is known.
    """
    try:
        solved = least_risky(context)
    except LimitReachedError:
        raise
    except InfeasibleError as error:
        return None, Outcome(status="no_plan", why=error.what, least_footprint_bytes=error.least_footprint_bytes)
    except PlannerError as error:
        return None, Outcome(status="no_plan", why=error.what)
    return solved, Outcome(status="fits", plan=_plan_part(solved, members))


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


def _plan_part(solved: Solved, members: Iterable[Member]) -> PlanPart:
    given: Counter[str] = Counter()
    for member in members:
        given[solved.assignment.schemes[member]] += member.layers
    item = solved.alternative
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
