"""One request solved: its choices, its problems and their front, or why there is none."""

from dataclasses import dataclass

from solver.errors import InfeasibleError, NoAnswerError
from solver.optimize.cpsat import SolverSettings
from solver.optimize.front import Front, exact_front
from solver.optimize.points import smallest_of_all
from solver.optimize.problem import Problem
from solver.plan.choices import Choices, find_choices
from solver.plan.context import Context
from solver.plan.problems import find_problems
from solver.units import format_size, format_size_both


@dataclass(frozen=True)
class Solved:
    """What a request leaves open, and the plans that none beats; at least one."""

    choices: Choices
    problems: list[Problem]
    front: Front


def solver_settings(context: Context) -> SolverSettings:
    """Return the solver's settings of a request."""
    return SolverSettings(seed=context.request.seed, deterministic_seconds=context.request.time_limit)


def solved(context: Context) -> Solved:
    """Return the front of a request.

    Raises
    ------
    BadInputError
        If a name, a pattern or a pin cannot be used.
    InfeasibleError
        If no plan keeps the budget.
    NoAnswerError
        If no layer may be quantized, or settings and pins leave a layer without any scheme.
    LimitReachedError
        If the time limit ended the search before it had a plan.
    """
    choices = find_choices(context)
    problems = find_problems(context, choices)
    front = exact_front(problems, context.budget, solver_settings(context))
    if not len(front):
        raise _too_small(context, problems)
    return Solved(choices, problems, front)


def _too_small(context: Context, problems: list[Problem]) -> NoAnswerError:
    least = smallest_of_all(problems, solver_settings(context))
    scope, wanted = context.budget.scope, context.budget.size_bytes
    needed = least.weights_bytes if scope == "weights" else least.total_bytes
    what = "weights" if scope == "weights" else "memory"
    return InfeasibleError(
        f"no plan fits {format_size(wanted)} of {what}: the smallest takes {format_size_both(needed)} on each device, "
        f"{format_size(needed - wanted)} more.",
        least_footprint_bytes=needed,
    )
