"""The answer when there is none: the arithmetic, the demands that clash, and what would give a plan."""

from collections import Counter
from dataclasses import replace

from solver.catalog import NATIVE
from solver.cost.parameters import other_bytes
from solver.cost.weights import held_bytes
from solver.errors import ClashingRule, InfeasibleError, NoAnswerError, Repair
from solver.optimize.core import BUDGET, minimal_core
from solver.optimize.points import smallest_of_all
from solver.optimize.problem import Problem
from solver.optimize.stopping import Stops
from solver.plan.assignment import assign
from solver.plan.choices import Choices, find_choices
from solver.plan.clash import find_clash
from solver.plan.context import Context
from solver.plan.problems import find_problems
from solver.plan.repairs import find_repairs
from solver.plan.solved import solver_settings
from solver.units import format_size


def _sentence(context: Context, demand: str) -> str:
    if demand.startswith("--"):
        return "You ask for it."
    if demand == BUDGET:
        what = "weights" if context.budget.scope == "weights" else "everything on a device"
        return f"{what.capitalize()} takes at most {format_size(context.budget.size_bytes)}."
    return context.catalog.rules.get(demand).sentence


def _items(context: Context, choices: Choices, problems: list[Problem]) -> dict[str, int]:
    """Return the items of the smallest plan in bytes on a device, the largest first: weights by part, and the rest."""
    least = smallest_of_all(problems, solver_settings(context))
    catalog, service, inventory = context.catalog, context.service, context.inventory
    sizes: Counter[str] = Counter()
    for member, name in assign(least, choices.partition).schemes.items():
        role = catalog.roles.named(member.family.role)
        scheme = None if name == NATIVE else catalog.schemes.get(name)
        held = held_bytes(member.family, scheme, role, service, inventory, context.analysis.model.model_type)
        sizes[f"{role.live or role.kind} weights"] += held
    sizes["embedding and norm weights"] += other_bytes(service, catalog.roles, inventory)
    sizes["other weights"] = least.weights_bytes - sizes.total()
    if context.budget.scope == "total":
        sizes["KV cache"] = least.problem.kv_cache_bytes
        sizes["activations and runtime"] = least.problem.overhead_bytes
    return {name: size for name, size in sizes.most_common() if size}


def explained(error: NoAnswerError, context: Context) -> NoAnswerError:
    """Return the error with the fewest demands that clash, and the single changes that would give a plan.

    That there is no plan is proven: what is not found before an interrupt or the time limit is left out.
    """
    stops = Stops()
    clash = find_clash(context)
    if not isinstance(error, InfeasibleError):
        # The budget may clash too, but is not what was asked about.
        clash = replace(clash, demands=(BUDGET, *(name for name in clash.demands if name != BUDGET)))
    none: tuple[str, ...] = ()
    core = stops.made(lambda: minimal_core(clash, solver_settings(context)), none)
    rules = tuple(ClashingRule(demand, _sentence(context, demand)) for demand in core)
    if isinstance(error, InfeasibleError):
        choices = find_choices(context)
        problems = find_problems(context, choices).reduced
        return InfeasibleError(
            error.what,
            least_footprint_bytes=error.least_footprint_bytes,
            items=_items(context, choices, problems),
            mend=error.mend,
            rules=rules,
            repairs=_repairs(context, problems, stops),
        )
    return NoAnswerError(
        error.what, where=error.where, mend=error.mend, rules=rules, repairs=_repairs(context, [], stops)
    )


def _repairs(context: Context, problems: list[Problem], stops: Stops) -> tuple[Repair, ...]:
    none: tuple[Repair, ...] = ()
    return stops.made(lambda: find_repairs(context, problems), none)
