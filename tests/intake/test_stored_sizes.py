"""Quantized checkpoints are sized as they are stored: equal to what is published of their files."""

from collections.abc import Callable

import pytest

from solver.catalog import Catalog
from solver.intake.analyze import analyze_source
from solver.intake.inventory import Inventory, LayerFamily
from solver.intake.source import ModelSource
from tests.data.zoo import ZOO
from tests.intake.conftest import Analysed, Inventoried

Stored = Callable[[str], Inventory]

EXACT = [
    "Qwen/Qwen3-8B-FP8",
    "Qwen/Qwen3-32B-FP8",
    "Qwen/Qwen3-30B-A3B-FP8",
    "Qwen/Qwen3-235B-A22B-FP8",
    "nvidia/Qwen3-235B-A22B-NVFP4",
    "nvidia/Llama-3.1-70B-Instruct-FP8",
    "MiniMaxAI/MiniMax-M2.5",
]
WEIGHTS_ONLY = [
    "nvidia/MiniMax-M2.5-NVFP4",
    "nvidia/GLM-5.1-NVFP4",
    "nvidia/Qwen3.5-122B-A10B-NVFP4",
    "nvidia/Qwen3.6-27B-NVFP4",
    "nvidia/Gemma-4-26B-A4B-NVFP4",
    "nvidia/Gemma-4-31B-IT-NVFP4",
]
"""Published counts that hold packed weights and neither scales nor buffers."""


@pytest.fixture(scope="session")
def stored(analysed: Analysed) -> Stored:
    """Return the inventory of a published quantized checkpoint."""

    def inventory(name: str) -> Inventory:
        found = analysed(name).inventory
        assert found is not None
        return found

    return inventory


def weight_elements(family: LayerFamily, inventory: Inventory) -> int:
    """Return the elements of one layer's weight as it is stored, without its scales."""
    if family.stored is None:
        return family.weight_elements
    assert inventory.quantized is not None
    weight = inventory.quantized.layout(family.stored).tensors[0]
    return weight.elements(family.in_features, family.out_features)


def weights_only(inventory: Inventory) -> int:
    layers = sum(family.count * weight_elements(family, inventory) for family in inventory.layers if not family.tied)
    return layers + sum(group.elements for group in inventory.others)


def predictor_layers(inventory: Inventory) -> list[LayerFamily]:
    """Return the linears of a layer for multi-token prediction: those of the last block once more."""
    return [family for family in inventory.layers if inventory.blocks - 1 in family.block_indices]


class TestElements:
    @pytest.mark.parametrize("name", EXACT)
    def test_are_those_of_the_published_files(self, name: str, stored: Stored) -> None:
        assert ZOO[name]["counts"] == "all tensors"
        assert stored(name).stored_elements == ZOO[name]["published_elements"]

    @pytest.mark.parametrize("name", WEIGHTS_ONLY)
    def test_of_the_weights_are_those_of_the_published_files(self, name: str, stored: Stored) -> None:
        assert ZOO[name]["counts"] == "weights only"
        assert weights_only(stored(name)) == ZOO[name]["published_elements"]

    def test_of_llama_405b_are_published_once_its_list_is_whole(self, catalog: Catalog) -> None:
        # This copy of the configuration lists the attention of the first block only; no attention is quantized
        # (The Llama 3 Herd of Models, section 6.2).
        record = ZOO["meta-llama/Llama-3.1-405B-Instruct-FP8"]
        config = record["config"]
        left_out = [*config["quantization_config"]["modules_to_not_convert"], "self_attn"]
        whole = {**config, "quantization_config": {**config["quantization_config"], "modules_to_not_convert": left_out}}
        inventory = analyze_source(ModelSource("llama", "file", whole), catalog).inventory
        assert inventory is not None
        assert inventory.stored_elements == record["published_elements"]

    def test_of_an_unquantized_checkpoint_are_its_own(self, inventoried: Inventoried) -> None:
        inventory = inventoried("Qwen/Qwen3-8B")
        assert inventory.quantized is None
        assert inventory.stored_elements == inventory.elements_total == 8_190_735_360


