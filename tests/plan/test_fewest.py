"""The fewest patterns, against enumeration of all sets of candidates in all orders, and against plain reading."""

from collections.abc import Iterator
from itertools import combinations, permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solver.catalog import NATIVE, Catalog
from solver.intake.inventory import LayerFamily
from solver.intake.record import BlockRange
from solver.plan.assignment import Assignment
from solver.plan.candidates import find_candidates
from solver.plan.context import template_of
from solver.plan.fewest import Task, choose
from solver.plan.patterns import to_patterns
from solver.plan.rows import rows_of
from solver.rules.readers import readers_of
from solver.rules.units import Member, partition
from tests.conftest import Analyse
from tests.plan.reading import scheme_of_path

SCHEMES = ("fp8", "uint4_wo_32", NATIVE)
LEAVES = ("self_attn.q_proj", "self_attn.o_proj", "mlp.down_proj")
ARCHITECTURES = (
    "CohereForAI/c4ai-command-r-v01",
    "EleutherAI/gpt-j-6b",
    "HuggingFaceTB/SmolLM2-135M-Instruct",
    "LiquidAI/LFM2-1.2B",
    "Qwen/Qwen2.5-0.5B",
    "Qwen/Qwen3-0.6B",
    "Qwen/Qwen3-235B-A22B",
    "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "Qwen/Qwen3.5-27B",
    "deepseek-ai/DeepSeek-V2-Lite",
    "deepseek-ai/DeepSeek-V3",
    "google/gemma-2-9b",
    "google/gemma-3-27b-it",
    "ibm-granite/granite-4.0-h-small",
    "meta-llama/Llama-3.1-70B",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "mistralai/Mistral-7B-v0.1",
    "mistralai/Mixtral-8x7B-v0.1",
    "openai/gpt-oss-20b",
    "zai-org/GLM-4.5-Air",
)


def tiny_layers() -> list[Member]:
    """Return three leaves in three blocks."""
    families = [
        LayerFamily(
            name=f"model.layers.{{block}}.{leaf}",
            role="other",
            in_features=64,
            out_features=64,
            blocks=(BlockRange(first=0, last=2),),
        )
        for leaf in LEAVES
    ]
    return [Member(family, block) for block in range(3) for family in families]


def lists_of(patterns: list[tuple[str, str]], size: int) -> Iterator[tuple[tuple[str, str], ...]]:
    for chosen in combinations(patterns, size):
        excludes = [item for item in chosen if item[1] == NATIVE]
        for ordered in permutations([item for item in chosen if item[1] != NATIVE]):
            yield (*excludes, *ordered)


def writes(plan: tuple[tuple[str, str], ...], schemes: dict[str, str]) -> bool:
    """Judge whether some global scheme makes a list of patterns say what is wanted, read plainly."""
    excludes = [pattern for pattern, scheme in plan if scheme == NATIVE]
    entries = {pattern: scheme for pattern, scheme in plan if scheme != NATIVE}
    return any(
        all(scheme_of_path(path, excludes, entries, name) == scheme for path, scheme in schemes.items())
        for name in set(schemes.values()) - {NATIVE}
    )


class TestAgainstEnumeration:
    @given(st.lists(st.sampled_from(SCHEMES), min_size=9, max_size=9))
    @settings(max_examples=80, deadline=None, derandomize=True)
    def test_no_smaller_set_of_candidates_in_any_order_writes_a_tiny_plan(self, drawn: list[str]) -> None:
        assignment = Assignment(dict(zip(tiny_layers(), drawn, strict=True)))
        if not assignment.quantized_elements_by_scheme:
            return
        rows = rows_of(assignment, (), ())
        task = Task(rows, find_candidates(rows, ()), list(assignment.quantized_elements_by_scheme), {})
        found = choose(task)
        assert found.selection is not None
        schemes = {member.family.path(member.block): scheme for member, scheme in assignment.schemes.items()}
        size = len(found.selection.excludes) + len(found.selection.entries)
        plan = (*((pattern, NATIVE) for pattern in found.selection.excludes), *found.selection.entries.items())
        assert writes(plan, schemes)
        assert found.proven
        patterns = [(candidate.pattern, candidate.scheme) for candidate in task.candidates]
        # Sets of four have too many orders to try them all.
        for smaller in range(min(size, 4)):
            assert not any(writes(plan, schemes) for plan in lists_of(patterns, smaller))

    def test_a_limit_that_cannot_be_kept_is_proven(self) -> None:
        layers = tiny_layers()
        schemes = {m: "fp8" if m.family.name.endswith("o_proj") else "uint4_wo_32" for m in layers}
        rows = rows_of(Assignment(schemes), (), ())
        task = Task(rows, find_candidates(rows, ()), ["fp8", "uint4_wo_32"], {})
        assert choose(task, at_most=0) == type(choose(task))(None, proven=True)
        assert choose(task, at_most=1).selection is not None


