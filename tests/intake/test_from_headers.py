"""Architectures that transformers has no class for: known by the headers of their checkpoints."""

import json
from pathlib import Path
from typing import Any

import pytest

from solver import api
from solver.catalog import Catalog
from solver.errors import BadInputError, NoDecoderError
from solver.intake.analysis import ModelAnalysis
from solver.intake.from_headers import inventory_from_headers
from solver.intake.inventory import Inventory, LayerFamily
from solver.intake.tensors import Checkpoint
from solver.plan.request import PlanRequest
from tests.intake.checkpoints import INDEXES, add_tensors, change_config, published_names, save_model, stored

UNKNOWN = {"model_type": "nobody_knows", "architectures": ["NobodyForCausalLM"], "auto_map": {"AutoModel": "m.Nobody"}}
ROUTERS = {"router", "shared_gate_scalar"}


def analysed(folder: Path, catalog: Catalog) -> tuple[ModelAnalysis, Inventory]:
    analysis = api.analyze(str(folder), catalog=catalog)
    assert analysis.inventory is not None
    return analysis, analysis.inventory


def by_name(inventory: Inventory) -> dict[str, LayerFamily]:
    """Return the layer families by name; which routers are linear layers, headers cannot tell."""
    return {family.name: family for family in inventory.layers if family.role not in ROUTERS}