DEEPSEEK_V3 = "deepseek-ai/DeepSeek-V3"
PREDICTORS = {
    DEEPSEEK_V3: (True, 1536 + 512),
    "deepseek-ai/DeepSeek-R1": (True, 1536 + 512),
    "deepseek-ai/DeepSeek-V3.2": (True, 1536 + 512 + 2 * 128),
    "nvidia/DeepSeek-V3.2-NVFP4": (True, 1536 + 512 + 2 * 128),
    "zai-org/GLM-5-FP8": (False, 2048 + 512 + 2 * 128),
    "nvidia/GLM-5-NVFP4": (False, 2048 + 512 + 2 * 128),
    "nvidia/Qwen3.5-122B-A10B-NVFP4": (False, 2 * 256),
}
"""Checkpoints with a layer for multi-token prediction beside what transformers builds: whether it has an embedding and
a head of its own, and the elements of the norms inside its attention."""


class TestWithAPredictor:
    @pytest.fixture
    def inventory(self, name: str, stored: Stored) -> Inventory:
        return stored(name)

    @pytest.mark.parametrize(
        "name", [DEEPSEEK_V3, "nvidia/DeepSeek-V3.2-NVFP4", "zai-org/GLM-5-FP8", "nvidia/GLM-5-NVFP4"]
    )
    def test_elements_are_those_of_the_published_files(self, name: str, inventory: Inventory) -> None:
        published = ZOO[name]["published_elements"]
        assert inventory.stored_elements == published

    @pytest.mark.parametrize("name", ["deepseek-ai/DeepSeek-R1", "deepseek-ai/DeepSeek-V3.2"])
    def test_weights_are_those_of_the_published_files(self, name: str, inventory: Inventory) -> None:
        assert ZOO[name]["counts"] == "weights only"
        assert inventory.mtp is not None
        assert inventory.moe is not None
        corrections = inventory.buffer_bytes // 4 + inventory.moe.experts
        assert weights_only(inventory) + corrections + inventory.mtp.elements == ZOO[name]["published_elements"]

    @pytest.mark.parametrize(
        ("name", "own_embeddings", "norms"), [(name, *facts) for name, facts in PREDICTORS.items()]
    )
    def test_it_is_the_last_block_once_more_and_what_joins_two_hidden_states(
        self, own_embeddings: bool, norms: int, inventory: Inventory
    ) -> None:
        assert inventory.moe is not None
        assert inventory.mtp is not None
        hidden = inventory.hidden_size
        linears = sum(family.weight_elements * family.layers_per_block for family in predictor_layers(inventory))
        routers = inventory.moe.experts * hidden
        embeddings = 2 * hidden * inventory.vocab_size if own_embeddings else 0
        joined = 2 * hidden**2 + 5 * hidden + norms
        assert inventory.mtp.elements == linears + routers + joined + embeddings
        assert inventory.mtp.replicated_elements == routers + joined
        assert inventory.mtp.sharded_elements == embeddings

    @pytest.mark.parametrize("name", [DEEPSEEK_V3])
    def test_bytes_of_deepseek_v3_are_the_published_ones(self, inventory: Inventory) -> None:
        # As published by type: BF16 3,918,786,560, F8_E4M3 680,571,043,840, F32 41,555,600 elements.
        assert inventory.quantized is not None
        assert inventory.mtp is not None
        assert inventory.checkpoint_bytes == 3_918_786_560 * 2 + 680_571_043_840 + 41_555_600 * 4
        hidden, layout = inventory.hidden_size, inventory.quantized.layout("fp8_block")
        linears = sum(
            family.layers_per_block * layout.size_bytes(family.in_features, family.out_features, 2)
            for family in predictor_layers(inventory)
        )
        in_16_bits = 2 * hidden * inventory.vocab_size + 2 * hidden**2 + 256 * hidden + 5 * hidden + 1536 + 512
        assert inventory.mtp.size_bytes == linears + 2 * in_16_bits + 4 * 256

    @pytest.mark.parametrize("name", ["nvidia/Qwen3.5-122B-A10B-NVFP4"])
    def test_one_that_is_excluded_stays_in_16_bits(self, name: str, inventory: Inventory) -> None:
        assert inventory.mtp is not None
        assert inventory.mtp.size_bytes == 2 * inventory.mtp.elements
        assert inventory.checkpoint_bytes == ZOO[name]["published_bytes"]


