"""The table of legal settings against a plain product with the rules applied one by one."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from solver.catalog import Catalog
from solver.rules.settings import (
    KV_FP8,
    Settings,
    SettingsRequest,
    Target,
    kv_patterns_reach_the_cache,
    kv_refusals,
    legal_settings,
    settings_refusals,
)
from tests.conftest import Analyse

FAMILIES = [
    frozenset({"fp8"}),
    frozenset({"int4_weight_only", "uint4_weight_only", "fp8"}),
    frozenset({"nvfp4"}),
    frozenset({"mxfp4", "fp8"}),
    frozenset({"int8", "fp8", "uint4_weight_only", "int4_fp8", "mxfp4"}),
]
MODELS = ["Qwen/Qwen3-8B", "meta-llama/Llama-3.1-70B", "openai/gpt-oss-20b", "deepseek-ai/DeepSeek-V3"]


class TestTable:
    @pytest.mark.parametrize("families", FAMILIES)
    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("kernel_class", ["amd_cdna3_gfx942", "nv_sm80_86"])
    @pytest.mark.parametrize("stack", ["vllm", "llama_cpp", "tensorrt_llm"])
    def test_is_complete_and_sound(
        self, model: str, families: frozenset[str], kernel_class: str, stack: str, analyse: Analyse, catalog: Catalog
    ) -> None:
        analysis = analyse(model)
        assert analysis.inventory is not None
        template, backend = catalog.templates.get(analysis.model.model_type), catalog.backends.get(stack)
        target = Target(template, analysis.inventory, backend, kernel_class, families)
        rows = legal_settings(catalog, target, SettingsRequest())
        expected = set()
        for algorithm, kv, export in product([None, *catalog.algorithms], [None, KV_FP8], ["quark", "gguf"]):
            offered = algorithm is None or (
                algorithm.offered
                and algorithm.name in template.algorithms
                and bool(families & set(algorithm.fits))
                and bool(families - set(algorithm.breaks))
            )
            cached = kv is None or (
                kernel_class in backend.kv_cache_fp8 and kv_patterns_reach_the_cache(template, analysis.inventory)
            )
            if offered and cached and export in backend.loads:
                expected.add(((algorithm.name,) if algorithm else (), kv, export))
        assert {(row.algorithm_names, row.kv_cache_scheme, row.export_format) for row in rows} == expected
        assert len(rows) == len(expected)


def target(
    catalog: Catalog, analyse: Analyse, *, families: str = "fp8", kernel_class: str = "amd_cdna3_gfx942"
) -> Target:
    """Return Qwen3-8B under vLLM, with schemes of these families allowed."""
    inventory = analyse("Qwen/Qwen3-8B").inventory
    assert inventory is not None
    template, backend = catalog.templates.get("qwen3"), catalog.backends.get("vllm")
    return Target(template, inventory, backend, kernel_class, frozenset(families.split()))


class TestNamedSettings:
    def test_are_the_only_row(self, analyse: Analyse, catalog: Catalog) -> None:
        named = SettingsRequest(algorithms=("awq", "smoothquant"), kv_open=False)
        rows = legal_settings(catalog, target(catalog, analyse), named)
        assert [(row.algorithm_names, row.kv_cache_scheme) for row in rows] == [(("awq", "smoothquant"), None)]

    def test_excuse_no_other_choice(self, analyse: Analyse, catalog: Catalog) -> None:
        ampere = target(catalog, analyse, kernel_class="nv_sm80_86")
        rows = legal_settings(catalog, ampere, SettingsRequest(algorithms=("awq",)))
        assert {row.kv_cache_scheme for row in rows} == {None}

    def test_that_cannot_run_leave_no_row(self, analyse: Analyse, catalog: Catalog) -> None:
        only = target(catalog, analyse, families="nvfp4")
        assert legal_settings(catalog, only, SettingsRequest(algorithms=("gptq",), forced=True)) == []

    def test_that_only_the_device_refuses_yield_to_force(self, analyse: Analyse, catalog: Catalog) -> None:
        ampere = target(catalog, analyse, kernel_class="nv_sm80_86")
        named = SettingsRequest(kv_open=False, kv_cache_scheme=KV_FP8)
        assert legal_settings(catalog, ampere, named) == []
        forced = legal_settings(catalog, ampere, replace(named, forced=True))
        assert {row.kv_cache_scheme for row in forced} == {KV_FP8}


class TestAlgorithms:
    @pytest.fixture
    def broken(self, analyse: Analyse, catalog: Catalog) -> Callable[..., set[str]]:
        """Return the rules that forbid an algorithm for a template and scheme families."""

        def rules(algorithm: str, families: str, template: str = "llama") -> set[str]:
            case = replace(target(catalog, analyse, families=families), template=catalog.templates.get(template))
            row = Settings((catalog.algorithms.get(algorithm),), None)
            return {refusal.rule for refusal in settings_refusals(row, case)}

        return rules

    @pytest.mark.parametrize(
        ("algorithm", "families", "template", "rules"),
        [
            ("awq", "int4_weight_only fp8", "llama", set()),
            ("awq", "int4_weight_only fp8", "qwen3", {"algorithm-is-configured"}),
            ("awq", "fp8", "llama", {"algorithm-fits-a-scheme"}),
            ("gptq", "uint4_weight_only nvfp4", "llama", set()),
            ("gptq", "nvfp4", "llama", {"algorithm-fits-a-scheme", "algorithm-runs-with-all-schemes"}),
            ("smoothquant", "int8", "cohere", set()),
            ("rotation", "int8", "cohere", {"algorithm-is-configured"}),
        ],
    )
    def test_are_judged_one_by_one(
        self, algorithm: str, families: str, template: str, rules: set[str], broken: Callable[..., set[str]]
    ) -> None:
        assert broken(algorithm, families, template) == rules

    def test_none_is_always_legal(self, analyse: Analyse, catalog: Catalog) -> None:
        assert settings_refusals(Settings((), None), target(catalog, analyse)) == []


class TestAttention:
    def test_in_fp8_is_loaded_by_no_serving_stack(self, analyse: Analyse, catalog: Catalog) -> None:
        row = Settings((), None, attention_scheme="fp8")
        assert [r.rule for r in settings_refusals(row, target(catalog, analyse))] == ["attention-is-served"]

    def test_in_fp8_is_open_where_nothing_serves(self, analyse: Analyse, catalog: Catalog) -> None:
        row = Settings((), None, attention_scheme="fp8")
        case = replace(target(catalog, analyse), backend=catalog.backends.get("none"))
        assert settings_refusals(row, case) == []

    def test_that_is_named_is_kept_in_every_row(self, analyse: Analyse, catalog: Catalog) -> None:
        rows = legal_settings(catalog, target(catalog, analyse), SettingsRequest(attention_scheme="fp8"))
        assert {row.attention_scheme for row in rows} == {"fp8"}

    def test_unnamed_stays_in_the_models_type(self, analyse: Analyse, catalog: Catalog) -> None:
        rows = legal_settings(catalog, target(catalog, analyse), SettingsRequest())
        assert {row.attention_scheme for row in rows} == {None}


class TestExport:
    def test_a_stack_that_reads_gguf_reads_nothing_else(self, analyse: Analyse, catalog: Catalog) -> None:
        case = replace(target(catalog, analyse), backend=catalog.backends.get("llama_cpp"))
        assert settings_refusals(Settings((), None, "gguf"), case) == []
        assert [r.rule for r in settings_refusals(Settings((), None, "quark"), case)] == ["one-export-format"]

    def test_a_stack_that_reads_nothing_of_quark_yields_to_force(self, analyse: Analyse, catalog: Catalog) -> None:
        case = replace(target(catalog, analyse), backend=catalog.backends.get("tensorrt_llm"))
        assert legal_settings(catalog, case, SettingsRequest()) == []
        assert [row.export_format for row in legal_settings(catalog, case, SettingsRequest(forced=True))] == ["quark"]


class TestKvCache:
    def test_patterns_of_a_plain_decoder_reach_it(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = analyse("Qwen/Qwen3-8B").inventory
        assert inventory is not None
        assert kv_patterns_reach_the_cache(catalog.templates.get("qwen3"), inventory)

    def test_a_pattern_that_hits_other_layers_does_not_count(self, analyse: Analyse, catalog: Catalog) -> None:
        # The template of qwen3_next names `*qkvz`: the linear attention, whose state is not quantized.
        inventory = analyse("Qwen/Qwen3-Next-80B-A3B-Instruct").inventory
        assert inventory is not None
        assert not kv_patterns_reach_the_cache(catalog.templates.get("qwen3_next"), inventory)

    def test_hardware_without_an_fp8_cache_is_refused(self, analyse: Analyse, catalog: Catalog) -> None:
        ampere = target(catalog, analyse, kernel_class="nv_sm80_86")
        assert [refusal.rule for refusal in kv_refusals(ampere, KV_FP8)] == ["kv-cache-runs"]
        assert kv_refusals(ampere, None) == []
