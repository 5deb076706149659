"""From units and rules to a problem in integers."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from solver.catalog import NATIVE, Catalog
from solver.catalog.scheme import Scheme
from solver.cost.footprint import footprint
from solver.cost.parameters import other_bytes
from solver.cost.roofline import Roofline
from solver.cost.weights import dequantized_bytes, held_bytes, kv_scale_bytes, mtp_bytes
from solver.intake.inventory import Inventory, LayerFamily
from solver.optimize.problem import RISK_STEPS_PER_NAT, Option, Problem, UnitClass, Vector
from solver.risk.model import RiskModel
from solver.rules.options import support_of
from solver.rules.patterns import first_match
from solver.rules.service import Service
from solver.rules.settings import Settings
from solver.rules.units import Member, Partition, Unit, matched_by, tie


@dataclass(frozen=True, slots=True)
class _Held:
    """What one block's layers of a family take on a device: held, in a decoding step, dequantized if emulated."""

    size_bytes: int
    decode_ticks: int
    dequantized_bytes: int


@dataclass(frozen=True)
class Costs:
    """Prices layers under schemes; pure, so that equal layers cost the same everywhere."""

    catalog: Catalog
    inventory: Inventory
    service: Service
    risk: RiskModel

    @cached_property
    def roofline(self) -> Roofline:
        """What a decoding step takes."""
        return Roofline(self.catalog, self.inventory, self.service, self.risk.model_type)

    @cached_property
    def _held(self) -> Callable[[LayerFamily, str], _Held]:
        """Gives what layers take under a scheme, by its name; a model has few pairs of these, and many layers."""

        @cache
        def held(family: LayerFamily, name: str) -> _Held:
            service, model_type = self.service, self.risk.model_type
            role = self.catalog.roles.named(family.role)
            scheme = None if name == NATIVE else self.catalog.schemes.get(name)
            support = None if scheme is None else support_of(service, scheme, role, model_type)
            size = held_bytes(family, scheme, role, service, self.inventory, model_type)
            plain = dequantized_bytes(family, role, service, self.inventory) * service.layers_per_device(family, role)
            buffer = plain if support is not None and support.support == "emulated" else 0
            return _Held(size, self.roofline.decode_ticks(family, scheme), buffer)

        return held

    @cached_property
    def _noise(self) -> dict[tuple[str, str, tuple[str, ...]], float]:
        """Noise by scheme, role and algorithms: the same for all blocks of a role."""
        return {}

    def _loss(self, member: Member, scheme: Scheme, settings: Settings) -> float:
        key = (scheme.name, member.family.role, settings.algorithm_names)
        noise = self._noise.get(key)
        if noise is None:
            noise = self._noise[key] = self.risk.noise(scheme, member.family.role, settings.algorithms)
        return self.risk.sensitivity(member.family, member.block) * noise * member.layers

    def dequantized_bytes(self, unit: Unit, name: str) -> int:
        """Return what emulating a scheme takes besides: the unit as one module in the served type; 0 if native."""
        return sum(self._held(member.family, name).dequantized_bytes for member in unit.members)

    def of(self, members: Sequence[Member], scheme: Scheme | None, settings: Settings) -> Vector:
        """Return bytes, risk steps and decode ticks of layers that share a scheme (None is native)."""
        held = [self._held(member.family, NATIVE if scheme is None else scheme.name) for member in members]
        loss = 0.0 if scheme is None else sum(self._loss(member, scheme, settings) for member in members)
        return (
            sum(item.size_bytes for item in held),
            round(RISK_STEPS_PER_NAT * loss),
            sum(item.decode_ticks for item in held),
        )


AllowedSchemes = Mapping[Unit, tuple[str, ...]]
"""Schemes that each unit may have, `native` among them unless the user pinned another."""


def _options(unit: Unit, allowed: Sequence[str], costs: Costs, settings: Settings) -> tuple[Option, ...]:
    """Return what a unit may have and costs, by bytes, then risk: the order of all tie-breaks."""
    broken = {family for algorithm in settings.algorithms for family in algorithm.breaks}
    options = []
    for name in allowed:
        scheme = None if name == NATIVE else costs.catalog.schemes.get(name)
        if scheme is None or scheme.family not in broken:
            options.append(Option(name, *costs.of(unit.members, scheme, settings)))
    return tuple(sorted(options, key=lambda option: (*option.vector, option.scheme)))