class TestBytes:
    @pytest.mark.parametrize(
        ("name", "published"), [("openai/gpt-oss-20b", 13_761_264_768), ("openai/gpt-oss-120b", 65_248_815_744)]
    )
    def test_of_gpt_oss_are_those_of_its_files(self, name: str, published: int, inventoried: Inventoried) -> None:
        inventory = inventoried(name)
        assert inventory.checkpoint_bytes == published
        assert inventory.unquantized_bytes == 2 * inventory.elements_total

    def test_of_scalars_count_though_their_elements_do_not(self, stored: Stored) -> None:
        # 80 blocks of 7 linears, each with a scale of its weight and one of its input in float32.
        inventory = stored("nvidia/Llama-3.1-70B-Instruct-FP8")
        linears = sum(family.weight_elements * family.count for family in inventory.layers if family.stored)
        assert inventory.checkpoint_bytes == linears + 2 * (inventory.elements_total - linears) + 80 * 7 * 2 * 4

    def test_of_the_experts_of_kimi_are_four_bits_and_a_scale_for_32(self, stored: Stored) -> None:
        inventory = stored("moonshotai/Kimi-K2.5")
        assert inventory.quantized is not None
        experts = [family for family in inventory.layers if family.stored]
        assert {family.experts for family in experts} == {384}
        elements = sum(family.weight_elements * family.count for family in experts)
        layers = sum(family.count for family in experts)
        rest = 2 * (inventory.elements_total - elements) + inventory.buffer_bytes
        assert inventory.checkpoint_bytes == elements // 2 + 2 * elements // 32 + 16 * layers + rest


class TestFamilies:
    def test_are_split_where_only_some_blocks_are_quantized(self, stored: Stored) -> None:
        inventory = stored("meta-llama/Llama-3.1-405B-Instruct-FP8")
        down = {family.stored: family.block_indices for family in inventory.layers if family.role == "down"}
        assert down == {None: (0, 125), "fbgemm_fp8": tuple(range(1, 125))}

    def test_have_the_formats_of_a_table_by_layer(self, stored: Stored) -> None:
        inventory = stored("nvidia/Qwen3.6-27B-NVFP4")
        formats = {family.name.rsplit(".", 1)[-1]: family.stored for family in inventory.layers}
        assert formats["gate_proj"] == formats["lm_head"] == "modelopt_nvfp4_weight_only"
        assert formats["q_proj"] == formats["in_proj_qkv"] == "modelopt_fp8"
        assert formats["in_proj_a"] is None

    def test_of_a_mixture_have_a_format_of_their_own(self, stored: Stored) -> None:
        inventory = stored("deepseek-ai/DeepSeek-V4-Pro")
        experts = {family.stored for family in inventory.layers if family.experts}
        shared = {family.stored for family in inventory.layers if family.role.startswith("shared_")}
        assert (experts, shared) == ({"deepseek_fp4_experts"}, {"fp8_block_ue8m0"})
        mixed = stored("nvidia/DeepSeek-V4-Flash-NVFP4")
        assert {family.stored for family in mixed.layers if family.experts} == {"modelopt_nvfp4"}
        assert {family.stored for family in mixed.layers if family.role.startswith("shared_")} == {"fp8_block_ue8m0"}


class TestPlaces:
    @pytest.mark.parametrize(
        ("name", "method", "place", "kv_cache"),
        [
            ("Qwen/Qwen3-8B-FP8", "fp8", "quantization_config", None),
            ("Qwen/Qwen3-32B-FP8-Static-PerTensor", "FP8", "quantization_config", "fp8"),
            ("nvidia/Qwen3-235B-A22B-NVFP4", "modelopt NVFP4", "hf_quant_config.json", "fp8"),
            ("nvidia/MiniMax-M2.5-NVFP4", "modelopt NVFP4", "quantization_config", "fp8"),
            (
                "moonshotai/Kimi-K2.5",
                "compressed-tensors pack-quantized",
                "text_config.quantization_config",
                None,
            ),
        ],
    )
    def test_are_named_with_the_method_in_the_analysis(
        self, name: str, method: str, place: str, kv_cache: str | None, analysed: Analysed
    ) -> None:
        analysis = analysed(name)
        assert analysis.inventory is not None
        quantized = analysis.inventory.quantized
        assert quantized is not None
        assert (quantized.method, quantized.place, quantized.kv_cache) == (method, place, kv_cache)
        assert any(method in risk.message and place in risk.message for risk in analysis.risks)
        assert analysis.missing == ()
