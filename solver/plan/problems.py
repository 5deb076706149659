"""The problems of a request: one for each legal row of settings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Row:
    """A legal row of settings, and whether the unquantized model keeps the budget in it."""

    settings: Settings
    native_fits: bool


def _rows(context: Context, choices: Choices) -> tuple[Row, ...]:
    """Return the legal rows: all that problems need to know of the budget."""
    rows = legal_rows(context, choices)
    caches = dict.fromkeys(row.kv_cache_scheme for row in rows)
    fits = {cache: fits_unquantized(context, unquantized(context, choices, cache)) for cache in caches}
    return tuple(Row(row, fits[row.kv_cache_scheme]) for row in rows)


def _shared(
    name: str, context: Context, choices: Choices, build: Callable[[Context, Choices, tuple[Row, ...]], list[Problem]]
) -> list[Problem]:
    """Return what is built of the legal rows, or was for another budget."""
    rows = _rows(context, choices)
    if context.memo is None:
        return build(context, choices, rows)
    fits = tuple(row.native_fits for row in rows)
    return context.memo.once(
        name, context.request, lambda: build(context, choices, rows), parts=fits, objects=(choices,)
    )


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


_Sized = tuple[Partition, list[tuple[int, AllowedSchemes]]]


class _Sizes:
    """Units and what they may have under rows of settings, by the largest module that may be emulated."""

    def __init__(self, context: Context, choices: Choices, costs: Costs) -> None:
        self._context, self._choices, self._costs = context, choices, costs
        self._found: dict[tuple[object, ...], _Sized] = {}

    def under(self, row: Settings, *, native: bool) -> _Sized:
        """Return them under a row, with native as a choice or not; rows whose algorithms tie the same share it."""
        tying = tuple(item.name for item in row.algorithms if item.scales_together or item.stops_at_native_cache_layers)
        key = (tying, row.kv_cache_scheme if tying else None, native)
        if key not in self._found:
            choices = self._choices
            patterns = self._context.template.kv_layers
            partition, allowed = under_algorithms(choices.partition, choices.allowed, row, patterns)
            allowed = allowed if native else _without_native(allowed)
            self._found[key] = partition, list(_by_dequantized_bytes(allowed, self._costs))
        return self._found[key]


def find_whole_problems(context: Context, choices: Choices) -> list[Problem]:
    """Return the problems of all rows with all options, for side rules and uniform plans: native ones are marked."""
    return _shared("whole problems", context, choices, _whole_problems)


def _whole_problems(context: Context, choices: Choices, rows: tuple[Row, ...]) -> list[Problem]:
    problems: list[Problem] = []
    costs = costs_of(context)
    sizes = _Sizes(context, choices, costs)
    for row in rows:
        partition, by_bytes = sizes.under(row.settings, native=True)
        problems.extend(
            build_problem(
                partition,
                kept,
                row.settings,
                costs,
                context.template.kv_layers,
                avoids_native=row.native_fits,
                dequantized_bytes=dequantized_bytes,
            )
            for dequantized_bytes, kept in by_bytes
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
    return _shared("problems", context, choices, _problems)


def _problems(context: Context, choices: Choices, rows: tuple[Row, ...]) -> list[Problem]:
    problems: list[Problem] = []
    costs = costs_of(context)
    sizes = _Sizes(context, choices, costs)
    for row in rows:
        partition, by_bytes = sizes.under(row.settings, native=not row.native_fits)
        problems.extend(
            reduced(
                build_problem(
                    partition,
                    kept,
                    row.settings,
                    costs,
                    context.template.kv_layers,
                    dequantized_bytes=dequantized_bytes,
                )
            )
            for dequantized_bytes, kept in by_bytes
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
