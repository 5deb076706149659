"""The whole bill of a model in service: as its checkpoint holds it, and under each scheme where the stack runs it."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict, Field

from solver.catalog import NATIVE, Catalog
from solver.catalog.scheme import Scheme
from solver.cost.footprint import Footprint, footprint
from solver.cost.limits import largest
from solver.cost.parameters import other_bytes
from solver.cost.roofline import Placed, Roofline
from solver.cost.stages import stage_inventories
from solver.cost.weights import held_bytes, kv_scale_bytes, mtp_bytes
from solver.errors import BadInputError
from solver.intake.analysis import ModelAnalysis
from solver.intake.inventory import Inventory
from solver.optimize.build import tied_to_cache
from solver.plan.choices import any_choices
from solver.plan.context import Context, resolve
from solver.plan.document import FootprintPart, ServicePart
from solver.plan.planner import service_part
from solver.plan.problems import costs_of
from solver.plan.request import PlanRequest
from solver.plan.settings import refuse_kv_cache
from solver.rules.service import Service
from solver.rules.settings import KV_FP8

_MOST_TOKENS = 2**24
_MOST_SEQUENCES = 2**20


class UniformBill(BaseModel):
    """One line: a scheme on every layer that may have it, on the fullest device.

    The native line has every layer as the checkpoint holds it: unquantized, or in the format that it is stored in.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    scheme: str
    share: float = Field(description="of the linear layers' weights that have it, 0 to 1")
    stage: int = Field(description="pipeline stage of the fullest device, from 0")
    footprint: FootprintPart
    fits: bool = Field(description="whether it keeps the budget")
    longest_context: int = Field(description="tokens of each sequence, at the concurrency asked for")
    highest_concurrency: int = Field(description="sequences of the context asked for")
    decode_seconds: float | None = Field(description="of one step of all sequences, estimated by roofline")
    prefill_seconds: float | None = Field(description="of one whole prompt, estimated by roofline")


class FootprintReport(BaseModel):
    """All lines for one model in one service."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = 1
    model: str
    model_type: str
    elements_total: int
    stored: str | None = Field(
        default=None, description="how the checkpoint is quantized already, as it says; null where it is not"
    )
    service: ServicePart
    pipeline_stages: int
    kv_cache_scheme: str | None
    bills: tuple[UniformBill, ...]
    assumptions: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def plannable(self) -> bool:
        """Whether some layer may have a scheme."""
        return any(bill.scheme != NATIVE for bill in self.bills)


@dataclass(frozen=True)
class _Stage:
    """One pipeline stage with its layers' choices."""

    context: Context
    units: tuple[tuple[Placed, frozenset[str]], ...]
    """Layers of each family, with the schemes that they may have."""
    dequantized: dict[str, int]
    """Bytes of the largest module that each scheme is emulated on."""

    def placed(self, scheme: Scheme | None) -> tuple[Placed, ...]:
        name = NATIVE if scheme is None else scheme.name
        return tuple(replace(layers, scheme=scheme if name in allowed else None) for layers, allowed in self.units)

    def elements(self, placed: tuple[Placed, ...], *, quantized: bool) -> int:
        """Return the weights of the layers that have a scheme, or of all."""
        return sum(
            item.family.weight_elements * item.family.layers_per_block * item.blocks
            for item in placed
            if item.scheme is not None or not quantized
        )

    def bill(self, scheme: Scheme | None, service: Service, *, kv_fp8: bool) -> Footprint:
        """Return the bill of one device of this stage, with the scheme wherever it may be."""
        context = self.context
        roles, inventory, model_type = context.catalog.roles, context.inventory, context.analysis.model.model_type
        weights = other_bytes(service, roles, inventory) + mtp_bytes(service, roles, inventory)
        for item in self.placed(scheme):
            role = roles.named(item.family.role)
            weights += item.blocks * held_bytes(item.family, item.scheme, role, service, inventory, model_type)
        if kv_fp8:
            weights += kv_scale_bytes(context.catalog.kv_schemes.get(KV_FP8), context.template.kv_layers, inventory)
        dequantized = 0 if scheme is None else self.dequantized.get(scheme.name, 0)
        return footprint(weights, service, inventory, roles, kv_fp8=kv_fp8, dequantized_bytes=dequantized)


