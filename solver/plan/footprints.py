"""The whole bill of a model in service: unquantized, and under each scheme wherever the stack runs it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict, Field

from solver.catalog import NATIVE, Catalog
from solver.catalog.backend import Padding
from solver.catalog.roles import Role
from solver.catalog.scheme import Scheme
from solver.cost.footprint import Footprint, footprint
from solver.cost.limits import largest
from solver.cost.roofline import Placed, Roofline
from solver.cost.stages import stage_inventories
from solver.cost.weights import kv_scale_bytes, layer_bytes, mtp_bytes, other_bytes
from solver.errors import BadInputError
from solver.intake.analysis import ModelAnalysis
from solver.intake.inventory import Inventory
from solver.plan.choices import find_choices
from solver.plan.context import Context, resolve
from solver.plan.document import FootprintPart, ServicePart
from solver.plan.planner import service_part
from solver.plan.request import PlanRequest
from solver.rules.options import support_of
from solver.rules.service import Service
from solver.rules.settings import KV_FP8, kv_refusal

_MOST_TOKENS = 2**24
_MOST_SEQUENCES = 2**20


class UniformBill(BaseModel):
    """One line: a scheme on every layer that may have it, on the fullest device."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scheme: str
    share: float = Field(description="of the linear layers' weights that have it, 0 to 1")
    stage: int = Field(description="pipeline stage of the fullest device, from 0")
    footprint: FootprintPart
    fits: bool | None = Field(description="whether it keeps the budget; null if the device's memory is not known")
    longest_context: int | None = Field(description="tokens of each sequence, at the concurrency asked for")
    highest_concurrency: int | None = Field(description="sequences of the context asked for")
    decode_seconds: float | None = Field(description="of one step of all sequences, estimated by roofline")
    prefill_seconds: float | None = Field(description="of one prompt of full length, estimated by roofline")


class FootprintReport(BaseModel):
    """All lines for one model in one service."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = 1
    model: str
    model_type: str
    elements_total: int
    service: ServicePart
    pipeline_stages: int
    kv_cache_scheme: str | None
    bills: tuple[UniformBill, ...]
    assumptions: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class _Stage:
    """One pipeline stage with its layers' choices."""

    context: Context
    units: tuple[tuple[Placed, frozenset[str]], ...]
    """Layers of each family, with the schemes that they may have."""

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

    def _padding(self, placed: Placed, role: Role, service: Service) -> Padding | None:
        if placed.scheme is None:
            return None
        row = support_of(service, placed.scheme, role, self.context.analysis.model.model_type)
        return None if row is None else row.padding

    def weights_bytes(self, placed: tuple[Placed, ...], service: Service) -> int:
        roles, inventory = self.context.catalog.roles, self.context.inventory
        layers = sum(
            layer_bytes(item.family, item.scheme, role, service, inventory, self._padding(item, role, service))
            * service.layers_per_device(item.family, role)
            * item.blocks
            for item in placed
            for role in (roles.named(item.family.role),)
        )
        return layers + other_bytes(service, inventory) + mtp_bytes(service, roles, inventory)

    def bill(self, scheme: Scheme | None, service: Service, *, kv_fp8: bool) -> Footprint:
        weights = self.weights_bytes(self.placed(scheme), service)
        if kv_fp8:
            kv_scheme = self.context.catalog.kv_schemes.get(KV_FP8)
            weights += kv_scale_bytes(kv_scheme, self.context.template.kv_layers, self.context.inventory)
        return footprint(weights, service, self.context.inventory, self.context.catalog.roles, kv_fp8=kv_fp8)


def _stage(context: Context) -> _Stage:
    choices = find_choices(context)
    units: dict[tuple[object, frozenset[str]], list[Placed]] = {}
    for member in choices.partition.native:
        units.setdefault((member.family, frozenset()), []).append(Placed(member.family, None, 1))
    for unit in choices.partition.units:
        allowed = frozenset(choices.allowed[unit])
        for member in unit.members:
            units.setdefault((member.family, allowed), []).append(Placed(member.family, None, 1))
    return _Stage(
        context,
        tuple((replace(members[0], blocks=len(members)), allowed) for (_, allowed), members in units.items()),
    )


def _schemes(stages: list[_Stage], catalog: Catalog) -> Iterator[Scheme | None]:
    """Yield None for the unquantized model, then each scheme that some layer may have."""
    yield None
    offered = {name for stage in stages for _, allowed in stage.units for name in allowed}
    yield from (scheme for scheme in catalog.schemes if scheme.name in offered)


def _share(stages: list[_Stage], scheme: Scheme | None) -> float:
    placed = [(stage, stage.placed(scheme)) for stage in stages]
    having, total = (
        sum(stage.elements(layers, quantized=quantized) for stage, layers in placed) for quantized in (True, False)
    )
    return round(having / total, 6)


def _line(stages: list[_Stage], scheme: Scheme | None, budget: int | None, limit: int, *, kv_fp8: bool) -> UniformBill:
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
        fits=None if budget is None else bills[fullest].total_bytes <= budget,
        longest_context=None
        if budget is None
        else largest(lambda tokens: total(replace(service, context=tokens)) <= budget, limit),
        highest_concurrency=None
        if budget is None
        else largest(lambda number: total(replace(service, concurrency=number)) <= budget, _MOST_SEQUENCES),
        decode_seconds=sum(decode) if len(decode) == len(stages) else None,
        prefill_seconds=sum(prefill) if len(prefill) == len(stages) else None,
    )


def uniform_bills(
    request: PlanRequest, analysis: ModelAnalysis, inventory: Inventory, catalog: Catalog, *, stages: int = 1
) -> FootprintReport:
    """Return the bill of a model unquantized and under each scheme, on the fullest device of all pipeline stages.

    The budget is that of the request, or what the stack may use of the device. Times add up over the stages.

    Raises
    ------
    BadInputError
        If a name, the context or the number of stages cannot be used.
    NoAnswerError
        If no layer may have any scheme.

    """
    context = resolve(request, analysis, inventory, catalog)
    try:
        parts = stage_inventories(inventory, stages)
    except ValueError as error:
        raise BadInputError(f"{error}.", where=f"--pp {stages}", mend="Ask for fewer stages.") from error
    kv_fp8 = request.kv_cache_scheme == KV_FP8
    if kv_fp8:
        service = context.service
        refusal = kv_refusal(context.template, inventory, service.backend, service.hardware.kernel_class)
        if refusal is not None:
            raise BadInputError(f"{refusal}.", where="--kv fp8", mend="Leave --kv out.")
    held = [_stage(replace(context, inventory=part)) for part in parts]
    limit = inventory.max_context or _MOST_TOKENS
    lines = [_line(held, scheme, context.budget.size_bytes, limit, kv_fp8=kv_fp8) for scheme in _schemes(held, catalog)]
    return FootprintReport(
        model=analysis.model.model_path,
        model_type=analysis.model.model_type,
        elements_total=inventory.elements_total,
        service=service_part(context),
        pipeline_stages=stages,
        kv_cache_scheme=request.kv_cache_scheme if kv_fp8 else None,
        bills=tuple(lines),
        assumptions=context.assumptions,
        missing=analysis.missing,
    )
