"""A written plan priced anew: what its patterns give each layer, and what that takes by the planner's own builders."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from solver.catalog import NATIVE
from solver.errors import PlannerError, VerificationError
from solver.optimize.build import build_problem
from solver.optimize.problem import Point, Problem, Proof
from solver.plan.algorithm_groups import under_algorithms
from solver.plan.alternatives import Pick
from solver.plan.assignment import Assignment
from solver.plan.choices import Choices, find_choices
from solver.plan.context import Context
from solver.plan.describe import as_written, patterns_of
from solver.plan.document import Alternative
from solver.plan.expansion import Expansion, expand
from solver.plan.patterns import QuarkPatterns
from solver.plan.problems import costs_of
from solver.plan.settings import settings_target
from solver.rules.settings import Settings
from solver.rules.units import Member, Partition, Unit


@dataclass(frozen=True)
class Recomputed:
    """A plan as its patterns make it; `alternative` has all numbers, or is None where `why` nothing can be priced."""

    stated: Alternative
    context: Context
    choices: Choices
    expansion: Expansion
    settings: Settings
    units: tuple[Unit, ...]
    problem: Problem | None = None
    alternative: Alternative | None = None
    why: str = ""

    @property
    def schemes(self) -> dict[Member, str]:
        """Scheme of every layer, as Quark resolves it."""
        return self.expansion.resolved


def _parts(units: Iterable[Unit], schemes: dict[Member, str]) -> Iterator[Unit]:
    """Yield the units, torn ones in parts of one scheme."""
    for unit in units:
        parts: dict[str, list[Member]] = {}
        for member in unit.members:
            parts.setdefault(schemes[member], []).append(member)
        for members in parts.values():
            yield unit if len(parts) == 1 else Unit(unit.name, tuple(members))


def _settings(stated: Alternative, context: Context) -> Settings:
    """Return the settings of a plan.

    Raises
    ------
    UnknownNameError
        If an algorithm is not in the catalogue.
    """
    names = stated.algorithm.split(",") if stated.algorithm else []
    algorithms = tuple(context.catalog.algorithms.get(name) for name in names)
    return Settings(algorithms, stated.kv_cache_scheme, settings_target(context).exports[0])


def _are_fewest(
    patterns: QuarkPatterns, assignment: Assignment, choices: Choices, context: Context, kv_cache_scheme: str | None
) -> bool:
    """Return whether the search proves again that no fewer patterns write a plan: not so for what it cannot write."""
    try:
        again = patterns_of(assignment, choices, context, kv_fp8=kv_cache_scheme is not None)
    except VerificationError:
        return False
    return again.fewest and again.beside(choices.excludes) == patterns.beside(choices.excludes)


def recompute(stated: Alternative, context: Context) -> Recomputed:
    """Return a plan of a request, expanded to every layer and priced.

    Raises
    ------
    PlannerError
        If the request, or a name in the plan, cannot be used.
    """
    choices = find_choices(context)
    expansion = expand(stated, context.inventory, context.template.kv_layers)
    schemes = expansion.resolved
    for name in sorted({*schemes.values()} - {NATIVE}):
        context.catalog.schemes.get(name)
    decided = list(_parts(choices.partition.units, schemes))
    # What the planner would leave native and a pattern gives a scheme all the same has its price too.
    decided += [
        Unit(member.family.path(member.block), (member,))
        for member in choices.partition.native
        if schemes[member] != NATIVE
    ]
    native = tuple(member for member in choices.partition.native if schemes[member] == NATIVE)
    allowed = {unit: (schemes[unit.members[0]],) for unit in decided}
    costs, settings = costs_of(context), _settings(stated, context)
    emulated = max((costs.dequantized_bytes(unit, names[0]) for unit, names in allowed.items()), default=0)
    found = Recomputed(stated, context, choices, expansion, settings, tuple(decided))
    kv_layers = context.template.kv_layers
    # As the planner decides them: what an algorithm scales together is one unit, and its loss is rounded once.
    partition, together = under_algorithms(Partition(tuple(decided), native, ()), allowed, settings, kv_layers)
    problem = build_problem(
        partition,
        together,
        settings,
        costs,
        kv_layers,
        dequantized_bytes=emulated,
    )
    if not all(part.options for part in problem.classes):
        return _unpriced(found, "the layers of one KV pattern, or the plan's algorithm and its schemes, do not agree")
    counts = tuple((part.count,) for part in problem.classes)
    vector = problem.vector(counts)
    point = Point(problem, counts, vector, Proof("optimal", "risk", vector[1], vector[1]))
    assignment = Assignment(schemes)
    patterns = QuarkPatterns(stated.global_scheme, stated.exclude_layers, stated.layer_quant_config)
    try:
        patterns = replace(patterns, fewest=_are_fewest(patterns, assignment, choices, context, stated.kv_cache_scheme))
        described = as_written(stated.id, Pick(point, (stated.name,)), assignment, patterns, choices, context)
    except PlannerError as error:
        return _unpriced(found, error.what.rstrip("."))
    return Recomputed(stated, context, choices, expansion, settings, tuple(decided), problem, described)


def _unpriced(found: Recomputed, why: str) -> Recomputed:
    return Recomputed(found.stated, found.context, found.choices, found.expansion, found.settings, found.units, why=why)
