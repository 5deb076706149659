"""Caches: what each block of a model keeps of the past, from the geometry of published configurations."""

from types import SimpleNamespace
from typing import Any

import pytest
import transformers

from solver import api
from solver.catalog import Catalog
from solver.errors import BadInputError
from solver.intake.cache_group import CacheGroup, StateTensor
from solver.intake.caches import cache_groups
from solver.intake.inventory import Inventory
from solver.intake.states import find_state
from tests.intake.conftest import Analysed, Inventoried, WriteModel


def cache(kind: str, blocks: int, **fields: int) -> CacheGroup:
    return CacheGroup.model_validate({"kind": kind, "blocks": blocks, **fields})


def window(tokens: int, width: int, **groups: int) -> StateTensor:
    return StateTensor.model_validate({"shape": (tokens, width), "cut_axis": 1, **groups})


def matrices(heads: int, rows: int, columns: int, dtype: str = "model") -> StateTensor:
    return StateTensor.model_validate({"shape": (heads, rows, columns), "cut_axis": 0, "dtype": dtype})


def state(blocks: int, recurrence: str, *tensors: StateTensor) -> CacheGroup:
    fields = {"kind": "state", "blocks": blocks, "recurrence": recurrence, "state": tensors}
    return CacheGroup.model_validate(fields)


def attention(kind: str, blocks: int, heads: int, width: int, window: int | None = None) -> CacheGroup:
    fields: dict[str, Any] = {"kv_heads": heads, "key_elements": width, "value_elements": width, "window": window}
    fields["image_tokens"] = 1 if kind == "image" else None
    return CacheGroup.model_validate({"kind": kind, "blocks": blocks, **fields})


def kinds(inventory: Inventory) -> set[CacheGroup]:
    assert len(set(inventory.caches)) == len(inventory.caches)
    for group in inventory.caches:
        assert sum(part.last - part.first + 1 for part in group.at) == group.blocks
    return {group.model_copy(update={"at": ()}) for group in inventory.caches}


class TestBundledModels:
    @pytest.mark.parametrize(
        ("name", "groups"),
        [
            ("meta-llama/Meta-Llama-3.1-70B", {attention("full", 80, 8, 128)}),
            ("Qwen/Qwen3-8B", {attention("full", 36, 8, 128)}),
            ("HuggingFaceTB/SmolLM2-135M-Instruct", {attention("full", 30, 3, 64)}),
            ("EleutherAI/gpt-j-6b", {attention("full", 28, 16, 256)}),
            ("mistralai/Mistral-7B-v0.1", {attention("sliding", 32, 8, 128, 4096)}),
            ("mistralai/Mixtral-8x7B-v0.1", {attention("full", 32, 8, 128)}),
            ("Qwen/Qwen2.5-72B-Instruct", {attention("full", 80, 8, 128)}),
            # Every sixth block of gemma 3 sees all tokens: 10 of 62.
            ("google/gemma-3-27b-it", {attention("sliding", 52, 16, 128, 1024), attention("full", 10, 16, 128)}),
            ("google/gemma-2-9b", {attention("sliding", 21, 8, 256, 4096), attention("full", 21, 8, 256)}),
            ("openai/gpt-oss-20b", {attention("sliding", 12, 8, 64, 128), attention("full", 12, 8, 64)}),
            ("openai/gpt-oss-120b", {attention("sliding", 18, 8, 64, 128), attention("full", 18, 8, 64)}),
            # Every fourth block of Llama 4 sees all tokens: 12 of 48.
            (
                "meta-llama/Llama-4-Scout-17B-16E-Instruct",
                {attention("chunked", 36, 8, 128, 8192), attention("full", 12, 8, 128)},
            ),
        ],
    )
    def test_keep_keys_and_values(self, name: str, groups: set[CacheGroup], inventoried: Inventoried) -> None:
        assert kinds(inventoried(name)) == groups

    @pytest.mark.parametrize(
        ("name", "blocks"), [("deepseek-ai/DeepSeek-V3", 61), ("deepseek-ai/DeepSeek-V2-Lite", 27)]
    )
    def test_with_latent_attention_keep_a_latent_and_its_rotary_part(
        self, name: str, blocks: int, inventoried: Inventoried
    ) -> None:
        assert kinds(inventoried(name)) == {cache("mla", blocks, key_elements=512 + 64)}

    def test_with_a_gated_delta_rule_keep_a_window_and_a_matrix_for_each_head(self, inventoried: Inventoried) -> None:
        # Qwen3-Next: 32 value and 16 key heads of 128, a convolution over 4 tokens of queries, keys and values.
        assert kinds(inventoried("Qwen/Qwen3-Next-80B-A3B-Instruct")) == {
            state(36, "gated_delta_net", window(3, 2 * 16 * 128 + 32 * 128), matrices(32, 128, 128)),
            attention("full", 12, 2, 256),
        }
        # Qwen3.5-27B: 48 value heads; the configuration asks for float32.
        assert kinds(inventoried("Qwen/Qwen3.5-27B")) == {
            state(48, "gated_delta_net", window(3, 2 * 16 * 128 + 48 * 128), matrices(48, 128, 128, "float32")),
            attention("full", 16, 4, 256),
        }

    def test_with_mamba_keep_a_window_and_a_matrix_for_each_head(self, inventoried: Inventoried) -> None:
        # Granite 4.0 H small: 128 heads of 64, a state of 128, one group, a convolution over 4 tokens.
        convolution = window(3, 128 * 64 + 2 * 1 * 128, groups=1, group_elements=2 * 128)
        assert kinds(inventoried("ibm-granite/granite-4.0-h-small")) == {
            state(36, "mamba2", convolution, matrices(128, 64, 128)),
            attention("full", 4, 8, 128),
        }

    def test_with_short_convolutions_keep_what_vllm_keeps(self, inventoried: Inventoried) -> None:
        # LFM2: a convolution over 3 tokens needs the 2 before (vLLM, MambaStateShapeCalculator.short_conv_state_shape).
        assert kinds(inventoried("LiquidAI/LFM2-1.2B")) == {
            state(10, "short_conv", window(3 - 1, 2048)),
            attention("full", 6, 8, 64),
        }

    @pytest.mark.parametrize("name", [model.name for model in Catalog().models])
    def test_have_one_cache_in_each_block(self, name: str, inventoried: Inventoried) -> None:
        inventory = inventoried(name)
        assert sum(group.blocks for group in inventory.caches) == inventory.blocks


