"""One request solved: its choices, its problems and their front, or why there is none."""

from dataclasses import dataclass, replace
from functools import partial

from solver.cost.roofline import TICKS_PER_SECOND
from solver.errors import InfeasibleError, NoAnswerError, RuledOutError
from solver.optimize.cpsat import SolverSettings
from solver.optimize.front import exact_front
from solver.optimize.front_points import Front
from solver.optimize.points import fastest, smallest_of_all
from solver.optimize.problem import Problem
from solver.optimize.side_rules import NO_RULES, SideRules
from solver.optimize.stopping import Stops
from solver.plan.choices import Choices, find_choices
from solver.plan.context import Context
from solver.plan.problems import Problems, find_problems
from solver.plan.side_rules import side_rules
from solver.units import format_size, format_size_both


@dataclass(frozen=True)
class Solved:
    """What a request leaves open, and the plans that none beats; at least one."""

    context: Context
    choices: Choices
    rules: SideRules
    front: Front
    """Under the rules."""
    free: Front
    """Without them."""
    built: Problems

    @property
    def problems(self) -> list[Problem]:
        """The problems with all options, for what side rules and uniform plans may need."""
        return self.built.whole


def solver_settings(context: Context) -> SolverSettings:
    """Return the solver's settings of a request."""
    request = context.request
    return SolverSettings(
        seed=request.seed,
        deterministic_seconds=request.time_limit,
        watch=context.watch,
        fronts=None if context.memo is None else context.memo.fronts,
    )


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
    RuledOutError
        If plans keep the budget, and none keeps the side rules too.
    LimitReachedError
        If the time limit ended the search before it had a plan.
    """
    choices = find_choices(context)
    problems = find_problems(context, choices)
    free = exact_front(problems.reduced, context.budget, solver_settings(context))
    if not len(free):
        raise _too_small(context, problems.reduced)
    found = Solved(context, choices, NO_RULES, free, free, problems)
    rules = side_rules(context, lambda: found.problems)
    if rules.plain:
        return found
    if free.interrupted:
        raise KeyboardInterrupt
    front = exact_front(found.problems, context.budget, solver_settings(context), rules)
    if not len(front):
        raise _ruled_out(context, found.problems, rules)
    return replace(found, rules=rules, front=front)


def _ruled_out(context: Context, problems: list[Problem], rules: SideRules) -> NoAnswerError:
    """Return what to say where only the side rules leave no plan: which of them do, each alone or all together."""
    flags = {
        "granularity": f"--granularity {rules.granularity}",
        "overrides": f"--max-overrides {context.request.max_overrides}",
        "max_schemes": f"--max-schemes {rules.max_schemes}",
        "most_ticks": f"--min-decode-tps {context.request.min_decode_tps:g}" if context.request.min_decode_tps else "",
    }
    asked = [name for name in flags if getattr(rules, name) != getattr(NO_RULES, name)]
    settings = solver_settings(context)
    # That there is no plan is proven: what more is to be said of it may be cut short.
    stops = Stops()

    def leaves_none(name: str) -> bool:
        return not len(
            exact_front(problems, context.budget, settings, replace(NO_RULES, **{name: getattr(rules, name)}))
        )

    lone = [name for name in asked if stops.made(partial(leaves_none, name), otherwise=False)]
    named = " with ".join(flags[name] for name in lone[:1] or asked)
    mend = "Leave it out, or allow more." if lone else "Leave one of them out, or allow more."
    if lone[:1] == ["most_ticks"]:
        quickest = stops.point(lambda: fastest(problems, context.budget, settings))
        if quickest is not None:
            mend = f"The fastest plan within the budget has {TICKS_PER_SECOND / quickest.decode_ticks:.4g} tokens/s."
    return RuledOutError(f"plans keep the budget, but none keeps {named} too.", where=named, mend=mend)


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
