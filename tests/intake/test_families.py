"""Layer families of bundled models: block ranges, experts, shapes and roles."""

from math import prod

import pytest

from solver.catalog import Catalog
from solver.intake.inventory import Inventory, LayerFamily
from solver.intake.record import BlockRange
from tests.intake.conftest import Built, Inventoried

CATALOG = Catalog()
MODELS = [model.name for model in CATALOG.models]


def family(inventory: Inventory, ending: str) -> LayerFamily:
    """Return the only family whose name ends so."""
    found = [item for item in inventory.layers if item.name == ending or item.name.endswith(f".{ending}")]
    assert len(found) == 1, found
    return found[0]


def shape(item: LayerFamily) -> tuple[int, int]:
    """Return (out_features, in_features), as the weight has them."""
    return item.out_features, item.in_features


def span(item: LayerFamily) -> list[tuple[int, int]]:
    return [(part.first, part.last) for part in item.blocks]


class TestRoles:
    @pytest.mark.parametrize("name", MODELS)
    def test_are_known_for_every_layer(self, name: str, inventoried: Inventoried) -> None:
        assert [item.name for item in inventoried(name).layers if item.role == "other"] == []

    @pytest.mark.parametrize("name", MODELS)
    def test_of_experts_are_of_the_kind_experts(self, name: str, inventoried: Inventoried) -> None:
        kinds = {item.name: CATALOG.roles.named(item.role).kind for item in inventoried(name).layers if item.experts}
        assert set(kinds.values()) <= {"experts"}, kinds

    @pytest.mark.parametrize("name", MODELS)
    def test_of_experts_belong_to_experts_only(self, name: str, inventoried: Inventoried) -> None:
        for item in inventoried(name).layers:
            if CATALOG.roles.named(item.role).kind == "experts":
                assert item.experts, item.name

    @pytest.mark.parametrize("name", MODELS)
    def test_give_every_model_one_head(self, name: str, inventoried: Inventoried) -> None:
        inventory = inventoried(name)
        heads = [item for item in inventory.layers if item.role == "lm_head"]
        assert [shape(head) for head in heads] == [(inventory.vocab_size, inventory.hidden_size)]
        assert heads[0].blocks == ()

    @pytest.mark.parametrize(
        ("path", "role"),
        [
            ("model.layers.{block}.self_attn.qkv_proj", "qkv"),
            ("transformer.h.{block}.attn.c_attn", "qkv"),
            ("transformer.h.{block}.attn.out_proj", "o"),
            ("model.decoder.layers.{block}.self_attn.out_proj", "o"),
            ("model.decoder.layers.{block}.fc2", "down"),
            ("model.layers.{block}.mlp.gate_up_proj", "gate_up"),
            ("model.layers.{block}.mlp.experts.{expert}.gate_up_proj", "expert_gate_up"),
            ("model.layers.{block}.mlp.experts.gate_up_proj", "expert_gate_up"),
            ("model.layers.{block}.mlp.experts.down_proj", "expert_down"),
            ("model.layers.{block}.mlp.shared_experts.down_proj", "shared_down"),
            ("model.layers.{block}.mlp.shared_expert_gate", "shared_gate_scalar"),
            ("model.layers.{block}.mlp.gate", "router"),
            ("model.layers.{block}.mlp.gate_proj", "gate"),
            ("model.visual.blocks.{block}.mlp.down_proj", "vision"),
            ("lm_head", "lm_head"),
            ("language_model.lm_head", "lm_head"),
            ("model.embed_tokens", "embedding"),
            ("model.something.else", "other"),
        ],
    )
    def test_follow_from_the_module_path(self, path: str, role: str) -> None:
        assert CATALOG.roles.of(path).name == role