class TestConfigurations:
    """Small models of types that spell the same facts in other ways."""

    def caches(self, folder: Any, catalog: Catalog) -> set[CacheGroup]:
        inventory = api.analyze(str(folder), catalog=catalog).inventory
        assert inventory is not None
        return kinds(inventory)

    def test_without_a_head_width_divide_the_hidden_size(self, write_model: WriteModel, catalog: Catalog) -> None:
        assert self.caches(write_model(head_dim=...), catalog) == {attention("full", 2, 2, 16)}

    def test_with_a_head_width_of_their_own_use_it(self, write_model: WriteModel, catalog: Catalog) -> None:
        assert self.caches(write_model(head_dim=32), catalog) == {attention("full", 2, 2, 32)}

    def test_without_kv_heads_have_as_many_as_heads(self, write_model: WriteModel, catalog: Catalog) -> None:
        assert self.caches(write_model(num_key_value_heads=...), catalog) == {attention("full", 2, 4, 16)}

    def test_that_switch_their_window_off_see_all_tokens(self, write_model: WriteModel, catalog: Catalog) -> None:
        qwen2 = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "sliding_window": 64, "head_dim": ...}
        folder = write_model(**qwen2, use_sliding_window=False, max_window_layers=2)
        assert self.caches(folder, catalog) == {attention("full", 2, 2, 16)}

    def test_that_switch_it_on_for_some_blocks_have_both(self, write_model: WriteModel, catalog: Catalog) -> None:
        qwen2 = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "sliding_window": 64, "head_dim": ...}
        folder = write_model(**qwen2, use_sliding_window=True, max_window_layers=1)
        assert self.caches(folder, catalog) == {attention("full", 1, 2, 16), attention("sliding", 1, 2, 16, 64)}

    @pytest.mark.parametrize(
        ("fields", "heads"),
        [
            ({"multi_query": True, "new_decoder_architecture": False}, 1),
            ({"multi_query": True, "new_decoder_architecture": True, "num_kv_heads": 2}, 2),
            ({"multi_query": False, "new_decoder_architecture": False}, 4),
        ],
    )
    def test_of_falcon_share_heads_as_they_say(
        self, fields: dict[str, object], heads: int, write_model: WriteModel, catalog: Catalog
    ) -> None:
        falcon = {
            "model_type": "falcon",
            "hidden_size": 64,
            "num_attention_heads": 4,
            "num_hidden_layers": 2,
            "vocab_size": 256,
        }
        assert self.caches(write_model(base=falcon, **fields), catalog) == {attention("full", 2, heads, 16)}

    def test_with_wider_keys_than_values_keep_each_at_its_width(
        self, write_model: WriteModel, catalog: Catalog
    ) -> None:
        folder = write_model(
            base={"model_type": "mimo_v2_flash", "num_hidden_layers": 2, "hidden_size": 64, "vocab_size": 256},
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=24,
            v_head_dim=16,
            hybrid_layer_pattern=[0, 0],
            moe_layer_freq=[0, 0],
        )
        widths = {(group.key_elements, group.value_elements) for group in self.caches(folder, catalog)}
        assert widths == {(24, 16)}

    def test_with_more_heads_in_some_blocks_say_what_divides_all(
        self, write_model: WriteModel, catalog: Catalog
    ) -> None:
        text = {
            "hidden_size": 64,
            "intermediate_size": 128,
            "moe_intermediate_size": 32,
            "share_expert_dim": 32,
            "n_routed_experts": 8,
            "num_experts_per_tok": 2,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "vocab_size": 256,
            "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "full_attention"],
            "sliding_window": 32,
            "attention_other_setting": {"num_attention_heads": 6},
        }
        step = {"model_type": "step3p7", "architectures": ["Step3p7ForConditionalGeneration"], "text_config": text}
        found = api.analyze(str(write_model(base={**step, "torch_dtype": "bfloat16"})), catalog=catalog).inventory
        assert found is not None
        assert found.attention_heads == 2
        queries = {item.out_features: item.block_indices for item in found.layers if item.role == "q"}
        assert {width: set(blocks) for width, blocks in queries.items()} == {4 * 16: {0, 3}, 6 * 16: {1, 2}}
        assert [(group.kind, group.blocks, group.kv_heads) for group in found.caches] == [
            ("full", 2, 2),
            ("sliding", 2, 2),
        ]

    def test_of_unknown_state_are_partial_and_say_so(self, write_model: WriteModel, catalog: Catalog) -> None:
        sizes = {
            "num_hidden_layers": 3,
            "hidden_size": 64,
            "num_attention_heads": 4,
            "lru_width": 64,
            "vocab_size": 256,
        }
        folder = write_model(base={"model_type": "recurrent_gemma", **sizes})
        analysis = api.analyze(str(folder), catalog=catalog)
        assert analysis.analysis_status == "partial"
        assert any("state" in fact for fact in analysis.missing)

    @pytest.mark.parametrize(
        ("base", "kinds"),
        [
            # Attention and a mixer side by side in each block; after the mixer in some; and latent attention in some.
            ({"model_type": "falcon_h1", "mamba_n_heads": 8, "mamba_d_ssm": 64}, [("state", 6), ("full", 6)]),
            (
                {"model_type": "zamba2", "layers_block_type": (["linear_attention"] * 2 + ["hybrid"]) * 2},
                [("state", 6), ("full", 2)],
            ),
            (
                {"model_type": "kimi_linear", "layer_types": ["linear_attention", "full_attention"] * 3},
                [("state", 3), ("mla", 3)],
            ),
        ],
    )
    def test_with_states_beside_attention_count_both(
        self, base: dict[str, object], kinds: list[tuple[str, int]], write_model: WriteModel, catalog: Catalog
    ) -> None:
        sizes = {"num_hidden_layers": 6, "hidden_size": 64, "vocab_size": 256}
        whole = transformers.AutoConfig.for_model(**sizes, **base)
        found, missing = cache_groups(whole, catalog.config_fields, catalog.cache_fields)
        assert missing == []
        assert [(group.kind, group.blocks) for group in found] == kinds

    def test_that_leave_a_size_of_their_state_out_do_not_have_it(self, catalog: Catalog) -> None:
        sizes = {"mamba_num_heads": 8, "mamba_head_dim": 32, "ssm_state_size": 16, "n_groups": 1, "conv_kernel": 4}
        assert find_state(SimpleNamespace(**sizes), catalog.cache_fields) == (
            "mamba2",
            (window(3, 8 * 32 + 2 * 16, groups=1, group_elements=2 * 16), matrices(8, 32, 16)),
        )
        for name in sizes:
            rest = {other: size for other, size in sizes.items() if other != name}
            assert find_state(SimpleNamespace(**rest), catalog.cache_fields) is None

    def test_that_share_keys_and_values_count_only_the_blocks_that_keep_their_own(
        self, write_model: WriteModel, catalog: Catalog
    ) -> None:
        # The last blocks of Gemma 3n read the cache of an earlier one.
        gemma = {"model_type": "gemma3n_text", "architectures": ["Gemma3nForCausalLM"], "num_hidden_layers": 5}
        small = {"hidden_size_per_layer_input": 16, "vocab_size_per_layer_input": 256, "laurel_rank": 8}
        folder = write_model(
            **gemma,
            **small,
            num_kv_shared_layers=2,
            layer_types=["sliding_attention", "sliding_attention", "full_attention"] + ["full_attention"] * 2,
            activation_sparsity_pattern=[0.0] * 5,
            sliding_window=64,
        )
        assert self.caches(folder, catalog) == {attention("sliding", 2, 2, 16, 64), attention("full", 1, 2, 16)}

    def test_that_choose_tokens_keep_a_key_for_that_where_they_choose_anew(
        self, write_model: WriteModel, catalog: Catalog
    ) -> None:
        # vLLM's indexer: one byte an element and a float32 scale for each 128 (DeepseekV32IndexerCache).
        latent = {
            "kv_lora_rank": 32,
            "q_lora_rank": 32,
            "qk_rope_head_dim": 8,
            "qk_nope_head_dim": 16,
            "v_head_dim": 16,
        }
        sparse = {"model_type": "glm_moe_dsa", "architectures": ["GlmMoeDsaForCausalLM"], "head_dim": ...}
        experts = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_shared_experts": 1}
        folder = write_model(
            **latent,
            **sparse,
            **experts,
            num_hidden_layers=3,
            index_head_dim=128,
            index_n_heads=2,
            index_topk=16,
            num_key_value_heads=4,
            indexer_types=["full", "shared", "full"],
            mlp_layer_types=["dense"] * 3,
        )
        indexer = CacheGroup(kind="mla", blocks=2, key_elements=128 + 4, dtype="uint8")
        assert self.caches(folder, catalog) == {cache("mla", 3, key_elements=40), indexer}

    @pytest.mark.parametrize(
        ("name", "text", "image"),
        [("meta-llama/Llama-3.2-11B-Vision-Instruct", 32, 8), ("meta-llama/Llama-3.2-90B-Vision-Instruct", 80, 20)],
    )
    def test_that_attend_to_an_image_keep_its_tiles(self, name: str, text: int, image: int, analysed: Analysed) -> None:
        """Four tiles of 40 x 40 patches and a token for the class."""
        analysis = analysed(name)
        assert analysis.inventory is not None
        assert kinds(analysis.inventory) == {
            attention("full", text, 8, 128),
            attention("image", image, 8, 128).model_copy(update={"image_tokens": 4 * 1601}),
        }
        assert (analysis.analysis_status, analysis.missing) == ("complete", ())

    def test_of_mamba_1_keep_a_window_and_a_vector_for_each_channel(self, analysed: Analysed) -> None:
        # 8192 channels, a state of 16, a convolution over 4 tokens.
        for name, blocks in (("tiiuae/falcon-mamba-7b", 64), ("ai21labs/AI21-Jamba-Mini-1.5", 28)):
            analysis = analysed(name)
            assert analysis.inventory is not None
            vectors = StateTensor(shape=(8192, 16), cut_axis=0)
            assert state(blocks, "mamba1", window(3, 8192), vectors) in kinds(analysis.inventory)
            assert (analysis.analysis_status, analysis.missing) == ("complete", ())

    def test_of_mamba_2_alone_are_not_taken_for_mamba_1(self, write_model: WriteModel, catalog: Catalog) -> None:
        sizes = {"num_heads": 8, "head_dim": 16, "state_size": 32, "n_groups": 2, "time_step_rank": 4, "conv_kernel": 4}
        mamba2 = {"model_type": "mamba2", "hidden_size": 64, "expand": 2, "num_hidden_layers": 2, "vocab_size": 256}
        convolution = window(3, 128 + 2 * 2 * 32, groups=2, group_elements=2 * 32)
        assert self.caches(write_model(base={**mamba2, **sizes}), catalog) == {
            state(2, "mamba2", convolution, matrices(8, 16, 32))
        }

    def test_with_an_encoder_are_refused(self, write_model: WriteModel, catalog: Catalog) -> None:
        sizes = {"d_model": 64, "num_layers": 2, "num_heads": 4, "d_kv": 16, "d_ff": 128, "vocab_size": 256}
        silent = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], **sizes}
        for stated in ({}, {"is_encoder_decoder": True}):
            with pytest.raises(BadInputError, match="encoder"):
                api.analyze(str(write_model(base=silent, **stated)), catalog=catalog)

    def test_without_their_image_s_sizes_leave_those_blocks_out_and_say_so(
        self, write_model: WriteModel, catalog: Catalog
    ) -> None:
        text = {
            "model_type": "mllama_text_model",
            "architectures": ["MllamaForCausalLM"],
            "cross_attention_layers": [1],
            "pad_token_id": 0,
        }
        folder = write_model(
            **text, num_hidden_layers=3, head_dim=..., rope_parameters={"rope_type": "default", "rope_theta": 1e4}
        )
        analysis = api.analyze(str(folder), catalog=catalog)
        assert analysis.inventory is not None
        assert kinds(analysis.inventory) == {attention("full", 2, 2, 16)}
        assert any("image" in fact for fact in analysis.missing)
