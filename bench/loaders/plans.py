"""The plans that loaders are asked about: every architecture in several kinds, written as the planner writes them."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from solver import api
from solver.catalog import NATIVE, Catalog
from solver.catalog.template import Template
from solver.intake.analysis import ModelAnalysis
from solver.plan.assignment import Assignment
from solver.plan.context import template_of
from solver.plan.patterns import QuarkPatterns, to_patterns
from solver.plan.reading import as_read
from solver.rules.readers import reader_of
from solver.rules.units import Unit, partition, tie
from tests.quark.architectures import small_config

CATALOG = Catalog()
STACK = "vllm"
EXTRA: dict[str, dict[str, Any]] = {
    "lfm2": {"conv_dim": 128, "block_dim": 128},
    "minimax_m2": {"rotary_dim": 32, "scoring_func": "sigmoid"},
}
"""Fields that vLLM reads and the defaults of transformers lack."""
ARCHITECTURES = (
    "cohere",
    "deepseek_v2",
    "deepseek_v3",
    "deepseek_v32",
    "gemma2",
    "gemma3",
    "gemma3_text",
    "glm4_moe",
    "glm4_moe_lite",
    "glm_moe_dsa",
    "gpt_oss",
    "gptj",
    "granitemoehybrid",
    "hunyuan_v1_dense",
    "lfm2",
    "llama",
    "llama4",
    "minimax_m2",
    "mistral",
    "mixtral",
    "olmo",
    "opt",
    "phi",
    "phi3",
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_5",
    "qwen3_5_moe",
    "qwen3_moe",
    "qwen3_next",
)
DEFAULT = "fp8"
"""What layers have that the stack would not find among the excluded ones."""
EVERY_SCHEME = ("llama", "qwen3_moe")
"""Architectures that are asked about each scheme alone."""

Rule = Callable[[tuple[Unit, ...]], dict[Unit, str]]
"""Gives units their schemes."""

_SPREAD = ("ptpc_fp8", "uint4_wo_32", "mxfp4", "fp8")
"""Schemes that mixed plans take: the layers of the small models have groups of 32."""


@dataclass(frozen=True)
class Plan:
    """A plan of one kind for one architecture, with the scheme of each linear by its full name."""

    architecture: str
    kind: str
    patterns: QuarkPatterns
    schemes: dict[str, str]
    kv_fp8: bool

    @property
    def written(self) -> int:
        """Number of patterns beside the template's own excludes."""
        return self.patterns.beside(template(self.architecture).exclude_layers)


@cache
def analysis(architecture: str) -> ModelAnalysis:
    """Return what the intake says of a small model."""
    with tempfile.TemporaryDirectory() as folder:
        small_config(architecture).save_pretrained(folder)
        return api.analyze(folder, catalog=CATALOG)


def template(architecture: str) -> Template:
    """Return the template of its model type."""
    return template_of(analysis(architecture), CATALOG)


def _role_of(unit: Unit) -> tuple[str, ...]:
    return tuple(sorted({member.family.role for member in unit.members}))


def _by_role(units: tuple[Unit, ...]) -> dict[Unit, str]:
    roles = sorted({_role_of(unit) for unit in units})
    return {unit: _SPREAD[roles.index(_role_of(unit)) % len(_SPREAD)] for unit in units}


def _by_layer(units: tuple[Unit, ...]) -> dict[Unit, str]:
    def scheme(unit: Unit) -> str:
        if unit.first_block == 0:
            return "fp8"
        return "ptpc_fp8" if "down" in _role_of(unit) or unit.first_block % 2 else "uint4_wo_32"

    return {unit: scheme(unit) for unit in units}


def _experts(units: tuple[Unit, ...]) -> dict[Unit, str]:
    return {unit: "mxfp4" if unit.members[0].family.experts else "ptpc_fp8" for unit in units}


def _excludes(units: tuple[Unit, ...]) -> dict[Unit, str]:
    def scheme(unit: Unit) -> str:
        last = max(other.first_block for other in units)
        return NATIVE if unit.first_block == last or "o" in _role_of(unit) else "fp8"

    return {unit: scheme(unit) for unit in units}


def _native_experts(units: tuple[Unit, ...]) -> dict[Unit, str]:
    return {unit: NATIVE if unit.members[0].family.experts else "fp8" for unit in units}


def uniform(scheme: str) -> Rule:
    """Return what gives every unit one scheme."""
    return lambda units: dict.fromkeys(units, scheme)


MIXED: dict[str, Rule] = {
    "by role": _by_role,
    "by layer": _by_layer,
    "experts": _experts,
    "native experts": _native_experts,
    "excludes": _excludes,
    "fp8 cache": _by_role,
    "fp8 cache, by layer": _by_layer,
}


def kinds(architecture: str) -> dict[str, Rule]:
    """Return the kinds of plans of an architecture, each with what it gives each unit."""
    usable = [scheme.name for scheme in CATALOG.schemes if scheme.usable]
    alone = usable if architecture in EVERY_SCHEME else [DEFAULT]
    inventory = analysis(architecture).inventory
    assert inventory is not None
    mixed = {kind: rule for kind, rule in MIXED.items() if "experts" not in kind or inventory.moe is not None}
    return {f"all {scheme}": uniform(scheme) for scheme in alone} | mixed


def plan(architecture: str, kind: str, rule: Rule) -> Plan | None:
    """Return one plan by what gives each unit its scheme; None if nothing is quantized in it."""
    inventory = analysis(architecture).inventory
    assert inventory is not None
    backend, kv_fp8 = CATALOG.backends.get(STACK), kind.startswith("fp8 cache")
    parts = partition(inventory, backend, template(architecture).exclude_layers)
    units = tie(parts.units, template(architecture).kv_layers) if kv_fp8 else parts.units
    schemes = dict.fromkeys(parts.native, NATIVE)
    names = (NATIVE, *(scheme.name for scheme in CATALOG.schemes))
    readable = as_read(dict.fromkeys(units, names), reader_of(backend, template(architecture).model_type))
    for unit, wanted in rule(tuple(readable)).items():
        scheme = wanted if wanted in readable[unit] else DEFAULT
        fits = scheme != NATIVE and all(
            CATALOG.schemes.get(scheme).packs(m.family.in_features, m.family.out_features) for m in unit.members
        )
        open_ = all(m.family.role not in backend.native_only_roles for m in unit.members)
        schemes |= dict.fromkeys(unit.members, scheme if fits and open_ else NATIVE)
    assignment = Assignment(schemes)
    if not assignment.quantized_elements_by_scheme:
        return None
    patterns = to_patterns(
        assignment,
        template(architecture),
        CATALOG,
        template(architecture).exclude_layers,
        kv_fp8=kv_fp8,
        convolutions=inventory.convolutions,
    )
    named = {
        member.family.path(member.block, expert): scheme
        for member, scheme in schemes.items()
        if member.family.quantizable
        for expert in (range(member.family.experts) if member.family.experts else (None,))
    }
    return Plan(architecture, kind, patterns, named, kv_fp8)


def plans(architecture: str) -> dict[str, Plan]:
    """Return all plans of an architecture by kind."""
    found = {kind: plan(architecture, kind, rule) for kind, rule in kinds(architecture).items()}
    return {kind: item for kind, item in found.items() if item is not None}
