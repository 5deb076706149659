"""The problems of a request: one for each legal row of settings."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

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
    alike: dict[tuple[object, ...], dict[str, int]] = {}
    sizes: dict[Unit, dict[str, int]] = {}
    for unit, names in allowed.items():
        # The blocks of a model repeat the same few families, which are told apart as objects in no time.
        key = (names, *(id(member.family) for member in unit.members))
        if key not in alike:
            alike[key] = {name: costs.dequantized_bytes(unit, name) for name in names}
        sizes[unit] = alike[key]
    for largest in sorted({0}.union(*(found.values() for found in alike.values()))):
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


class Problems:
    """The problems of a request's legal rows: with all options, and with those that some plan without rules may take.

    Emulation holds one module at a time in the model's own type, so that what is left for weights depends on the
    largest that is emulated: each size is a problem of its own.
    """

    def __init__(self, context: Context, choices: Choices, rows: tuple[Row, ...]) -> None:
        self._rows = rows
        self._algorithms = ", ".join(context.request.algorithms or ())
        self._kv_patterns = context.template.kv_layers
        self._costs = costs_of(context)
        self._sizes = _Sizes(context, choices, self._costs)
        self._built: dict[tuple[int, bool], list[Problem]] = {}

    @cached_property
    def whole(self) -> list[Problem]:
        """All options, for side rules and uniform plans; marked where the unquantized model keeps the budget."""
        problems = [problem for number in range(len(self._rows)) for problem in self._of(number, native=True)]
        return prune_rows([problem for problem in problems if all(part.options for part in problem.classes)])

    @cached_property
    def reduced(self) -> list[Problem]:
        """The problems of all rows that no other row beats, at least one, without options that no plan takes.

        In a row where the unquantized model keeps the budget, native is no option wherever a unit may have a scheme:
        else the answer would be to do nothing. What the checkpoint stores quantized may stay so beside the rest.

        Raises
        ------
        NoAnswerError
            If the settings that were asked for leave some layers without any scheme.

        """
        rows = enumerate(self._rows)
        problems = [reduced(item) for number, row in rows for item in self._of(number, native=not row.native_fits)]
        usable = [problem for problem in problems if all(part.options for part in problem.classes)]
        if not usable:
            raise _without_schemes(self._algorithms)
        return prune_rows(usable)

    def _of(self, number: int, *, native: bool) -> list[Problem]:
        """Return the problems of a row with all options, native among them or not; both uses share them."""
        if (number, native) not in self._built:
            row = self._rows[number]
            partition, by_bytes = self._sizes.under(row.settings, native=native)
            self._built[number, native] = [
                build_problem(
                    partition,
                    kept,
                    row.settings,
                    self._costs,
                    self._kv_patterns,
                    avoids_native=native and row.native_fits,
                    dequantized_bytes=dequantized_bytes,
                )
                for dequantized_bytes, kept in by_bytes
            ]
        return self._built[number, native]


def _without_schemes(algorithms: str) -> NoAnswerError:
    broken = (
        f"{algorithms} breaks what they may have (rule algorithm-runs-with-all-schemes), or what it scales together "
        "may have none in common (rule algorithm-scales-whole-groups)"
    )
    tied = "layers that feed an fp8 KV cache share one (rule kv-layers-share-scheme)"
    return NoAnswerError(
        f"the settings leave some layers without any scheme: {broken if algorithms else tied}.",
        where="--algorithm" if algorithms else "--kv",
        mend="Leave --algorithm, --kv or the --layer pins out.",
    )


def find_problems(context: Context, choices: Choices) -> Problems:
    """Return the problems of a request, those of another budget where they are the same."""
    rows = _rows(context, choices)
    if context.memo is None:
        return Problems(context, choices, rows)
    fits = tuple(row.native_fits for row in rows)
    return context.memo.once(
        "problems", context.request, lambda: Problems(context, choices, rows), parts=fits, objects=(choices,)
    )
