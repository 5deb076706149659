"""The problems of a request: one for each legal row of settings."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import TypeVar

from solver.catalog import NATIVE
from solver.errors import NoAnswerError
from solver.optimize.build import AllowedSchemes, Costs, build_problem
from solver.optimize.problem import Problem
from solver.optimize.reductions import prune_rows, reduced
from solver.plan.choices import Choices
from solver.plan.context import Context
from solver.plan.settings import legal_rows
from solver.rules.settings import Settings
from solver.rules.units import Partition, Unit

T = TypeVar("T")


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

    @cache
    def native_fits(kv_cache_scheme: str | None) -> bool:
        return fits_unquantized(context, unquantized(context, choices, kv_cache_scheme))

    return tuple(Row(row, native_fits(row.kv_cache_scheme)) for row in legal_rows(context, choices))


def _once(
    name: str, context: Context, choices: Choices, make: Callable[[], list[T]], parts: tuple[Hashable, ...]
) -> list[T]:
    """Return what is made of the choices and these parts, or was for another budget."""
    if context.memo is None:
        return make()
    return context.memo.once(name, context.request, make, parts=parts, objects=(choices,))


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


@dataclass(frozen=True)
class _Builder:
    """Builds the problems of rows; native is an option of theirs, beside others too, or only where there are none."""

    context: Context
    choices: Choices

    @cached_property
    def _costs(self) -> Costs:
        return costs_of(self.context)

    @cached_property
    def _kinds(self) -> Callable[[bool], list[tuple[int, AllowedSchemes]]]:
        @cache
        def kinds(native: bool) -> list[tuple[int, AllowedSchemes]]:
            allowed = self.choices.allowed if native else _without_native(self.choices.allowed)
            return list(_by_dequantized_bytes(allowed, self._costs))

        return kinds

    def _build(self, settings: Settings, *, native: bool) -> list[Problem]:
        return [
            build_problem(
                self.choices.partition,
                kept,
                settings,
                self._costs,
                self.context.template.kv_layers,
                dequantized_bytes=dequantized_bytes,
            )
            for dequantized_bytes, kept in self._kinds(native)
        ]

    def built(self, settings: Settings, *, native: bool) -> list[Problem]:
        """Return the problems of a row, one for each size of what may be emulated."""
        row = (settings.algorithm_names, settings.kv_cache_scheme, settings.export_format, settings.attention_scheme)
        made = partial(self._build, settings, native=native)
        return _once("built", self.context, self.choices, made, (*row, native))


def find_whole_problems(context: Context, choices: Choices) -> list[Problem]:
    """Return the problems of all rows with all options, for side rules and uniform plans: native ones are marked."""
    rows = _rows(context, choices)

    def make() -> list[Problem]:
        builder = _Builder(context, choices)
        problems = [
            replace(problem, avoids_native=row.native_fits)
            for row in rows
            for problem in builder.built(row.settings, native=True)
        ]
        return prune_rows([problem for problem in problems if all(part.options for part in problem.classes)])

    return _once("whole problems", context, choices, make, tuple(row.native_fits for row in rows))


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
    rows = _rows(context, choices)
    return _once(
        "problems",
        context,
        choices,
        lambda: _reduced_problems(context, choices, rows),
        tuple(row.native_fits for row in rows),
    )


def _reduced_problems(context: Context, choices: Choices, rows: tuple[Row, ...]) -> list[Problem]:
    builder = _Builder(context, choices)
    problems = [reduced(problem) for row in rows for problem in builder.built(row.settings, native=not row.native_fits)]
    usable = [problem for problem in problems if all(part.options for part in problem.classes)]
    if not usable:
        named = ", ".join(context.request.algorithms or ())
        broken = f"{named} breaks what they may have (rule algorithm-runs-with-all-schemes)"
        tied = "layers that feed an fp8 KV cache share one (rule kv-layers-share-scheme)"
        raise NoAnswerError(
            f"the settings leave some layers without any scheme: {broken if named else tied}.",
            where="--algorithm" if named else "--kv",
            mend="Leave --algorithm, --kv or the --layer pins out.",
        )
    return prune_rows(usable)