def _stage(context: Context, *, kv_fp8: bool) -> _Stage:
    choices = any_choices(context)
    units, allowed = choices.partition.units, choices.allowed
    if kv_fp8:
        units, allowed = tied_to_cache(choices.partition, allowed, context.template.kv_layers)
    costs, dequantized = costs_of(context), defaultdict[str, int](int)
    for unit in choices.partition.units:
        for name in choices.allowed[unit]:
            dequantized[name] = max(dequantized[name], costs.dequantized_bytes(unit, name))
    members = [(member.family, frozenset(allowed[unit])) for unit in units for member in unit.members]
    members += [(member.family, frozenset[str]()) for member in choices.partition.native]
    return _Stage(
        context,
        tuple((Placed(family, None, blocks), names) for (family, names), blocks in Counter(members).items()),
        dict(dequantized),
    )


def _schemes(stages: list[_Stage], catalog: Catalog) -> Iterator[Scheme | None]:
    """Yield None for the model as its checkpoint holds it, then each scheme that some layer may have."""
    yield None
    offered = {name for stage in stages for _, allowed in stage.units for name in allowed}
    yield from (scheme for scheme in catalog.schemes if scheme.name in offered)


def _share(stages: list[_Stage], scheme: Scheme | None) -> float:
    placed = [(stage, stage.placed(scheme)) for stage in stages]
    having, total = (
        sum(stage.elements(layers, quantized=quantized) for stage, layers in placed) for quantized in (True, False)
    )
    return round(having / total, 6)


def _line(stages: list[_Stage], scheme: Scheme | None, budget: int, limit: int, *, kv_fp8: bool) -> UniformBill:
    first = stages[0].context
    service = first.service

    def total(of: Service) -> int:
        return max(stage.bill(scheme, of, kv_fp8=kv_fp8).total_bytes for stage in stages)

    bills = [stage.bill(scheme, service, kv_fp8=kv_fp8) for stage in stages]
    fullest = max(range(len(bills)), key=lambda index: (bills[index].total_bytes, -index))
    times = [
        Roofline(first.catalog, stage.context.inventory, service, first.analysis.model.model_type).times(
            stage.placed(scheme), kv_fp8=kv_fp8
        )
        for stage in stages
    ]
    decode = [item.decode_seconds for item in times if item.decode_seconds is not None]
    prefill = [item.prefill_seconds for item in times if item.prefill_seconds is not None]
    return UniformBill(
        scheme=NATIVE if scheme is None else scheme.name,
        share=_share(stages, scheme),
        stage=fullest,
        footprint=FootprintPart.of(bills[fullest]),
        fits=bills[fullest].total_bytes <= budget,
        longest_context=largest(lambda tokens: total(replace(service, context=tokens)) <= budget, limit),
        highest_concurrency=largest(
            lambda number: total(replace(service, concurrency=number)) <= budget, _MOST_SEQUENCES
        ),
        decode_seconds=sum(decode) if len(decode) == len(stages) else None,
        prefill_seconds=sum(prefill) if len(prefill) == len(stages) else None,
    )


def uniform_bills(
    request: PlanRequest, analysis: ModelAnalysis, inventory: Inventory, catalog: Catalog, *, stages: int = 1
) -> FootprintReport:
    """Return the bill of a model as stored and under each scheme, on the fullest device of all pipeline stages.

    The budget is that of the request, or what the stack may use of the device. Times add up over the stages.

    Raises
    ------
    BadInputError
        If a name, the context or the number of stages cannot be used.

    """
    context = resolve(request, analysis, inventory, catalog)
    try:
        parts = stage_inventories(inventory, catalog.roles, stages)
    except ValueError as error:
        raise BadInputError(f"{error}.", where=f"--pp {stages}", mend="Ask for fewer stages.") from error
    kv_fp8 = request.kv_cache_scheme == KV_FP8
    refuse_kv_cache(context, KV_FP8 if kv_fp8 else None)
    held = [_stage(replace(context, inventory=part), kv_fp8=kv_fp8) for part in parts]
    limit = inventory.max_context or _MOST_TOKENS
    lines = [_line(held, scheme, context.budget.size_bytes, limit, kv_fp8=kv_fp8) for scheme in _schemes(held, catalog)]
    return FootprintReport(
        model=analysis.model.model_path,
        model_type=analysis.model.model_type,
        elements_total=inventory.elements_total,
        stored=None if inventory.quantized is None else inventory.quantized.method,
        service=service_part(context),
        pipeline_stages=stages,
        kv_cache_scheme=request.kv_cache_scheme if kv_fp8 else None,
        bills=tuple(lines),
        assumptions=context.assumptions,
        missing=analysis.missing,
    )
