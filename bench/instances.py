"""Problems of real models for the optimizer's bench: their own shapes, schemes and bytes, with given sensitivities.

`prior` has the sensitivities of the planner's prior, under which most units of a role are equal and only counted.
`drawn` multiplies the risk of every unit by a log-normal factor, as measured sensitivities vary by layer: no two units
are equal any more. Unfused shapes decide every projection of every expert by itself.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from bench.zoo_pass import records
from solver import api
from solver.catalog import NATIVE, Catalog
from solver.intake.analysis import ModelAnalysis
from solver.intake.analyze import analyze_source
from solver.intake.inventory import LayerFamily
from solver.intake.source import ModelSource
from solver.optimize.build import Costs
from solver.optimize.problem import Option, Problem, UnitClass
from solver.optimize.reductions import without_dominated
from solver.optimize.supported import spread
from solver.plan.choices import Choices, find_choices
from solver.plan.context import Context, resolve
from solver.plan.problems import costs_of, find_problems
from solver.plan.request import PlanRequest
from solver.rules.units import Member, Unit

CATALOG = Catalog()
SEED = 0
SIGMA = 1.0
"""Of the logarithm of the drawn factors."""

_TIGHT_BYTES = 10**9
"""A budget that no unquantized model keeps: with it, native stays an option of every unit."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A model on a machine, with the units of the stack or with every linear layer as its own."""

    name: str
    model: str
    hardware: str = "mi300x"
    tensor_parallel: int = 1
    fused: bool = True


LARGEST = Shape("1T unfused", "moonshotai/Kimi-K2-Instruct", "mi355x", 8, fused=False)
SHAPES = (
    Shape("8B", "Qwen/Qwen3-8B"),
    Shape("30B-A3B", "Qwen/Qwen3-30B-A3B"),
    Shape("671B", "deepseek-ai/DeepSeek-V3", "mi355x", 8),
    Shape("235B-A22B", "Qwen/Qwen3-235B-A22B", "mi300x", 8),
    Shape("70B", "meta-llama/Llama-3.1-70B"),
    Shape("405B", "meta-llama/Meta-Llama-3.1-405B", "mi355x", 8),
    Shape("16B-A2.4B unfused", "deepseek-ai/DeepSeek-V2-Lite", fused=False),
    Shape("30B-A3B unfused", "Qwen/Qwen3-30B-A3B", fused=False),
    Shape("671B unfused", "deepseek-ai/DeepSeek-V3", "mi355x", 8, fused=False),
    LARGEST,
)


@cache
def analysis(model: str) -> ModelAnalysis:
    """Return the analysis of a bundled model, or of one in the tests' zoo."""
    record = next((record for record in records() if record["name"] == model), None)
    if record is None or CATALOG.models.find(model) is not None:
        return api.analyze(model, catalog=CATALOG)
    return analyze_source(ModelSource(model, "file", record["config"]), CATALOG)


def build(shape: Shape, found: ModelAnalysis) -> Problem:
    """Return the problem of a shape: without KV quantization, algorithms and emulated schemes, there is just one.

    Its sensitivities are those of the prior.
    """
    inventory = found.inventory
    assert inventory is not None
    request = PlanRequest(
        model=shape.model,
        hardware=shape.hardware,
        tensor_parallel=shape.tensor_parallel,
        budget_bytes=_TIGHT_BYTES,
        kv_cache_scheme="none",
        algorithms=(),
    )
    context = resolve(request, found, inventory, CATALOG)
    choices = find_choices(context)
    (problem,) = find_problems(context, choices).reduced
    return problem if shape.fused else replace(problem, classes=_unfused(context, choices, problem))


def drawn(problem: Problem) -> Problem:
    """Return a problem with the risk of every unit multiplied by a factor of its own."""
    units = [(part, unit) for part in problem.classes for unit in part.units]
    factors = np.random.default_rng(SEED).lognormal(sigma=SIGMA, size=len(units)).tolist()
    classes = []
    for (part, unit), factor in zip(units, factors, strict=True):
        options = [replace(option, risk=round(factor * option.risk)) for option in part.options]
        classes.append(UnitClass((unit,), without_dominated(options)))
    return replace(problem, classes=tuple(classes))


def sampled(problem: Problem, most: int) -> Problem:
    """Return a problem with at most some of the units, evenly spread."""
    places = [(number, unit) for number, part in enumerate(problem.classes) for unit in part.units]
    kept: dict[int, list[Unit]] = defaultdict(list)
    for place in spread(range(len(places)), most):
        number, unit = places[place]
        kept[number].append(unit)
    classes = (replace(problem.classes[number], units=tuple(units)) for number, units in kept.items())
    return replace(problem, classes=tuple(classes))


def limits(problem: Problem, percents: Sequence[int]) -> dict[int, int]:
    """Return limits on the bytes of weights by where they lie between the smallest and the safest plan, in percent."""
    smallest = safest = problem.fixed[0]
    for part in problem.classes:
        smallest += part.count * min(option.size_bytes for option in part.options)
        safest += part.count * min(part.options, key=lambda option: (option.risk, option.size_bytes)).size_bytes
    return {percent: smallest + (safest - smallest) * percent // 100 for percent in percents}


def _unfused(context: Context, choices: Choices, problem: Problem) -> tuple[UnitClass, ...]:
    """Return every layer as a unit, with the schemes of its group; equal ones are counted."""
    costs = costs_of(context)
    alone = cache(lambda family: family.model_copy(update={"experts": 0}))
    priced: dict[tuple[LayerFamily, float, tuple[str, ...]], tuple[Option, ...]] = {}
    classes: dict[tuple[LayerFamily, tuple[Option, ...]], list[Unit]] = defaultdict(list)
    for unit, allowed in choices.allowed.items():
        for member in unit.members:
            key = (member.family, costs.risk.sensitivity(member.family, member.block), allowed)
            if key not in priced:
                priced[key] = without_dominated(list(_options(member, allowed, costs, problem)))
            family = alone(member.family)
            classes[family, priced[key]].extend(
                Unit(f"block {member.block} {member.family.role} {number}", (Member(family, member.block),))
                for number in range(member.layers)
            )
    return tuple(UnitClass(tuple(units), options) for (_, options), units in classes.items())


def _options(member: Member, allowed: tuple[str, ...], costs: Costs, problem: Problem) -> Iterator[Option]:
    """Yield the schemes of one layer among the equal ones of a block; their bytes divide evenly."""
    for name in allowed:
        scheme = None if name == NATIVE else costs.catalog.schemes.get(name)
        size, risk, ticks = costs.of((member,), scheme, problem.settings)
        yield Option(name, size // member.layers, round(risk / member.layers), ticks // member.layers)
