"""The table of legal settings against a plain product with the rules applied one by one."""

from itertools import product

import pytest

from solver.catalog import Catalog
from solver.rules.settings import (
    KV_FP8,
    SettingsRequest,
    algorithm_refusal,
    kv_patterns_reach_the_cache,
    kv_refusal,
    legal_settings,
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
    def test_is_complete_and_sound(
        self, model: str, families: frozenset[str], kernel_class: str, analyse: Analyse, catalog: Catalog
    ) -> None:
        analysis = analyse(model)
        assert analysis.inventory is not None
        template, backend = catalog.templates.get(analysis.model.model_type), catalog.backends.get("vllm")
        rows = legal_settings(catalog, template, analysis.inventory, backend, kernel_class, families, SettingsRequest())
        expected = set()
        for algorithm, kv in product([None, *catalog.algorithms], [None, KV_FP8]):
            offered = algorithm is None or (
                algorithm.offered
                and algorithm_refusal(algorithm, template, families) is None
                and bool(families - set(algorithm.breaks))
            )
            cached = kv is None or kv_refusal(template, analysis.inventory, backend, kernel_class) is None
            if offered and cached:
                expected.add(((algorithm.name,) if algorithm else (), kv))
        assert {(row.algorithm_names, row.kv_cache_scheme) for row in rows} == expected
        assert len(rows) == len(expected)

    def test_what_the_user_fixed_is_the_only_row(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = analyse("Qwen/Qwen3-8B").inventory
        assert inventory is not None
        rows = legal_settings(
            catalog,
            catalog.templates.get("qwen3"),
            inventory,
            catalog.backends.get("vllm"),
            "amd_cdna3_gfx942",
            frozenset({"fp8"}),
            SettingsRequest(algorithms=("awq", "smoothquant"), kv_open=False, kv_cache_scheme=None),
        )
        assert [(row.algorithm_names, row.kv_cache_scheme) for row in rows] == [(("awq", "smoothquant"), None)]


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
        inventory = analyse("Qwen/Qwen3-8B").inventory
        assert inventory is not None
        refusal = kv_refusal(catalog.templates.get("qwen3"), inventory, catalog.backends.get("vllm"), "nv_sm80_86")
        assert refusal is not None
        assert "fp8 KV cache" in refusal