class TestDense:
    def test_llama_has_seven_families_in_every_block(self, inventoried: Inventoried) -> None:
        inventory = inventoried("meta-llama/Meta-Llama-3.1-70B")
        assert {item.name.rsplit(".", 1)[-1]: shape(item) for item in inventory.layers} == {
            "q_proj": (8192, 8192),
            "k_proj": (1024, 8192),
            "v_proj": (1024, 8192),
            "o_proj": (8192, 8192),
            "gate_proj": (28672, 8192),
            "up_proj": (28672, 8192),
            "down_proj": (8192, 28672),
            "lm_head": (128256, 8192),
        }
        assert {tuple(span(item)) for item in inventory.layers} == {((0, 79),), ()}
        assert inventory.quantizable_count == 80 * 7 + 1
        assert inventory.moe is None

    def test_biases_are_seen(self, inventoried: Inventoried) -> None:
        inventory = inventoried("Qwen/Qwen2.5-0.5B")
        assert {item.role for item in inventory.layers if item.bias} == {"q", "k", "v"}
        biases = next(group for group in inventory.others if group.part == "bias")
        assert biases.elements == 24 * (896 + 128 + 128)
        assert biases.tensors == 24 * 3

    @pytest.mark.parametrize(
        ("name", "tied"),
        [
            ("HuggingFaceTB/SmolLM2-135M-Instruct", True),
            ("Qwen/Qwen2.5-0.5B", True),
            ("google/gemma-3-27b-it", True),
            ("CohereForAI/c4ai-command-r-v01", True),
            ("Qwen/Qwen3-8B", False),
            ("meta-llama/Meta-Llama-3.1-70B", False),
            ("deepseek-ai/DeepSeek-V3", False),
        ],
    )
    def test_tied_heads_are_seen(self, name: str, tied: bool, inventoried: Inventoried) -> None:
        inventory = inventoried(name)
        assert inventory.tied_embeddings is tied
        assert [item.role for item in inventory.layers if item.tied] == (["lm_head"] if tied else [])


