"""Traps of published configurations and checkpoints, each with a model that has it and what the analysis must say."""

import json
import time
from pathlib import Path

import pytest

from solver.catalog import Catalog
from solver.intake.analyze import analyze_source
from solver.intake.inventory import Inventory, LayerFamily
from solver.intake.published import MASKS, ROTARY, TIED_HEAD, explain
from solver.intake.shares import MTP
from solver.intake.source import ModelSource, find_source
from tests.data.zoo import ZOO, write_checkpoint
from tests.intake.conftest import Analysed, WriteModel


@pytest.fixture
def inventory(name: str, analysed: Analysed) -> Inventory:
    return of(name, analysed)


def of(name: str, analysed: Analysed) -> Inventory:
    found = analysed(name).inventory
    assert found is not None
    return found


def family(inventory: Inventory, ending: str) -> LayerFamily:
    """Return the only family whose name ends so."""
    (found,) = [item for item in inventory.layers if item.name.endswith(ending)]
    return found


def share(inventory: Inventory, *, role: str) -> float:
    parts = [part.elements for part in inventory.parts if part.part.startswith(role)]
    return sum(parts) / inventory.elements_total


def published(name: str) -> int:
    return int(ZOO[name]["published_elements"])


class TestPublishedNumbers:
    def test_total_size_of_an_index_is_not_trusted(self, tmp_path: Path, catalog: Catalog) -> None:
        # DeepSeek-V3's own index states 1,369,062,772,000 bytes, twice its payload.
        name = "deepseek-ai/DeepSeek-V3"
        folder = write_checkpoint(ZOO[name], tmp_path)
        names = ("lm_head.weight", "model.layers.61.eh_proj.weight")
        index = {
            "metadata": {"total_size": 1_369_062_772_000},
            "weight_map": dict.fromkeys(names, "model-00001-of-00163.safetensors"),
        }
        (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
        inventory = analyze_source(find_source(str(folder), catalog), catalog).inventory
        assert inventory is not None
        assert inventory.checkpoint_bytes == ZOO[name]["published_bytes"] == 688_574_839_360

    def test_packed_weights_are_counted_by_their_words(self, analysed: Analysed) -> None:
        packed = of("nvidia/Qwen3-235B-A22B-NVFP4", analysed)
        assert packed.elements_total == published("Qwen/Qwen3-235B-A22B")
        assert packed.stored_elements == published("nvidia/Qwen3-235B-A22B-NVFP4") < 0.6 * packed.elements_total
        # The hub has the logical count of gpt-oss all the same.
        logical = of("openai/gpt-oss-120b", analysed)
        assert logical.elements_total == published("openai/gpt-oss-120b")

    @pytest.mark.parametrize("name", ["google/gemma-3-27b-it"])
    def test_tied_weights_count_once(self, name: str, inventory: Inventory) -> None:
        # Its index has total_parameters 28,842,108,784 with the head and 54,864,813,280 bytes without it.
        head = inventory.vocab_size * inventory.hidden_size
        assert inventory.tied_embeddings
        assert inventory.elements_total == 27_432_406_640
        assert round((inventory.elements_total + head) / 1e9, 3) == 28.842
        assert inventory.checkpoint_bytes == 54_864_813_280

    @pytest.mark.parametrize("name", ["Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B", "Qwen/Qwen1.5-1.8B"])
    def test_a_tied_head_may_be_stored_all_the_same(self, name: str, inventory: Inventory) -> None:
        (cause,) = explain(published(name), inventory).causes
        assert cause.cause == TIED_HEAD
        assert cause.elements == family(inventory, "lm_head").weight_elements

    def test_a_head_stored_once_is_not_explained_away(self, analysed: Analysed) -> None:
        for name in ("Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-1.5B", "Qwen/Qwen2.5-3B"):
            inventory = of(name, analysed)
            assert inventory.tied_embeddings
            assert explain(published(name), inventory).causes == ()

    def test_buffers_of_old_checkpoints_are_named(self, analysed: Analysed) -> None:
        # 40 blocks of 64 rotary frequencies; 12 causal masks of 1024 x 1024.
        for name, cause, elements in (
            ("meta-llama/Llama-2-13b-hf", ROTARY, 40 * 64),
            ("openai-community/gpt2", MASKS, 12 * 1024 * 1024),
        ):
            found = explain(published(name), of(name, analysed))
            assert [(item.cause, item.elements) for item in found.causes] == [(cause, elements)]


class TestLeftOut:
    @pytest.mark.parametrize(
        ("name", "least", "most"),
        [
            ("deepseek-ai/DeepSeek-V3", 0.019, 0.021),
            ("zai-org/GLM-4.5", 0.014, 0.016),
            ("zai-org/GLM-4.5-Air", 0.032, 0.034),
            ("zai-org/GLM-5.1", 0.012, 0.014),
            ("Qwen/Qwen3-Next-80B-A3B-Instruct", 0.019, 0.021),
            ("nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", 0.019, 0.021),
            ("XiaomiMiMo/MiMo-7B", 0.026, 0.028),
        ],
    )
    def test_predictors_are_a_line_of_their_own(
        self, name: str, least: float, most: float, inventory: Inventory, analysed: Analysed
    ) -> None:
        assert inventory.mtp is not None
        assert least < inventory.mtp.elements / published(name) < most
        assert MTP in {difference.cause for difference in inventory.differences}
        assert any("multi-token" in risk.message for risk in analysed(name).risks)

    def test_the_configuration_is_no_proof_of_a_predictor(self, analysed: Analysed) -> None:
        keys = {"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "mtp_transformer_layers"}
        assert not keys & set(ZOO["Qwen/Qwen3-Next-80B-A3B-Instruct"]["config"])
        assert of("Qwen/Qwen3-Next-80B-A3B-Instruct", analysed).mtp is not None
        assert ZOO["MiniMaxAI/MiniMax-M2.5"]["config"]["num_mtp_modules"] == 3
        assert of("MiniMaxAI/MiniMax-M2.5", analysed).mtp is None

    @pytest.mark.parametrize(
        "name",
        [
            "zai-org/GLM-4.5-Air",
            "deepseek-ai/DeepSeek-V2-Lite",
            "zai-org/GLM-5.1",
            "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
        ],
    )
    def test_routers_that_are_built_wider_are_stored_in_the_models_type(self, name: str, inventory: Inventory) -> None:
        wide = {group.part: group.wide_elements for group in inventory.others if group.wide_elements}
        assert wide.keys() == {"router"}
        assert inventory.unquantized_bytes == 2 * inventory.elements_total
        if "published_bytes" in ZOO[name]:
            assert inventory.checkpoint_bytes == ZOO[name]["published_bytes"]


class TestType:
    @pytest.mark.parametrize("name", ["Qwen/Qwen3.5-27B", "Qwen/Qwen3-VL-2B-Instruct"])
    def test_may_stand_in_the_text_part_alone(self, name: str, analysed: Analysed) -> None:
        assert not {"dtype", "torch_dtype"} & set(ZOO[name]["config"])
        assert of(name, analysed).dtype == "bfloat16"
        assert not any("checkpoint type" in assumption for assumption in analysed(name).assumptions)

    @pytest.mark.parametrize("name", ["openai/gpt-oss-20b", "facebook/opt-66b", "bigscience/bloom"])
    def test_that_is_missing_is_assumed_aloud(self, name: str, analysed: Analysed) -> None:
        assert not {"dtype", "torch_dtype"} & set(ZOO[name]["config"])
        assert of(name, analysed).dtype == "bfloat16"
        assert "checkpoint type bfloat16: the configuration names none" in analysed(name).assumptions

    @pytest.mark.parametrize("name", ["google/gemma-2-9b", "allenai/OLMo-2-1124-7B"])
    def test_may_be_float32(self, name: str, inventory: Inventory) -> None:
        assert inventory.unquantized_bytes == 4 * inventory.elements_total


class TestExperts:
    @pytest.mark.parametrize(
        ("name", "percent"),
        [
            ("Qwen/Qwen3-235B-A22B", 97),
            ("deepseek-ai/DeepSeek-V3", 97),
            ("moonshotai/Kimi-K2.5", 99),
            ("openai/gpt-oss-120b", 98),
            ("mistralai/Mixtral-8x22B-v0.1", 96),
            ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 89),
        ],
    )
    def test_that_are_fused_are_layers(self, name: str, percent: int, inventory: Inventory) -> None:
        assert round(100 * share(inventory, role="expert_")) == percent
        assert inventory.moe is not None
        assert {item.experts for item in inventory.layers if item.experts} == {inventory.moe.experts}

    def test_have_their_inputs_on_the_right_axis(self, analysed: Analysed) -> None:
        # Parameters of gpt_oss and llama4 are (experts, in, out), those of the others (experts, out, in).
        for name, ending, inputs, outputs in (
            ("openai/gpt-oss-20b", ".gate_up_proj", 2880, 2 * 2880),
            ("meta-llama/Llama-4-Scout-17B-16E-Instruct", ".experts.gate_up_proj", 5120, 2 * 8192),
            ("meta-llama/Llama-4-Scout-17B-16E-Instruct", ".experts.down_proj", 8192, 5120),
            ("mistralai/Mixtral-8x7B-v0.1", ".{expert}.gate_proj", 4096, 14336),
            ("mistralai/Mixtral-8x7B-v0.1", ".{expert}.down_proj", 14336, 4096),
        ):
            found = family(of(name, analysed), ending)
            assert (found.in_features, found.out_features) == (inputs, outputs), name

    def test_of_gpt_oss_keep_gate_and_up_in_one_with_a_bias(self, analysed: Analysed) -> None:
        fused = family(of("openai/gpt-oss-20b", analysed), ".gate_up_proj")
        assert (fused.experts, fused.bias) == (32, True)

    @pytest.mark.parametrize("name", ["databricks/dbrx-instruct"])
    def test_of_dbrx_are_layers_too(self, name: str, inventory: Inventory) -> None:
        experts = [item for item in inventory.layers if item.experts]
        assert sorted(item.role for item in experts) == ["expert_down", "expert_gate", "expert_up"]
        assert {item.experts for item in experts} == {16}
        sizes = {item.role: (item.in_features, item.out_features) for item in experts}
        assert sizes["expert_gate"] == sizes["expert_up"] == (6144, 10752)
        assert sizes["expert_down"] == (10752, 6144)
        assert share(inventory, role="expert_") > 0.96

    def test_and_mixing_weights_of_two_dimensions_are_no_experts(self, analysed: Analysed) -> None:
        # DeepSeek-V4's attn_hc.fn and ffn_hc.fn, and gemma-3's mm_input_projection_weight, are bare parameters.
        for name in ("deepseek-ai/DeepSeek-V4-Pro", "google/gemma-3-4b-it"):
            names = [item.name for item in of(name, analysed).layers]
            assert not [item for item in names if item.endswith((".fn", "mm_input_projection_weight"))], name

    @pytest.mark.parametrize("name", ["databricks/dbrx-instruct", "openai-community/gpt2"])
    def test_and_layers_that_are_no_linears_are_counted_all_the_same(self, name: str, inventory: Inventory) -> None:
        # gpt2 is made of Conv1D: no weight of its blocks is an nn.Linear's.
        total = {"databricks/dbrx-instruct": 131_596_523_520, "openai-community/gpt2": 124_439_808}[name]
        assert inventory.elements_total == sum(part.elements for part in inventory.parts) == total


class TestRouters:
    @pytest.mark.parametrize("name", ["meta-llama/Llama-4-Scout-17B-16E-Instruct", "microsoft/Phi-mini-MoE-instruct"])
    def test_that_derive_from_linear_are_no_layers_of_quark(self, name: str, inventory: Inventory) -> None:
        assert not family(inventory, ".router").quantizable

    @pytest.mark.parametrize(
        "name", ["Qwen/Qwen3-30B-A3B", "mistralai/Mixtral-8x7B-v0.1", "openai/gpt-oss-20b", "deepseek-ai/DeepSeek-V3"]
    )
    def test_of_other_types_are_parameters(self, name: str, inventory: Inventory) -> None:
        assert inventory.moe is not None
        assert not [item for item in inventory.layers if item.role == "router"]
        (router,) = [group for group in inventory.others if group.part == "router"]
        assert router.elements >= router.tensors // 2 * inventory.moe.experts

    @pytest.mark.parametrize(
        "name", ["Qwen/Qwen1.5-MoE-A2.7B", "Qwen/Qwen3-Next-80B-A3B-Instruct", "Qwen/Qwen3.5-35B-A3B"]
    )
    def test_of_shared_experts_are_linears_with_one_output(
        self, name: str, inventory: Inventory, catalog: Catalog
    ) -> None:
        gate = family(inventory, ".shared_expert_gate")
        assert (gate.in_features, gate.out_features) == (inventory.hidden_size, 1)
        assert catalog.roles.named(gate.role).kind == "router"

    def test_three_dimensions_alone_make_no_expert(self, analysed: Analysed) -> None:
        # Position tables of vision towers and kernels of convolutions are 3-D too.
        for name in ("moonshotai/Kimi-K2.5", "nvidia/Gemma-4-26B-A4B-NVFP4", "LiquidAI/LFM2-1.2B"):
            for item in of(name, analysed).layers:
                assert (item.experts > 0) == (".experts." in item.name), item.name


class TestShapes:
    @pytest.mark.parametrize(
        ("name", "features"),
        [
            ("openai/gpt-oss-20b", {2880}),
            ("deepseek-ai/DeepSeek-V2-Lite", {10944}),
            ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", {1856}),
            ("HuggingFaceTB/SmolLM2-135M-Instruct", {576}),
            ("google/gemma-3-4b-it", {4304}),
            ("Qwen/Qwen2.5-VL-7B-Instruct", {3420}),
            ("meta-llama/Llama-4-Scout-17B-16E-Instruct", {588}),
            ("nvidia/Gemma-4-26B-A4B-NVFP4", {2112, 704, 4304}),
            ("microsoft/Phi-mini-MoE-instruct", {960}),
        ],
    )
    def test_that_are_no_multiples_of_128_are_kept_as_they_are(
        self, name: str, features: set[int], inventory: Inventory
    ) -> None:
        assert {item.in_features for item in inventory.layers if item.in_features % 128} == features
        odd = {item.role for item in inventory.layers if item.in_features % 32}
        assert odd == ({"vision"} if features & {4304, 3420, 588} else set())

    @pytest.mark.parametrize(
        ("name", "rows"),
        [
            ("allenai/Olmo-3-7B", 100_278),
            ("cognitivecomputations/Dolphin3.0-Mistral-24B", 131_074),
            ("tencent/Hunyuan-7B-Instruct", 128_167),
        ],
    )
    def test_of_heads_need_not_divide_by_16(self, name: str, rows: int, inventory: Inventory) -> None:
        assert rows % 16
        assert family(inventory, "lm_head").out_features == inventory.vocab_size == rows

    @pytest.mark.parametrize(
        ("name", "linear", "attention"),
        [
            ("Qwen/Qwen3-Next-80B-A3B-Instruct", 36, 12),
            ("ibm-granite/granite-4.0-h-small", 36, 4),
            ("LiquidAI/LFM2-1.2B", 10, 6),
        ],
    )
    def test_of_hybrids_differ_from_block_to_block(
        self, name: str, linear: int, attention: int, inventory: Inventory
    ) -> None:
        mixing = {index for item in inventory.layers if item.role == "linear_attn_in" for index in item.block_indices}
        attending = {index for item in inventory.layers if item.role == "q" for index in item.block_indices}
        assert (len(mixing), len(attending)) == (linear, attention)
        assert mixing | attending == set(range(inventory.blocks))
        assert {cache.kind: cache.blocks for cache in inventory.caches} == {"state": linear, "full": attention}
        # Convolutions, states and norms of the mixers are no layers.
        assert not [item for item in inventory.layers if item.name.endswith(("conv1d", "conv.conv", "A_log", "norm"))]

    def test_of_blocks_that_are_one_thing_each(self, analysed: Analysed) -> None:
        # Nemotron-H: a block is a mixer, attention or experts.
        name = "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"
        inventory, pattern = of(name, analysed), ZOO[name]["config"]["hybrid_override_pattern"]
        for sign, roles in {"M": {"linear_attn_in"}, "*": {"q"}, "E": {"expert_up"}}.items():
            found = {index for item in inventory.layers if item.role in roles for index in item.block_indices}
            assert found == {index for index, kind in enumerate(pattern) if kind == sign}, sign


class TestClass:
    @pytest.mark.parametrize(
        ("name", "architecture"),
        [
            ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "Llama4ForConditionalGeneration"),
            ("meta-llama/Llama-3.2-11B-Vision-Instruct", "MllamaForConditionalGeneration"),
            ("Qwen/Qwen3.5-27B", "Qwen3_5ForConditionalGeneration"),
            ("Qwen/Qwen3.5-35B-A3B", "Qwen3_5MoeForConditionalGeneration"),
            ("google/gemma-3-4b-it", "Gemma3ForConditionalGeneration"),
            ("nvidia/Gemma-4-26B-A4B-NVFP4", "Gemma4ForConditionalGeneration"),
            ("Qwen/Qwen2-VL-2B-Instruct", "Qwen2VLForConditionalGeneration"),
            ("Qwen/Qwen2.5-VL-7B-Instruct", "Qwen2_5_VLForConditionalGeneration"),
            ("Qwen/Qwen3-VL-30B-A3B-Instruct", "Qwen3VLMoeForConditionalGeneration"),
            ("llava-hf/llava-1.5-7b-hf", "LlavaForConditionalGeneration"),
            # Spelled otherwise in the configuration:
            ("moonshotai/Kimi-K2.5", "Kimi_K25ForConditionalGeneration"),
            ("stepfun-ai/Step-3.7-Flash", "Step3p7ForConditionalGeneration"),
        ],
    )
    def test_of_a_model_that_sees_has_its_eyes(
        self, name: str, architecture: str, inventory: Inventory, analysed: Analysed
    ) -> None:
        assert analysed(name).model.architecture == architecture
        assert share(inventory, role="vision") > 0
        assert [item for item in inventory.layers if item.role == "vision"]

    def test_of_a_text_part_alone_wins_over_an_architecture_that_sees(self, analysed: Analysed) -> None:
        name = "bryce-hoehn/Qwen3.5-25B-REAP-A3B-Coding"
        config = ZOO[name]["config"]
        named = (config["model_type"], config["architectures"])
        assert named == ("qwen3_5_moe_text", ["Qwen3_5MoeForConditionalGeneration"])
        assert analysed(name).model.architecture == "Qwen3_5MoeForCausalLM"
        assert share(of(name, analysed), role="vision") == 0

    def test_may_be_spelled_otherwise_than_the_architecture(self, analysed: Analysed) -> None:
        name = "microsoft/Phi-3.5-MoE-instruct"
        assert ZOO[name]["config"]["architectures"] == ["PhiMoEForCausalLM"]
        assert analysed(name).model.architecture == "PhimoeForCausalLM"

    @pytest.mark.parametrize(
        "name",
        [
            "deepseek-ai/DeepSeek-V2-Lite",
            "deepseek-ai/DeepSeek-R1",
            "zai-org/GLM-4.5-Air",
            "MiniMaxAI/MiniMax-M2.5",
            "microsoft/phi-2",
            "microsoft/Phi-4-mini-instruct",
            "microsoft/Phi-mini-MoE-instruct",
            "moonshotai/Kimi-K2.5",
            "nvidia/Nemotron-H-56B-Base-8K",
        ],
    )
    def test_of_transformers_wins_over_code_beside_the_model(self, name: str, analysed: Analysed) -> None:
        assert "auto_map" in ZOO[name]["config"]
        analysis = analysed(name)
        assert analysis.analysis_status == "complete"
        assert not analysis.model.trust_remote_code

    def test_takes_numbers_that_its_strict_validation_refuses(self, analysed: Analysed) -> None:
        assert ZOO["databricks/dbrx-instruct"]["config"]["ffn_config"]["moe_normalize_expert_weights"] == 1
        analysis = analysed("databricks/dbrx-instruct")
        assert analysis.model.architecture == "DbrxForCausalLM"
        assert not any("transformers has no" in assumption for assumption in analysis.assumptions)

    def test_takes_a_latent_rank_of_none_and_a_scaling_of_alpha(self, analysed: Analysed) -> None:
        vision, alpha = "deepseek-ai/deepseek-vl2-tiny", "tencent/Hunyuan-7B-Instruct"
        assert ZOO[vision]["config"]["language_config"]["kv_lora_rank"] is None
        assert "alpha" in ZOO[alpha]["config"]["rope_scaling"]
        for name in (vision, alpha):
            assert analysed(name).analysis_status == "complete"
            assert of(name, analysed).elements_total == published(name)

    @pytest.mark.parametrize("key", ["_attn_implementation", "attn_implementation"])
    def test_needs_no_kernels_that_a_configuration_asks_for(
        self, key: str, write_model: WriteModel, catalog: Catalog
    ) -> None:
        plain = analyze_source(find_source(str(write_model("plain")), catalog), catalog)
        asking = find_source(str(write_model("asking", **{key: "flash_attention_2"})), catalog)
        assert analyze_source(asking, catalog).inventory == plain.inventory

    @pytest.mark.parametrize(
        ("name", "tied"),
        [
            ("CohereForAI/aya-23-8B", True),
            ("google/gemma-2b", True),
            ("facebook/opt-6.7b", True),
            ("bigscience/bloom", True),
            ("HuggingFaceTB/SmolLM3-3B", True),
            ("LiquidAI/LFM2-1.2B", True),
            ("stepfun-ai/Step-3.7-Flash", False),
        ],
    )
    def test_says_whether_the_head_is_tied_where_nothing_else_does(
        self, name: str, tied: bool, inventory: Inventory
    ) -> None:
        assert "tie_word_embeddings" not in ZOO[name]["config"]
        assert inventory.tied_embeddings == tied

    @pytest.mark.parametrize("model_type", ["llama", "qwen3", "mistral", "olmo2"])
    def test_leaves_the_head_untied_where_nothing_is_said(
        self, model_type: str, write_model: WriteModel, catalog: Catalog
    ) -> None:
        folder = write_model(model_type=model_type, architectures=..., tie_word_embeddings=...)
        inventory = analyze_source(find_source(str(folder), catalog), catalog).inventory
        assert inventory is not None
        assert not inventory.tied_embeddings


