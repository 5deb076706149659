"""The table of legal settings against a plain product with the rules applied one by one."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from solver.catalog import Catalog
from solver.catalog.template import Template
from solver.rules.settings import (
    KV_FP8,
    Settings,
    SettingsRequest,
    Target,
    kv_patterns_reach_the_cache,
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


@pytest.fixture
def broken(analyse: Analyse, catalog: Catalog) -> Callable[..., set[str]]:
    """Return the rules that forbid algorithms for scheme families and a template."""

    def rules(algorithms: str, families: str, template: str = "llama") -> set[str]:
        case = replace(target(catalog, analyse, families=families), template=catalog.templates.get(template))
        row = Settings(tuple(catalog.algorithms.get(name) for name in algorithms.split()), None)
        return {refusal.rule for refusal in settings_refusals(row, case)}

    return rules


class TestAlgorithmIsConfigured:
    def test_allows_what_the_template_has(self, broken: Callable[..., set[str]]) -> None:
        assert broken("awq", "int4_weight_only") == set()
        assert broken("smoothquant", "int8", "cohere") == set()

    def test_forbids_what_it_lacks(self, broken: Callable[..., set[str]]) -> None:
        assert broken("awq", "int4_weight_only", "qwen3") == {"algorithm-is-configured"}
        assert broken("rotation", "int8", "cohere") == {"algorithm-is-configured"}

    def test_one_of_two_is_enough_to_forbid(self, broken: Callable[..., set[str]]) -> None:
        assert broken("smoothquant awq", "int4_weight_only int8", "cohere") == {"algorithm-is-configured"}

    def test_does_not_apply_to_plain_rounding(self, broken: Callable[..., set[str]]) -> None:
        assert broken("", "fp8", "qwen3") == set()


class TestAlgorithmFitsAScheme:
    def test_allows_where_one_family_fits(self, broken: Callable[..., set[str]]) -> None:
        assert broken("awq", "fp8 int4_weight_only") == set()

    def test_forbids_where_none_does(self, broken: Callable[..., set[str]]) -> None:
        assert broken("awq", "fp8") == {"algorithm-fits-a-scheme"}

    def test_each_algorithm_needs_its_own(self, broken: Callable[..., set[str]]) -> None:
        assert broken("smoothquant awq", "int8 int4_weight_only") == set()
        assert broken("smoothquant awq", "int8") == {"algorithm-fits-a-scheme"}

    def test_does_not_apply_to_plain_rounding(self, broken: Callable[..., set[str]]) -> None:
        assert broken("", "nvfp4") == set()


class TestAlgorithmRunsWithAllSchemes:
    def test_allows_where_some_family_survives(self, broken: Callable[..., set[str]]) -> None:
        assert broken("gptq", "uint4_weight_only nvfp4") == set()

    def test_forbids_where_none_does(self, broken: Callable[..., set[str]]) -> None:
        assert "algorithm-runs-with-all-schemes" in broken("gptq", "nvfp4")

    @pytest.mark.parametrize(("algorithm", "crashes"), [("awq", False), ("gptq", True), ("smoothquant", False)])
    def test_six_bits_survive_some(self, algorithm: str, crashes: bool, broken: Callable[..., set[str]]) -> None:
        assert ("algorithm-runs-with-all-schemes" in broken(algorithm, "mxfp6")) is crashes

    def test_does_not_apply_where_no_scheme_is_left_anyhow(self, broken: Callable[..., set[str]]) -> None:
        assert "algorithm-runs-with-all-schemes" not in broken("gptq", "")


class TestAttentionIsServed:
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


class TestOneExportFormat:
    def test_a_stack_that_reads_gguf_reads_nothing_else(self, analyse: Analyse, catalog: Catalog) -> None:
        case = replace(target(catalog, analyse), backend=catalog.backends.get("llama_cpp"))
        assert settings_refusals(Settings((), None, "gguf"), case) == []
        assert [r.rule for r in settings_refusals(Settings((), None, "quark"), case)] == ["one-export-format"]

    def test_a_stack_that_reads_nothing_of_quark_yields_to_force(self, analyse: Analyse, catalog: Catalog) -> None:
        case = replace(target(catalog, analyse), backend=catalog.backends.get("tensorrt_llm"))
        assert legal_settings(catalog, case, SettingsRequest()) == []
        assert [row.export_format for row in legal_settings(catalog, case, SettingsRequest(forced=True))] == ["quark"]


class TestKvPatternsReachTheCache:
    def test_patterns_of_a_plain_decoder_reach_it(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = analyse("Qwen/Qwen3-8B").inventory
        assert inventory is not None
        assert kv_patterns_reach_the_cache(catalog.templates.get("qwen3"), inventory)

    def test_a_pattern_that_hits_other_layers_does_not_count(self, analyse: Analyse, catalog: Catalog) -> None:
        # The template of qwen3_next names `*qkvz`: the linear attention, whose state is not quantized.
        inventory = analyse("Qwen/Qwen3-Next-80B-A3B-Instruct").inventory
        assert inventory is not None
        assert not kv_patterns_reach_the_cache(catalog.templates.get("qwen3_next"), inventory)

    def test_does_not_apply_to_a_cache_in_the_models_type(self, analyse: Analyse, catalog: Catalog) -> None:
        bare = replace(target(catalog, analyse), template=replace_kv_layers(catalog.templates.get("qwen3")))
        assert settings_refusals(Settings((), None), bare, {"kv"}) == []
        refused = settings_refusals(Settings((), KV_FP8), bare, {"kv"})
        assert [refusal.rule for refusal in refused] == ["kv-patterns-reach-the-cache"]


def replace_kv_layers(template: Template) -> Template:
    """Return a template that names no layers for the cache."""
    return template.model_copy(update={"kv_layers": ()})


class TestKvCacheRuns:
    @pytest.mark.parametrize(
        ("kernel_class", "runs"), [("amd_cdna3_gfx942", True), ("nv_sm89", True), ("nv_sm80_86", False)]
    )
    def test_follows_the_device(self, kernel_class: str, runs: bool, analyse: Analyse, catalog: Catalog) -> None:
        case = target(catalog, analyse, kernel_class=kernel_class)
        refused = settings_refusals(Settings((), KV_FP8), case, {"kv"})
        assert [refusal.rule for refusal in refused] == ([] if runs else ["kv-cache-runs"])

    def test_does_not_apply_where_nothing_serves(self, analyse: Analyse, catalog: Catalog) -> None:
        case = replace(target(catalog, analyse, kernel_class="nv_sm80_86"), backend=catalog.backends.get("none"))
        assert settings_refusals(Settings((), KV_FP8), case, {"kv"}) == []

    def test_does_not_apply_to_a_cache_in_the_models_type(self, analyse: Analyse, catalog: Catalog) -> None:
        case = target(catalog, analyse, kernel_class="nv_sm80_86")
        assert settings_refusals(Settings((), None), case, {"kv"}) == []