class TestMixtureOfExperts:
    @pytest.mark.parametrize(
        ("name", "experts", "per_token", "shared"),
        [
            ("Qwen/Qwen3-30B-A3B", 128, 8, 0),
            ("Qwen/Qwen3-235B-A22B", 128, 8, 0),
            ("Qwen/Qwen3-Next-80B-A3B-Instruct", 512, 10, 1),
            ("mistralai/Mixtral-8x7B-v0.1", 8, 2, 0),
            ("openai/gpt-oss-20b", 32, 4, 0),
            ("openai/gpt-oss-120b", 128, 4, 0),
            ("deepseek-ai/DeepSeek-V2-Lite", 64, 6, 2),
            ("deepseek-ai/DeepSeek-V3", 256, 8, 1),
            ("zai-org/GLM-4.5-Air", 128, 8, 1),
            ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 16, 1, 1),
            ("ibm-granite/granite-4.0-h-small", 72, 10, 1),
        ],
    )
    def test_has_the_published_numbers(
        self, name: str, experts: int, per_token: int, shared: int, inventoried: Inventoried
    ) -> None:
        inventory = inventoried(name)
        assert inventory.moe is not None
        assert (inventory.moe.experts, inventory.moe.experts_per_token) == (experts, per_token)
        assert inventory.moe.shared_experts == shared
        assert {item.experts for item in inventory.layers} == {0, experts}

    def test_qwen3_splits_experts_into_three_projections(self, inventoried: Inventoried) -> None:
        inventory = inventoried("Qwen/Qwen3-30B-A3B")
        for leaf, expected in (("gate_proj", (768, 2048)), ("up_proj", (768, 2048)), ("down_proj", (2048, 768))):
            item = family(inventory, f"experts.{{expert}}.{leaf}")
            assert item.name == f"model.layers.{{block}}.mlp.experts.{{expert}}.{leaf}"
            assert (shape(item), span(item), item.experts) == (expected, [(0, 47)], 128)
            assert item.role == f"expert_{leaf.removesuffix('_proj')}"
            assert item.quantizable
        assert inventory.quantizable_count == 48 * (4 + 3 * 128) + 1
        router = next(group for group in inventory.others if group.part == "router")
        assert router.elements == 48 * 128 * 2048

    def test_gpt_oss_keeps_interleaved_gate_and_up_together(self, inventoried: Inventoried) -> None:
        inventory = inventoried("openai/gpt-oss-20b")
        both = family(inventory, "experts.{expert}.gate_up_proj")
        down = family(inventory, "experts.{expert}.down_proj")
        # Stored as (experts, in, out): 2880 is on the input side although it comes second to last on disk.
        assert (shape(both), shape(down)) == ((5760, 2880), (2880, 2880))
        assert (both.role, down.role) == ("expert_gate_up", "expert_down")
        assert both.bias
        assert down.bias
        assert both.experts == down.experts == 32
        assert span(both) == span(down) == [(0, 23)]
        assert not any(item.role in {"expert_gate", "expert_up"} for item in inventory.layers)

    def test_mixtral_is_named_as_quark_splits_it(self, inventoried: Inventoried) -> None:
        inventory = inventoried("mistralai/Mixtral-8x7B-v0.1")
        names = {item.name for item in inventory.layers if item.experts}
        assert names == {
            f"model.layers.{{block}}.mlp.experts.{{expert}}.{leaf}" for leaf in ("gate_proj", "up_proj", "down_proj")
        }
        assert shape(family(inventory, "experts.{expert}.down_proj")) == (4096, 14336)
        assert inventory.quantizable_count == 32 * (4 + 8 * 3) + 1

    def test_deepseek_v3_has_45033_linears_in_few_families(self, inventoried: Inventoried) -> None:
        inventory = inventoried("deepseek-ai/DeepSeek-V3")
        attention, dense, sparse = 61 * 5, 3 * 3, 58 * (3 * 256 + 3)
        assert inventory.quantizable_count == attention + dense + sparse + 1 == 45_033
        assert len(inventory.layers) < 25

    def test_deepseek_v3_begins_with_dense_blocks(self, inventoried: Inventoried) -> None:
        inventory = inventoried("deepseek-ai/DeepSeek-V3")
        assert span(family(inventory, "mlp.gate_proj")) == [(0, 2)]
        assert span(family(inventory, "mlp.experts.{expert}.gate_proj")) == [(3, 60)]
        assert span(family(inventory, "mlp.shared_experts.gate_proj")) == [(3, 60)]
        assert shape(family(inventory, "mlp.down_proj")) == (7168, 18432)
        assert shape(family(inventory, "mlp.experts.{expert}.down_proj")) == (7168, 2048)

    def test_deepseek_v3_has_latent_attention(self, inventoried: Inventoried) -> None:
        inventory = inventoried("deepseek-ai/DeepSeek-V3")
        found = {item.role: shape(item) for item in inventory.layers if item.role.startswith("mla")}
        assert found == {
            "mla_q_a": (1536, 7168),
            "mla_q_b": (128 * (128 + 64), 1536),
            "mla_kv_a": (512 + 64, 7168),
            "mla_kv_b": (128 * (128 + 128), 512),
        }

    def test_llama_4_experts_stay_native(self, built: Built, inventoried: Inventoried) -> None:
        inventory = inventoried("meta-llama/Llama-4-Scout-17B-16E-Instruct")
        experts = [item for item in inventory.layers if item.experts]
        assert {item.name.rsplit(".", 1)[-1]: shape(item) for item in experts} == {
            "gate_up_proj": (2 * 8192, 5120),
            "down_proj": (5120, 8192),
        }
        assert not any(item.quantizable for item in experts)
        assert not any("{expert}" in item.name for item in experts)
        assert {tuple(span(item)) for item in experts} == {((0, 47),)}
        assert family(inventory, "feed_forward.shared_expert.down_proj").quantizable
        assert any("experts" in risk.message for risk in built("meta-llama/Llama-4-Scout-17B-16E-Instruct").risks)

    def test_granite_has_experts_in_its_own_module(self, inventoried: Inventoried) -> None:
        inventory = inventoried("ibm-granite/granite-4.0-h-small")
        item = family(inventory, "block_sparse_moe.experts.{expert}.down_proj")
        assert (shape(item), item.experts, span(item)) == ((4096, 768), 72, [(0, 39)])


