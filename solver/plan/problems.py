"""The problems of a request: one for each legal row of settings."""

from collections.abc import Iterator

from solver.catalog import NATIVE
from solver.errors import NoAnswerError
from solver.optimize.build import AllowedSchemes, Costs, build_problem
from solver.optimize.problem import Problem
from solver.optimize.reductions import prune_rows, reduced
from solver.plan.algorithm_groups import under_algorithms
from solver.plan.choices import Choices
from solver.plan.context import Context
from solver.plan.settings import legal_rows
from solver.rules.settings import Settings
from solver.rules.units import Partition, Unit


def costs_of(context: Context) -> Costs:
    """Return the prices of a request's layers."""
    return Costs(context.catalog, context.inventory, context.service, context.risk)


def unquantized(context: Context, choices: Choices, kv_cache_scheme: str | None = None) -> Problem:
    """Return the problem without a choice: every layer native, the cache as given."""
    members = [*choices.partition.native, *(m for unit in choices.partition.units for m in unit.members)]
    whole = Partition((), tuple(members), ())
    return build_problem(whole, {}, Settings((), kv_cache_scheme), costs_of(context), context.template.kv_layers)


def fits_unquantized(context: Context, problem: Problem) -> bool:
    """Return whether an unquantized model keeps the budget."""
    return problem.fixed[0] <= context.budget.weights_limit(problem)


def _is_stored_quantized(unit: Unit) -> bool:
    return all(member.family.stored is not None for member in unit.members)


def _without_native(allowed: AllowedSchemes) -> AllowedSchemes:
    """Return the schemes without native; units that are stored quantized keep it if others are left to quantize."""
    others = any(set(names) - {NATIVE} and not _is_stored_quantized(unit) for unit, names in allowed.items())
    return {
        unit: names
        if others and _is_stored_quantized(unit)
        else tuple(name for name in names if name != NATIVE) or names
        for unit, names in allowed.items()
    }


def _by_dequantized_bytes(allowed: AllowedSchemes, costs: Costs) -> Iterator[tuple[int, AllowedSchemes]]:
    """Yield the largest module that may be emulated, and the schemes whose modules are no larger, for each size."""
    sizes = {unit: {name: costs.dequantized_bytes(unit, name) for name in names} for unit, names in allowed.items()}
    for largest in sorted({0}.union(*(found.values() for found in sizes.values()))):
        kept = {unit: tuple(name for name in names if sizes[unit][name] <= largest) for unit, names in allowed.items()}
        if all(kept.values()):
            yield largest, kept


def find_whole_problems(context: Context, choices: Choices) -> list[Problem]:
    """Return the problems of all rows with all options, for side rules and uniform plans: native ones are marked."""
    problems: list[Problem] = []
    costs = costs_of(context)
    for row in legal_rows(context, choices):
        native_fits = fits_unquantized(context, unquantized(context, choices, row.kv_cache_scheme))
        partition, allowed = under_algorithms(choices.partition, choices.allowed, row, context.template.kv_layers)
        problems.extend(
            build_problem(
                partition,
                kept,
                row,
                costs,
                context.template.kv_layers,
                avoids_native=native_fits,
                dequantized_bytes=dequantized_bytes,
            )
            for dequantized_bytes, kept in _by_dequantized_bytes(allowed, costs)
        )
    return prune_rows([problem for problem in problems if all(part.options for part in problem.classes)])


def find_problems(context: Context, choices: Choices) -> list[Problem]:
    """Return the problems of all rows that no other row beats, at least one.

    Emulation holds one module at a time in the model's own type, so that what is left for weights depends on the
    largest that is emulated: each size is a problem of its own.

    In a row where the unquantized model keeps the budget, native is no option wherever a unit may have a scheme:
    else the answer would be to do nothing. What the checkpoint stores quantized may stay so beside the rest.

    Raises
    ------
    NoAnswerError
        If the settings that were asked for leave some layers without any scheme.
    """
    problems: list[Problem] = []
    costs = costs_of(context)
    for row in legal_rows(context, choices):
        native_fits = fits_unquantized(context, unquantized(context, choices, row.kv_cache_scheme))
        partition, allowed = under_algorithms(choices.partition, choices.allowed, row, context.template.kv_layers)
        allowed = _without_native(allowed) if native_fits else allowed
        problems.extend(
            reduced(
                build_problem(
                    partition, kept, row, costs, context.template.kv_layers, dequantized_bytes=dequantized_bytes
                )
            )
            for dequantized_bytes, kept in _by_dequantized_bytes(allowed, costs)
        )
    usable = [problem for problem in problems if all(part.options for part in problem.classes)]
    if not usable:
        named = ", ".join(context.request.algorithms or ())
        broken = (
            f"{named} breaks what they may have (rule algorithm-runs-with-all-schemes), or what it scales together "
            "may have none in common (rule algorithm-scales-whole-groups)"
        )
        tied = "layers that feed an fp8 KV cache share one (rule kv-layers-share-scheme)"
        raise NoAnswerError(
            f"the settings leave some layers without any scheme: {broken if named else tied}.",
            where="--algorithm" if named else "--kv",
            mend="Leave --algorithm, --kv or the --layer pins out.",
        )
    return prune_rows(usable)