def _classes(units: Sequence[Unit], allowed: AllowedSchemes, costs: Costs, settings: Settings) -> tuple[UnitClass, ...]:
    priced: dict[tuple[tuple[tuple[LayerFamily, float], ...], tuple[str, ...]], tuple[Option, ...]] = {}
    by_options: dict[tuple[str, tuple[Option, ...]], list[Unit]] = defaultdict(list)
    for unit in units:
        key = tuple((member.family, costs.risk.sensitivity(member.family, member.block)) for member in unit.members)
        choice = (key, allowed[unit])
        if choice not in priced:
            priced[choice] = _options(unit, allowed[unit], costs, settings)
        names = ",".join(sorted({member.family.name for member in unit.members}))
        by_options[names, priced[choice]].append(unit)
    return tuple(
        UnitClass(tuple(sorted(members, key=lambda unit: unit.first_block)), options)
        for (_, options), members in by_options.items()
    )


def tied_to_cache(
    partition: Partition, allowed: AllowedSchemes, kv_patterns: Sequence[str]
) -> tuple[tuple[Unit, ...], AllowedSchemes]:
    """Return the units with all layers of one KV pattern as one, which may have what all of its parts may.

    If a single layer of a KV pattern is excluded, Quark takes the weight quantization from all of them: the unit
    is native then. It may have nothing where its parts are pinned to different schemes.
    """
    units = tie(partition.units, kv_patterns)
    choices = dict(allowed)
    for unit in units:
        patterns = [pattern for pattern in kv_patterns if matched_by(unit, pattern)]
        if not patterns:
            continue
        members = set(unit.members)
        parts = [allowed[part] for part in partition.units if members.issuperset(part.members)]
        excluded = any(first_match(patterns, member.family, member.block) for member in partition.native)
        common = set(parts[0]).intersection(*parts[1:], *([{NATIVE}] if excluded else []))
        choices[unit] = tuple(name for name in parts[0] if name in common)
    return units, choices


def build_problem(
    partition: Partition,
    allowed: AllowedSchemes,
    settings: Settings,
    costs: Costs,
    kv_patterns: Sequence[str],
    *,
    avoids_native: bool = False,
    dequantized_bytes: int = 0,
) -> Problem:
    """Return the problem of one row of settings, with all options.

    `dequantized_bytes` are those of the largest module that `allowed` lets be emulated.

    An fp8 KV cache ties all layers that feed it into one unit, which may only have what all of them may, and adds
    its scales to the weights.
    """
    units, choices, scales = partition.units, allowed, 0
    kv_fp8 = settings.kv_cache_scheme is not None
    if settings.kv_cache_scheme is not None:
        units, choices = tied_to_cache(partition, allowed, kv_patterns)
        scales = kv_scale_bytes(costs.catalog.kv_schemes.get(settings.kv_cache_scheme), kv_patterns, costs.inventory)
    native = costs.of(partition.native, None, settings)
    kv_risk = costs.risk.kv_risk(costs.service.context) if kv_fp8 else 0.0
    bill = footprint(
        0,
        costs.service,
        costs.inventory,
        costs.catalog.roles,
        kv_fp8=kv_fp8,
        dequantized_bytes=dequantized_bytes,
    )
    return Problem(
        settings=settings,
        classes=_classes(units, choices, costs, settings),
        fixed=(
            native[0]
            + other_bytes(costs.service, costs.catalog.roles, costs.inventory)
            + mtp_bytes(costs.service, costs.catalog.roles, costs.inventory)
            + scales,
            round(RISK_STEPS_PER_NAT * kv_risk),
            native[2],
        ),
        kv_cache_bytes=bill.kv_cache_bytes,
        overhead_bytes=bill.activation_bytes + bill.runtime_bytes,
        avoids_native=avoids_native,
        cache_ticks=costs.roofline.cache_ticks(kv_fp8=kv_fp8),
        dequantized_bytes=dequantized_bytes,
    )