class TestVision:
    @pytest.mark.parametrize(
        "name", ["google/gemma-3-27b-it", "Qwen/Qwen3.5-27B", "meta-llama/Llama-4-Scout-17B-16E-Instruct"]
    )
    def test_layers_have_the_role_vision_and_no_other(self, name: str, inventoried: Inventoried) -> None:
        for item in inventoried(name).layers:
            in_vision = any(word in item.name for word in ("vision", "visual", "multi_modal"))
            assert (item.role == "vision") == in_vision, item.name

    def test_part_of_gemma_3_is_counted(self, inventoried: Inventoried) -> None:
        inventory = inventoried("google/gemma-3-27b-it")
        vision = [item for item in inventory.layers if item.role == "vision"]
        assert sum(item.count for item in vision) == 27 * 6
        assert {shape(item) for item in vision} == {(1152, 1152), (4304, 1152), (1152, 4304)}
        assert inventory.quantizable_count == 27 * 6 + 62 * 7 + 1
        assert inventory.blocks == 62


class TestHybrids:
    def test_qwen3_next_has_linear_attention_in_three_blocks_of_four(self, inventoried: Inventoried) -> None:
        inventory = inventoried("Qwen/Qwen3-Next-80B-A3B-Instruct")
        full = {3, 7, 11, 15, 19, 23, 27, 31, 35, 39, 43, 47}
        assert set(family(inventory, "self_attn.q_proj").block_indices) == full
        assert set(family(inventory, "linear_attn.out_proj").block_indices) == set(range(48)) - full
        # The query projection of gated attention is twice as wide: 16 heads of 256, and a gate for each.
        assert shape(family(inventory, "self_attn.q_proj")) == (2 * 16 * 256, 2048)
        assert shape(family(inventory, "linear_attn.in_proj_qkvz")) == (2 * 16 * 128 + 2 * 32 * 128, 2048)
        assert family(inventory, "mlp.shared_expert_gate").out_features == 1
        assert family(inventory, "mlp.shared_expert_gate").role == "shared_gate_scalar"
        assert span(family(inventory, "mlp.experts.{expert}.up_proj")) == [(0, 47)]

    def test_granite_has_attention_in_four_blocks(self, inventoried: Inventoried) -> None:
        inventory = inventoried("ibm-granite/granite-4.0-h-small")
        assert family(inventory, "self_attn.q_proj").block_indices == (5, 15, 25, 35)
        assert set(family(inventory, "mamba.in_proj").block_indices) == set(range(40)) - {5, 15, 25, 35}

    def test_lfm2_has_convolutions_and_attention(self, inventoried: Inventoried) -> None:
        inventory = inventoried("LiquidAI/LFM2-1.2B")
        attention = set(family(inventory, "self_attn.q_proj").block_indices)
        assert attention == {2, 5, 8, 10, 12, 14}
        assert set(family(inventory, "conv.in_proj").block_indices) == set(range(16)) - attention


class TestPaths:
    @pytest.mark.parametrize("name", MODELS)
    def test_are_as_many_as_the_layers(self, name: str, inventoried: Inventoried) -> None:
        for item in inventoried(name).layers:
            paths = list(item.paths())
            assert len(paths) == item.count, item.name
            assert not any("{" in path for path in paths), item.name

    @pytest.mark.parametrize("name", MODELS)
    def test_of_what_quark_sees_are_all_different(self, name: str, inventoried: Inventoried) -> None:
        inventory = inventoried(name)
        paths = [path for item in inventory.layers if item.quantizable for path in item.paths()]
        assert len(paths) == len(set(paths)) == inventory.quantizable_count

    def test_fill_in_block_and_expert(self) -> None:
        item = LayerFamily(
            name="model.layers.{block}.mlp.experts.{expert}.up_proj",
            role="expert_up",
            in_features=8,
            out_features=4,
            blocks=(BlockRange(first=1, last=1), BlockRange(first=3, last=3)),
            experts=2,
        )
        assert list(item.paths()) == [
            f"model.layers.{block}.mlp.experts.{expert}.up_proj" for block in (1, 3) for expert in (0, 1)
        ]
        assert item.count == 4
        assert item.weight_elements == prod(shape(item))
        assert item.path() == item.name
        assert item.path(3) == "model.layers.3.mlp.experts.{expert}.up_proj"
