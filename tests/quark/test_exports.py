"""Checkpoints that Quark really writes hold the tensors and the bytes that plans say, to the last byte."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from solver import api
from solver.catalog import NATIVE, Catalog
from solver.plan.context import template_of
from tests.quark.architectures import FURTHER
from tests.quark.conftest import SolveTiny, Tiny, TinyModel
from tests.quark.exports import (
    Tensor,
    export,
    native_layers,
    predicted_bytes,
    predicted_layers,
    size_of,
    tensors_in,
    uniform,
)
from tests.quark.real import config_of, linears, planned
from tests.quark.tiny import TEMPLATED

pytestmark = [pytest.mark.usefixtures("quark"), pytest.mark.filterwarnings("ignore")]

SCHEMES = {scheme.name: scheme for scheme in Catalog().schemes}
EXPORTABLE = [name for name, scheme in SCHEMES.items() if not scheme.not_exportable]
TEMPLATES = {template.model_type for template in Catalog().templates}
SMOLLM2 = "HuggingFaceTB/SmolLM2-135M-Instruct"

Check = Callable[..., dict[str, Tensor]]


@pytest.fixture(scope="session")
def model_of(quark: Any, tiny: Tiny, catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """Return a small model by architecture, and two blocks of SmolLM2-135M in their real widths by its name."""

    @cache
    def smollm2() -> TinyModel:
        import torch
        import transformers

        config = transformers.LlamaConfig(**{**catalog.models.get(SMOLLM2).config, "num_hidden_layers": 2})
        folder = tmp_path_factory.mktemp("smollm2")
        config.save_pretrained(folder)
        torch.manual_seed(0)
        model = transformers.LlamaForCausalLM._from_config(config, dtype=torch.bfloat16)
        return TinyModel(SMOLLM2, str(folder), api.analyze(str(folder), catalog=catalog), model)

    return lambda name: smollm2() if name == SMOLLM2 else tiny(name)


@pytest.fixture
def check(catalog: Catalog, tmp_path: Path) -> Check:
    """Return a check of an export against the schemes of its linears; it returns the exported tensors."""

    def exported_as_predicted(small: TinyModel, config: Any, schemes: dict[str, str], *, kv: bool) -> dict[str, Tensor]:
        patterns = template_of(small.analysis, catalog).kv_layers if kv else ()
        tensors = export(small.model, config, tmp_path)
        of_linears = {name: tensor for name, tensor in tensors.items() if name.rpartition(".")[0] in schemes}
        assert of_linears == predicted_layers(small.inventory, schemes, patterns, catalog)
        assert size_of(tensors) - predicted_bytes(small.inventory, schemes, patterns, catalog) == 0
        return tensors

    return exported_as_predicted


@pytest.mark.slow
class TestOneScheme:
    @pytest.mark.parametrize("kv", [None, "fp8"])
    @pytest.mark.parametrize("name", EXPORTABLE)
    @pytest.mark.parametrize("model", [SMOLLM2, "qwen3_moe", "gpt_oss", "deepseek_v2", "deepseek_v3"])
    def test_is_written_as_predicted(
        self, model: str, name: str, kv: str | None, model_of: Tiny, catalog: Catalog, check: Check, llm_template: Any
    ) -> None:
        small, scheme = model_of(model), SCHEMES[name]
        template = template_of(small.analysis, catalog)
        excludes = native_layers(small.inventory, scheme, template)
        config = llm_template.get(template.model_type).get_config(
            scheme=name, kv_cache_scheme=kv, exclude_layers=excludes
        )
        check(small, config, uniform(small.inventory, scheme, template), kv=kv is not None)

    @pytest.mark.parametrize("name", sorted(set(SCHEMES) - set(EXPORTABLE)))
    def test_that_cannot_be_packed_leaves_no_weights(
        self, name: str, model_of: Tiny, tmp_path: Path, llm_template: Any
    ) -> None:
        config = llm_template.get("llama").get_config(scheme=name)
        with pytest.raises((AssertionError, ValueError)):
            export(model_of(SMOLLM2).model, config, tmp_path)
        assert tensors_in(tmp_path) == {}
        assert SCHEMES[name].size_bytes(128, 128, 2) == 0
        assert not SCHEMES[name].usable


@pytest.mark.slow
class TestEveryModel:
    @pytest.mark.parametrize("name", [name for name in (*TEMPLATED, *FURTHER) if name in TEMPLATES])
    def test_keeps_what_is_no_linear_as_predicted(
        self, name: str, model_of: Tiny, catalog: Catalog, check: Check, llm_template: Any
    ) -> None:
        small, scheme = model_of(name), SCHEMES["ptpc_fp8"]
        template = template_of(small.analysis, catalog)
        excludes = [*native_layers(small.inventory, scheme, template), *small.inventory.convolutions]
        config = llm_template.get(name).get_config(scheme=scheme.name, exclude_layers=excludes)
        check(small, config, uniform(small.inventory, scheme, template), kv=False)


@pytest.mark.slow
class TestExpertsWithoutTokens:
    @pytest.mark.parametrize(("name", "wider"), [("fp8", True), ("mxfp4_fp8", True), ("int8", False), ("nvfp4", False)])
    def test_have_their_scales_in_float32(
        self, name: str, wider: bool, tiny: Tiny, catalog: Catalog, tmp_path: Path, llm_template: Any
    ) -> None:
        small = tiny("qwen3_moe")
        template = template_of(small.analysis, catalog)
        tensors = export(small.model, llm_template.get("qwen3_moe").get_config(scheme=name), tmp_path, tokens=(1, 1))
        # Of four experts in a block, one token reaches two.
        unreached = 4 * 2 * 3
        schemes = uniform(small.inventory, SCHEMES[name], template)
        expected = predicted_bytes(small.inventory, schemes, (), catalog)
        assert size_of(tensors) - expected == (2 * unreached if wider else 0)


@pytest.mark.slow
class TestSolvedPlans:
    @pytest.mark.parametrize("kv", ["none", "fp8"])
    @pytest.mark.parametrize(
        "name",
        [
            "llama",
            "qwen3",
            "gemma3_text",
            "gemma3",
            "phi3",
            "gptj",
            "mixtral",
            "qwen3_moe",
            "gpt_oss",
            "deepseek_v2",
            "deepseek_v3",
            "lfm2",
            "granitemoehybrid",
        ],
    )
    def test_of_several_schemes_are_written_as_predicted(
        self, name: str, kv: str, tiny: Tiny, solve_tiny: SolveTiny, check: Check
    ) -> None:
        small = tiny(name)
        answer = solve_tiny(name, share=0.1, backend="none", algorithms=(), kv_cache_scheme=kv)
        plan = max(answer.alternatives, key=lambda item: len(item.scheme_shares))
        schemes = planned(plan, linears(small.model))
        assert len({scheme for scheme in schemes.values() if scheme != NATIVE}) > 1
        tensors = check(small, config_of(plan, name), schemes, kv=kv == "fp8")
        assert plan.footprint is not None
        assert size_of(tensors) == plan.footprint.weights_bytes

    @pytest.mark.parametrize("kv", ["none", "fp8"])
    @pytest.mark.parametrize("exclude", ["*layers.0.*", "*k_proj", "*self_attn.*", "*down_proj"])
    def test_with_excluded_layers_are_written_as_predicted(
        self, exclude: str, kv: str, tiny: Tiny, solve_tiny: SolveTiny, check: Check
    ) -> None:
        small = tiny("qwen3_moe")
        answer = solve_tiny("qwen3_moe", share=0.3, backend="none", kv_cache_scheme=kv, exclude=(exclude,))
        plan = max(answer.alternatives, key=lambda item: len(item.scheme_shares))
        tensors = check(small, config_of(plan, "qwen3_moe"), planned(plan, linears(small.model)), kv=kv == "fp8")
        assert plan.footprint is not None
        assert size_of(tensors) == plan.footprint.weights_bytes


@pytest.mark.slow
class TestHeads:
    @pytest.mark.parametrize("name", ["fp8", "int4_wo_32", "mxfp4"])
    @pytest.mark.parametrize("model", [SMOLLM2, "gemma3_text", "qwen3"])
    def test_that_are_quantized_are_written_beside_the_embedding(
        self, model: str, name: str, model_of: Tiny, catalog: Catalog, check: Check, llm_template: Any
    ) -> None:
        small = model_of(model)
        tied = small.inventory.tied_embeddings
        assert tied == (model != "qwen3")
        template = template_of(small.analysis, catalog).model_copy(update={"exclude_layers": ()})
        config = llm_template.get(template.model_type).get_config(scheme=name, exclude_layers=[])
        tensors = check(small, config, uniform(small.inventory, SCHEMES[name], template), kv=False)
        assert tensors["model.embed_tokens.weight"].dtype == "BF16"
        assert "lm_head.weight_scale" in tensors