class TestQuantized:
    @pytest.mark.parametrize(
        ("name", "place"),
        [
            ("Qwen/Qwen3-8B-FP8", "quantization_config"),
            ("moonshotai/Kimi-K2.5", "text_config.quantization_config"),
            ("databricks/dbrx-instruct", "quantization"),
            ("nvidia/Qwen3-235B-A22B-NVFP4", "hf_quant_config.json"),
            ("nvidia/DeepSeek-V3.2-NVFP4", "hf_quant_config.json"),
            ("nvidia/Llama-3.1-70B-Instruct-FP8", "hf_quant_config.json"),
            ("nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-FP8", "hf_quant_config.json"),
        ],
    )
    def test_checkpoints_say_so_in_one_of_four_places(self, name: str, place: str, inventory: Inventory) -> None:
        assert inventory.quantized is not None
        assert inventory.quantized.place == place

    def test_checkpoints_with_a_side_file_look_plain_without_it(self, catalog: Catalog, analysed: Analysed) -> None:
        name = "nvidia/Qwen3-235B-A22B-NVFP4"
        plain = analyze_source(ModelSource(name, "file", ZOO[name]["config"]), catalog).inventory
        assert plain is not None
        assert plain.quantized is None
        assert plain.stored_elements == of(name, analysed).elements_total

    def test_lists_of_thousands_of_exclusions_take_no_time(self, catalog: Catalog) -> None:
        config = ZOO["Qwen/Qwen3-30B-A3B-FP8"]["config"]
        excluded = [
            f"model.layers.{block}.mlp.experts.{expert}.{leaf}_proj"
            for block in range(24)
            for expert in range(128)
            for leaf in ("gate", "up", "down")
        ]
        block = {**config["quantization_config"], "modules_to_not_convert": ["lm_head", *excluded]}
        source = ModelSource("many", "file", {**config, "quantization_config": block})
        start = time.process_time()
        inventory = analyze_source(source, catalog).inventory
        assert time.process_time() - start < 10
        assert inventory is not None
        stored = {item.stored for item in inventory.layers if item.experts and 0 in item.block_indices}
        kept = {item.stored for item in inventory.layers if item.experts and 47 in item.block_indices}
        assert (stored, kept) == ({None}, {"fp8_block"})