@st.composite
def shapes(draw: st.DrawFn, members: list[tuple[Member, ...]]) -> dict[Member, str]:
    """Draw a plan as plans are: a scheme by role, another for some blocks of some roles, whole blocks apart."""
    names = draw(st.lists(st.sampled_from(SCHEMES), min_size=2, max_size=3, unique=True))
    by_role = {}
    blocks = draw(st.sets(st.integers(0, 30), max_size=4))
    cut = draw(st.integers(0, 30))
    schemes: dict[Member, str] = {}
    for unit in members:
        role = tuple(sorted({member.family.role for member in unit}))
        if role not in by_role:
            by_role[role] = (draw(st.sampled_from(names)), draw(st.sampled_from(names)), draw(st.booleans()))
        early, late, apart = by_role[role]
        block = min(-1 if member.block is None else member.block for member in unit)
        name = names[0] if apart and block in blocks else early if block < cut else late
        schemes |= dict.fromkeys(unit, name)
    return schemes


class TestRealArchitectures:
    @pytest.mark.parametrize("model", ARCHITECTURES)
    @given(data=st.data())
    @settings(max_examples=3, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def test_patterns_give_the_plan_back(
        self, model: str, data: st.DataObject, analyse: Analyse, catalog: Catalog
    ) -> None:
        analysis = analyse(model)
        assert analysis.inventory is not None
        template = template_of(analysis, catalog)
        parts = partition(analysis.inventory, catalog.backends.get("vllm"), template.exclude_layers)
        schemes = dict.fromkeys(parts.native, NATIVE) | data.draw(shapes([unit.members for unit in parts.units]))
        assignment = Assignment(schemes)
        if not assignment.quantized_elements_by_scheme:
            return
        patterns = to_patterns(assignment, template, catalog, template.exclude_layers, kv_fp8=False)
        fields = (patterns.exclude_layers, patterns.layer_quant_config, patterns.global_scheme)
        for member, scheme in schemes.items():
            if member.family.quantizable:
                for expert in {0, member.family.experts - 1} if member.family.experts else {None}:
                    assert scheme_of_path(member.family.path(member.block, expert), *fields) == scheme
        assert "model.embed_tokens" not in patterns.layer_quant_config
        assert scheme_of_path("model.embed_tokens", (), patterns.layer_quant_config, NATIVE) == NATIVE


class TestStackNames:
    def test_attention_of_gpt_oss_is_named_as_vllm_finds_it(self, analyse: Analyse, catalog: Catalog) -> None:
        analysis = analyse("openai/gpt-oss-20b")
        assert analysis.inventory is not None
        parts = partition(analysis.inventory, catalog.backends.get("vllm"), ("lm_head", "*router*"))
        schemes = dict.fromkeys(parts.native, NATIVE)
        for unit in parts.units:
            attention = "self_attn" in unit.members[0].family.name
            schemes |= dict.fromkeys(unit.members, "fp8" if attention else "mxfp4")
        template = template_of(analysis, catalog)
        patterns = to_patterns(Assignment(schemes), template, catalog, template.exclude_layers, kv_fp8=False)
        assert patterns.fewest
        # vLLM calls the module attn, and rewrites `.self_attn.` in patterns but not `*self_attn.*`.
        reading = (patterns.layer_quant_config, patterns.global_scheme)
        assert scheme_of_path("model.layers.3.attn.q_proj", (), *reading) == "fp8"
        assert scheme_of_path("model.layers.3.mlp.experts", (), *reading) == "mxfp4"

    def test_every_stack_that_loads_quarks_exports_by_patterns_has_a_reader(self, catalog: Catalog) -> None:
        assert {reader.stack for reader in readers_of(catalog, "llama")} == {"vllm", "sglang"}
