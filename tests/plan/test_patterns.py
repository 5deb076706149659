"""Patterns select exactly what was assigned, on real models, whatever the assignment."""

import random
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solver.catalog import NATIVE, Catalog
from solver.errors import BadInputError, VerificationError
from solver.plan.assignment import Assignment
from solver.plan.context import template_of
from solver.plan.patterns import QuarkPatterns, to_patterns, verify_patterns
from solver.rules.kv_entries import kv_schemes
from solver.rules.patterns import matches
from solver.rules.units import Member, partition, tie
from tests.conftest import Analyse
from tests.plan.reading import scheme_of_path

MODELS = [
    "Qwen/Qwen3-8B",
    "Qwen/Qwen3-30B-A3B",
    "openai/gpt-oss-20b",
    "google/gemma-3-27b-it",
    "deepseek-ai/DeepSeek-V3",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "mistralai/Mixtral-8x7B-v0.1",
    "EleutherAI/gpt-j-6b",
    "ibm-granite/granite-4.0-h-small",
]
SCHEMES = ["uint4_wo_32", "ptpc_fp8", "fp8", "nvfp4", NATIVE]


def independent(patterns: QuarkPatterns, path: str) -> str:
    return scheme_of_path(path, patterns.exclude_layers, patterns.layer_quant_config, patterns.global_scheme)


class TestAnyAssignment:
    @pytest.mark.parametrize("model", MODELS)
    @given(data=st.data())
    @settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_expands_to_itself(self, model: str, data: st.DataObject, analyse: Analyse, catalog: Catalog) -> None:
        analysis = analyse(model)
        assert analysis.inventory is not None
        template = template_of(analysis, catalog)
        kv_fp8 = data.draw(st.booleans())
        parts = partition(analysis.inventory, catalog.backends.get("vllm"), template.exclude_layers)
        units = tie(parts.units, template.kv_layers) if kv_fp8 else parts.units
        schemes = dict.fromkeys(parts.native, NATIVE)
        for unit in units:
            chosen = data.draw(st.sampled_from(SCHEMES))
            schemes.update(dict.fromkeys(unit.members, chosen))
        assignment = Assignment(schemes)
        if not assignment.quantized_elements_by_scheme:
            return
        patterns = to_patterns(assignment, template, catalog, template.exclude_layers, kv_fp8=kv_fp8)
        for member, scheme in schemes.items():
            if member.family.quantizable:
                last = member.family.experts - 1 if member.family.experts else None
                path = member.family.path(member.block, last)
                assert independent(patterns, path) == scheme
                # An export lists patterns by the alphabet, those that Quark adds for the cache among them.
                added = kv_schemes(template.kv_layers, patterns.layer_quant_config, patterns.global_scheme)
                entries = dict(sorted({**(added if kv_fp8 else {}), **patterns.layer_quant_config}.items()))
                assert scheme_of_path(path, patterns.exclude_layers, entries, patterns.global_scheme) == scheme
        assert set(template.exclude_layers) <= set(patterns.exclude_layers)
        assert all("*" in pattern for pattern in patterns.layer_quant_config)


def spans(members: Iterable[Member], draw: random.Random) -> dict[Member, str]:
    """Return a random scheme for each role of a decoder in three spans of its blocks."""
    together = {"q": "qkv", "k": "qkv", "v": "qkv", "gate": "gate_up", "up": "gate_up"}
    drawn: dict[tuple[str, int], str] = {}
    found = {}
    for member in members:
        span = sum(member.block >= start for start in (3, 29)) if member.block is not None else 0
        key = together.get(member.family.role, member.family.role), span
        found[member] = drawn.setdefault(key, draw.choice(SCHEMES[:4]))
    return found


SOME = ("Qwen/Qwen3-8B", "openai/gpt-oss-20b")
LIMITS = ("solver.plan.fewest.DETERMINISTIC_SECONDS", "solver.plan.fewest.MOST_WORK", "solver.plan.patterns.MOST_PLAIN")


def drawn_assignment(model: str, seed: int, analyse: Analyse, catalog: Catalog, *, kv_fp8: bool) -> Assignment:
    """Return a random assignment of a real model, layer by layer as far as vLLM's fusion and a cache allow."""
    analysis = analyse(model)
    assert analysis.inventory is not None
    template, draw = template_of(analysis, catalog), random.Random(seed)
    parts = partition(analysis.inventory, catalog.backends.get("vllm"), template.exclude_layers)
    schemes = dict.fromkeys(parts.native, NATIVE)
    for unit in tie(parts.units, template.kv_layers) if kv_fp8 else parts.units:
        schemes |= dict.fromkeys(unit.members, draw.choice(SCHEMES))
    return Assignment(schemes)