class TestEncoders:
    def test_are_refused_though_their_headers_lie_there(self, tmp_path: Path, catalog: Catalog) -> None:
        from transformers import BertConfig, BertForMaskedLM

        sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
        BertForMaskedLM(BertConfig(vocab_size=100, **sizes)).save_pretrained(tmp_path)
        with pytest.raises(NoDecoderError, match="'bert' has an encoder"):
            api.analyze(str(tmp_path), catalog=catalog)

    def test_of_a_type_that_nobody_knows_are_refused_too(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = change_config(save_model(tmp_path, "qwen3"), **UNKNOWN, is_encoder_decoder=True)
        with pytest.raises(NoDecoderError, match="'nobody_knows' has an encoder"):
            api.analyze(str(folder), catalog=catalog)


class TestUnknownType:
    @pytest.mark.parametrize(
        "model_type", ["qwen3", "qwen2_moe", "qwen3_moe", "deepseek_v3", "glm4_moe", "gptj", "phi3", "lfm2", "llama4"]
    )
    def test_has_the_inventory_of_the_known_one(self, model_type: str, tmp_path: Path, catalog: Catalog) -> None:
        folder = save_model(tmp_path, model_type)
        _, known = analysed(folder, catalog)
        analysis, unknown = analysed(change_config(folder, **UNKNOWN), catalog)
        assert analysis.analysis_status == "complete"
        if model_type != "llama4":  # whose stored names transformers changes
            assert by_name(unknown) == by_name(known)
        for field in (
            "dtype",
            "hidden_size",
            "vocab_size",
            "blocks",
            "max_context",
            "tied_embeddings",
            "caches",
            "moe",
        ):
            assert getattr(unknown, field) == getattr(known, field), field
        assert unknown.stored_elements == known.stored_elements
        assert unknown.checkpoint_bytes == known.checkpoint_bytes

    @pytest.mark.parametrize("model_type", ["qwen3", "qwen3_moe", "deepseek_v3", "gemma3", "granitemoehybrid"])
    def test_counts_every_element_once(self, model_type: str, tmp_path: Path, catalog: Catalog) -> None:
        folder = change_config(save_model(tmp_path, model_type), **UNKNOWN)
        _, inventory = analysed(folder, catalog)
        layers = sum(family.weight_elements * family.count for family in inventory.layers if not family.tied)
        assert layers + sum(group.elements for group in inventory.others) == inventory.elements_total
        assert inventory.stored_elements == inventory.elements_total + sum(
            item.elements or 0 for item in inventory.differences
        )
        assert inventory.checkpoint_bytes == inventory.elements_total * inventory.dtype_bytes + sum(
            item.bytes or 0 for item in inventory.differences
        )

    def test_says_so(self, tmp_path: Path, catalog: Catalog) -> None:
        analysis, _ = analysed(change_config(save_model(tmp_path, "qwen3"), **UNKNOWN), catalog)
        assert analysis.assumptions == (
            "read from the checkpoint's headers: transformers has no class for model type 'nobody_knows'",
        )
        assert any(risk.severity == "high" and "transformers" in risk.message for risk in analysis.risks)
        assert any("no template" in risk.message for risk in analysis.risks)

    def test_with_a_configuration_that_cannot_be_built_says_why(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = change_config(save_model(tmp_path, "qwen3"), hidden_size="many")
        analysis, inventory = analysed(folder, catalog)
        assert "hidden_size" in analysis.assumptions[0]
        assert inventory.hidden_size == 128

    def test_stored_in_experts_of_three_dimensions_stays_native(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = change_config(save_model(tmp_path, "granitemoehybrid"), **UNKNOWN)
        _, inventory = analysed(folder, catalog)
        experts = {family.role: family for family in inventory.layers if family.experts}
        assert {role: (item.in_features, item.out_features) for role, item in experts.items()} == {
            "expert_gate_up": (128, 512),
            "expert_down": (256, 128),
        }
        assert not any(family.quantizable for family in experts.values())

    def test_in_fp8_is_known_to_be_quantized(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = change_config(save_model(tmp_path, "qwen3"), **UNKNOWN)
        add_tensors(folder, model__layers__0__mlp__up_proj__weight_scale_inv=((2, 1), "float32"))
        analysis, inventory = analysed(folder, catalog)
        assert any("already quantized" in risk.message for risk in analysis.risks)
        assert {item.cause: item.elements for item in inventory.differences} == {"quantization scales": 2}

    def test_with_a_layer_for_prediction_leaves_it_out(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = change_config(save_model(tmp_path, "qwen3"), **UNKNOWN)
        _, plain = analysed(folder, catalog)
        add_tensors(folder, model__layers__4__eh_proj__weight=((128, 256), "bfloat16"))
        _, more = analysed(folder, catalog)
        assert more.layers == plain.layers
        assert [item.cause for item in more.differences] == ["multi-token-prediction layers"]

    def test_without_shapes_is_refused(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = change_config(save_model(tmp_path, "qwen3", shard="300KB"), **UNKNOWN)
        for path in folder.glob("*.safetensors"):
            path.unlink()
        with pytest.raises(BadInputError, match="nobody_knows"):
            api.analyze(str(folder), catalog=catalog)

    def test_that_is_no_language_model_is_refused(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = save_model(tmp_path, "qwen3")
        change_config(folder, **UNKNOWN)
        (folder / "model.safetensors").unlink()
        from safetensors.torch import save_file
        from torch import zeros

        save_file({"conv.weight": zeros(3, 3, 3, 3)}, folder / "model.safetensors")
        with pytest.raises(BadInputError, match="embedding"):
            api.analyze(str(folder), catalog=catalog)


ENCODERS: dict[str, tuple[str, dict[str, int]]] = {
    "bert": (
        "AutoModelForMaskedLM",
        {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128},
    ),
    "electra": (
        "AutoModel",
        {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128},
    ),
    "bart": (
        "AutoModelForSeq2SeqLM",
        {
            "d_model": 64,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 2,
            "decoder_attention_heads": 2,
        },
    ),
}


class TestEncoder:
    @pytest.mark.parametrize("config", ["its own", "of an unknown type", "none"])
    @pytest.mark.parametrize("model_type", ENCODERS)
    def test_is_refused_by_the_names_of_its_layers(
        self, model_type: str, config: str, tmp_path: Path, catalog: Catalog
    ) -> None:
        import transformers

        head, sizes = ENCODERS[model_type]
        made = transformers.AutoConfig.for_model(model_type, vocab_size=256, **sizes)
        getattr(transformers, head).from_config(made).save_pretrained(tmp_path)
        if config == "none":
            (tmp_path / "config.json").unlink()
        elif config == "of an unknown type":
            (tmp_path / "config.json").write_text(json.dumps(UNKNOWN | sizes), encoding="utf-8")
        with pytest.raises(BadInputError, match="encoder") as caught:
            api.analyze(str(tmp_path), catalog=catalog)
        assert caught.value.mend is not None

    def test_beside_a_decoder_is_no_reason_to_refuse_it(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = change_config(save_model(tmp_path, "qwen3"), **UNKNOWN)
        add_tensors(folder, qformer__encoder__layer__0__attention__query__weight=((64, 64), "bfloat16"))
        _, inventory = analysed(folder, catalog)
        assert inventory.blocks == 4


class TestWithoutConfiguration:
    def test_caches_are_missing_and_nothing_else(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = save_model(tmp_path, "qwen3")
        _, known = analysed(folder, catalog)
        (folder / "config.json").unlink()
        analysis, inventory = analysed(folder, catalog)
        assert analysis.analysis_status == "partial"
        (missing,) = analysis.missing
        assert "KV cache" in missing
        assert inventory.caches == ()
        assert (inventory.blocks, inventory.dtype) == (known.blocks, known.dtype)
        assert by_name(inventory) == by_name(known)

    def test_heads_under_other_names_are_found(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = save_model(tmp_path, "qwen3")
        _, known = analysed(folder, catalog)
        old = {"model_type": "old", "n_head": 4, "n_head_kv": 2, "d_head": 32, "n_layer": 4, "n_positions": 512}
        (folder / "config.json").write_text(json.dumps(old), encoding="utf-8")
        analysis, inventory = analysed(folder, catalog)
        assert analysis.missing == ()
        assert inventory.caches == known.caches


def internlm2(leaf: str) -> tuple[int, ...]:
    """Return the shapes of internlm2-chat-1_8b: 16 heads of 128, 8 of them for keys and for values."""
    return {
        "tok_embeddings": (92544, 2048),
        "output": (92544, 2048),
        "wqkv": (128 * (16 + 2 * 8), 2048),
        "wo": (2048, 2048),
        "w1": (8192, 2048),
        "w3": (8192, 2048),
        "w2": (2048, 8192),
    }.get(leaf, (2048,))


def mimo(leaf: str) -> tuple[int, ...]:
    """Return the shapes of MiMo-7B: 32 heads of 128, 8 for keys and for values, and one layer for prediction."""
    return {
        "embed_tokens": (151680, 4096),
        "lm_head": (151680, 4096),
        "q_proj": (4096, 4096),
        "k_proj": (1024, 4096),
        "v_proj": (1024, 4096),
        "o_proj": (4096, 4096),
        "gate_proj": (11008, 4096),
        "up_proj": (11008, 4096),
        "down_proj": (4096, 11008),
        "input_proj": (4096, 8192),
    }.get(leaf, (4096,))


class TestPublished:
    def checkpoint(self, model: str, shape_of: Any) -> Checkpoint:
        tensors = []
        for name in published_names(model):
            path, _, kind = name.rpartition(".")
            shape = shape_of(path.rpartition(".")[2])
            tensors.append(stored(name, "BF16", shape[:1] if kind == "bias" else shape))
        checkpoint = Checkpoint(model, tuple(tensors))
        assert checkpoint.size_bytes == INDEXES[model]["bytes"]
        return checkpoint

    def test_internlm2_is_read_with_its_fused_layers_and_its_head(self, catalog: Catalog) -> None:
        model = "internlm/internlm2-chat-1_8b"
        inventory, missing = inventory_from_headers(
            INDEXES[model]["config"], self.checkpoint(model, internlm2), "bfloat16", catalog, where=model
        )
        assert missing == []
        assert inventory.elements_total == 1_889_110_016
        roles = {family.name.rsplit(".", 1)[-1]: family.role for family in inventory.layers}
        assert roles == {
            "wqkv": "qkv",
            "wo": "o",
            "w1": "gate",
            "w2": "down",
            "w3": "up",
            "output": "lm_head",
        }
        assert not inventory.tied_embeddings
        (cache,) = inventory.caches
        assert (cache.blocks, cache.kv_heads, cache.key_elements) == (24, 8, 128)

    def test_mimo_is_read_without_its_layer_for_prediction(self, catalog: Catalog) -> None:
        model = "XiaomiMiMo/MiMo-7B"
        inventory, missing = inventory_from_headers(
            INDEXES[model]["config"], self.checkpoint(model, mimo), "bfloat16", catalog, where=model
        )
        assert missing == []
        # What transformers' qwen2, the same architecture without prediction, builds of this configuration.
        assert inventory.elements_total == 7_622_619_136
        assert [item.cause for item in inventory.differences] == ["multi-token-prediction layers"]


class TestPlan:
    def test_is_made_for_an_unknown_type(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = change_config(save_model(tmp_path, "deepseek_v3"), **UNKNOWN)
        request = PlanRequest(model=str(folder), hardware="mi300x", budget_bytes=8 * 10**9)
        answer = api.solve(request, catalog=catalog)
        assert answer.alternatives
        for item in answer.alternatives:
            assert item.footprint is not None
            # A router is a plain matrix by its headers: it stays native by name.
            assert any("gate" in pattern for pattern in item.exclude_layers)
            assert any("transformers" in risk.message for risk in item.risks)
        assert any("headers" in line for line in answer.assumptions)

    def test_without_a_cache_says_what_is_missing(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = save_model(tmp_path, "qwen3")
        (folder / "config.json").unlink()
        request = PlanRequest(model=str(folder), hardware="mi300x", budget_bytes=8 * 10**9)
        answer = api.solve(request, catalog=catalog)
        assert answer.alternatives[0].footprint is not None
        assert any("KV cache" in line for line in answer.missing)