def misread(patterns: QuarkPatterns, assignment: Assignment) -> list[str]:
    """Return the layers, down to single experts, to which patterns give another scheme than is assigned."""
    return [
        path
        for member, scheme in assignment.schemes.items()
        if member.family.quantizable
        for expert in (range(member.family.experts) if member.family.experts else (None,))
        for path in [member.family.path(member.block, expert)]
        if independent(patterns, path) != scheme
    ]


@pytest.mark.parametrize("kv_fp8", [False, True])
@pytest.mark.parametrize(
    "model", [pytest.param(name, marks=() if name in SOME else pytest.mark.slow) for name in MODELS]
)
class TestWhereTheSearchFindsNothing:
    @pytest.mark.parametrize("limit", LIMITS)
    def test_patterns_are_exact(
        self, limit: str, model: str, kv_fp8: bool, analyse: Analyse, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limit, 0)
        assignment, template = (
            drawn_assignment(model, 5, analyse, catalog, kv_fp8=kv_fp8),
            template_of(analyse(model), catalog),
        )
        patterns = to_patterns(assignment, template, catalog, template.exclude_layers, kv_fp8=kv_fp8)
        assert misread(patterns, assignment) == []

    def test_and_the_plain_ones_are_wrong_layers_are_written_by_name(
        self, model: str, kv_fp8: bool, analyse: Analyse, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assignment, template = (
            drawn_assignment(model, 5, analyse, catalog, kv_fp8=kv_fp8),
            template_of(analyse(model), catalog),
        )

        def wrong(_assignment: Any, _template: Any, globals_: Any, excludes: Any, **_: Any) -> QuarkPatterns:
            return QuarkPatterns(globals_[0], tuple(excludes), {})

        monkeypatch.setattr("solver.plan.patterns.plain_patterns", wrong)
        monkeypatch.setattr("solver.plan.patterns.MOST_PLAIN", -1)
        patterns = to_patterns(assignment, template, catalog, template.exclude_layers, kv_fp8=kv_fp8)
        assert misread(patterns, assignment) == []
        assert all(pattern.startswith("*") for pattern in patterns.layer_quant_config)
        verify_patterns(patterns, assignment, template.kv_layers if kv_fp8 else ())


class TestTheOrderOfAnAssignment:
    @pytest.mark.parametrize("seed", [12, 23])
    def test_changes_nothing_where_the_search_ends_early(
        self, seed: int, analyse: Analyse, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("solver.plan.fewest.DETERMINISTIC_SECONDS", 0.01)
        inventory = analyse("Qwen/Qwen3-8B").inventory
        assert inventory is not None
        template, draw = catalog.templates.get("qwen3"), random.Random(seed)
        units = partition(inventory, catalog.backends.get("vllm"), template.exclude_layers).units
        schemes = spans((member for unit in units for member in unit.members), draw)
        found = []
        for _ in range(3):
            shuffled = dict(draw.sample(sorted(schemes.items(), key=str), len(schemes)))
            patterns = to_patterns(Assignment(shuffled), template, catalog, template.exclude_layers, kv_fp8=False)
            found.append((patterns, patterns.fewest, list(patterns.layer_quant_config)))
        assert found[0] == found[1] == found[2]


class TestReadability:
    @pytest.fixture
    def qwen(self, analyse: Analyse, catalog: Catalog) -> list[Member]:
        inventory = analyse("Qwen/Qwen3-8B").inventory
        assert inventory is not None
        units = partition(inventory, catalog.backends.get("vllm"), ("lm_head",)).units
        return [member for unit in units for member in unit.members]

    def write(self, schemes: dict[Member, str], catalog: Catalog, *, kv_fp8: bool = False) -> QuarkPatterns:
        template = catalog.templates.get("qwen3")
        return to_patterns(Assignment(schemes), template, catalog, template.exclude_layers, kv_fp8=kv_fp8)

    def test_one_scheme_needs_no_entry(self, qwen: list[Member], catalog: Catalog) -> None:
        patterns = self.write(dict.fromkeys(qwen, "ptpc_fp8"), catalog)
        assert patterns == QuarkPatterns("ptpc_fp8", ("lm_head",), {})

    def test_one_scheme_with_an_fp8_cache_needs_no_entry(self, qwen: list[Member], catalog: Catalog) -> None:
        assert self.write(dict.fromkeys(qwen, "ptpc_fp8"), catalog, kv_fp8=True).layer_quant_config == {}

    def test_attention_apart_is_one_entry(self, qwen: list[Member], catalog: Catalog) -> None:
        schemes = {m: "ptpc_fp8" if "self_attn" in m.family.name else "uint4_wo_32" for m in qwen}
        assert self.write(schemes, catalog).layer_quant_config == {"*self_attn.*": "ptpc_fp8"}

    def test_the_first_blocks_of_one_role_are_one_entry(self, qwen: list[Member], catalog: Catalog) -> None:
        early = {m for m in qwen if m.family.role == "down" and m.block is not None and m.block < 4}
        patterns = self.write({m: "ptpc_fp8" if m in early else "uint4_wo_32" for m in qwen}, catalog)
        assert patterns.layer_quant_config == {"*layers.[0-3].mlp.down_proj": "ptpc_fp8"}

    def test_an_fp8_cache_needs_no_entry_where_no_other_speaks_of_attention(
        self, qwen: list[Member], catalog: Catalog
    ) -> None:
        schemes = {m: "ptpc_fp8" if m.family.role == "o" else "uint4_wo_32" for m in qwen}
        assert self.write(schemes, catalog, kv_fp8=True).layer_quant_config == {"*o_proj": "ptpc_fp8"}

    def test_an_fp8_cache_needs_entries_where_another_would_decide_its_layers(
        self, qwen: list[Member], catalog: Catalog
    ) -> None:
        first = {m for m in qwen if m.block == 0 and m.family.role not in {"k", "v"}}
        schemes = {m: "ptpc_fp8" if m in first else "uint4_wo_32" for m in qwen}
        patterns = self.write(schemes, catalog, kv_fp8=True)
        assert patterns.fewest
        cached = kv_schemes(("*k_proj", "*v_proj"), patterns.layer_quant_config, patterns.global_scheme)
        assert cached == {"*k_proj": "uint4_wo_32", "*v_proj": "uint4_wo_32"}

    def test_an_fp8_cache_needs_an_entry_where_quarks_own_entry_would_decide(
        self, analyse: Analyse, catalog: Catalog
    ) -> None:
        inventory = analyse("LiquidAI/LFM2-1.2B").inventory
        assert inventory is not None
        template = catalog.templates.get("lfm2")
        assert template.kv_layers == ("*self_attn.k_proj", "*self_attn.v_proj")
        parts = partition(inventory, catalog.backends.get("none"), template.exclude_layers)
        members = [member for unit in parts.units for member in unit.members]
        schemes = dict.fromkeys(parts.native, NATIVE) | {m: "int8" if m.family.role == "k" else "fp8" for m in members}
        patterns = to_patterns(Assignment(schemes), template, catalog, template.exclude_layers, kv_fp8=True)
        cached = kv_schemes(template.kv_layers, patterns.layer_quant_config, patterns.global_scheme)
        assert list(cached.values()) == ["int8", "fp8"]
        # One for k alone would leave v to what Quark writes of k.
        assert (len(patterns.layer_quant_config), patterns.fewest) == (2, True)

    def test_nvfp4_is_not_global_beside_fp8(self, qwen: list[Member], catalog: Catalog) -> None:
        schemes = {m: "fp8" if m.family.role in {"q", "k", "v"} else "nvfp4" for m in qwen}
        assert self.write(schemes, catalog).global_scheme == "fp8"

    def test_a_plan_without_any_scheme_is_refused(self, qwen: list[Member], catalog: Catalog) -> None:
        with pytest.raises(BadInputError, match="no layer is quantized"):
            self.write(dict.fromkeys(qwen, NATIVE), catalog)

    def test_patterns_that_select_something_else_are_caught(self, qwen: list[Member]) -> None:
        wrong = QuarkPatterns("ptpc_fp8", ("lm_head",), {"*layers.1*": "fp8"})
        with pytest.raises(VerificationError, match=r"layers\.1\."):
            verify_patterns(wrong, Assignment(dict.fromkeys(qwen, "ptpc_fp8")))


class TestExpertPatterns:
    def test_name_experts_by_their_parent(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = analyse("Qwen/Qwen3-30B-A3B").inventory
        assert inventory is not None
        template = catalog.templates.get("qwen3_moe")
        units = partition(inventory, catalog.backends.get("vllm"), template.exclude_layers)
        schemes = {m: "uint4_wo_32" if m.family.experts else "ptpc_fp8" for u in units.units for m in u.members}
        schemes |= dict.fromkeys(units.native, NATIVE)
        patterns = to_patterns(Assignment(schemes), template, catalog, template.exclude_layers, kv_fp8=False)
        # vLLM looks experts up by the name of the module that holds them all.
        parent = "model.layers.7.mlp.experts"
        assert independent(patterns, parent) == independent(patterns, f"{parent}.5.down_proj") == "uint4_wo_32"

    def test_a_pattern_for_one_expert_is_seen(self, analyse: Analyse) -> None:
        inventory = analyse("Qwen/Qwen3-30B-A3B").inventory
        assert inventory is not None
        experts = next(family for family in inventory.layers if family.experts)
        assert matches("*experts.127.*", experts, 0)
        assert not matches("*experts.128.*", experts, 0)
