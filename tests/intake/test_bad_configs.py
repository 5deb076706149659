"""Configurations that cannot be right: one clear line, never a traceback and never a made-up model."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

from solver import api
from solver.catalog import Catalog
from solver.errors import BadInputError
from tests.intake.conftest import WriteModel

NAN, INFINITY = float("nan"), float("inf")
MIXTRAL: dict[str, Any] = {
    "architectures": ["MixtralForCausalLM"],
    "head_dim": 16,
    "hidden_size": 64,
    "intermediate_size": 128,
    "model_type": "mixtral",
    "num_attention_heads": 4,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "num_local_experts": 8,
    "vocab_size": 256,
}


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which temporary files of this test lie."""
    folder = tmp_path / "scratch-of-the-tool"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def refusal(folder: Path, catalog: Catalog, scratch: Path) -> BadInputError:
    """Return the error that analysing a folder ends in; it fits on one line and names no file of the tool."""
    with pytest.raises(BadInputError) as caught:
        api.analyze(str(folder), catalog=catalog)
    message = str(caught.value)
    assert "\n" not in message
    assert scratch.name not in message
    assert caught.value.where is not None
    assert str(folder) in caught.value.where
    return caught.value


class TestModelType:
    def test_that_is_absent_is_asked_for(self, write_model: WriteModel, catalog: Catalog, scratch: Path) -> None:
        error = refusal(write_model(model_type=..., architectures=...), catalog, scratch)
        assert "model_type" in str(error)

    def test_that_nobody_knows_is_named(self, write_model: WriteModel, catalog: Catalog, scratch: Path) -> None:
        assert "nobody-knows" in str(refusal(write_model(model_type="nobody-knows"), catalog, scratch))

    @pytest.mark.parametrize("model_type", [5, ["llama"], {"a": 1}, None, True, "", "../llama"])
    def test_that_is_no_name_is_refused(
        self, model_type: object, write_model: WriteModel, catalog: Catalog, scratch: Path
    ) -> None:
        refusal(write_model(model_type=model_type), catalog, scratch)

    @pytest.mark.parametrize("model_type", ["clip", "vit", "t5", "sam"])
    def test_of_no_language_model_is_refused(
        self, model_type: str, write_model: WriteModel, catalog: Catalog, scratch: Path
    ) -> None:
        refusal(write_model(base={"model_type": model_type}), catalog, scratch)

    @pytest.mark.parametrize("model_type", ["bert", "rwkv"])
    def test_of_no_decoder_with_attention_is_no_crash(
        self, model_type: str, write_model: WriteModel, catalog: Catalog
    ) -> None:
        folder = write_model(base={"model_type": model_type, "num_hidden_layers": 2})
        try:
            analysis = api.analyze(str(folder), catalog=catalog)
        except BadInputError:
            return
        assert analysis.risks or analysis.missing


class TestNumbers:
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("hidden_size", 0),
            ("hidden_size", -64),
            ("hidden_size", 65),
            ("hidden_size", "64"),
            ("hidden_size", None),
            ("hidden_size", 64.5),
            ("hidden_size", NAN),
            ("num_attention_heads", 0),
            ("num_attention_heads", -4),
            ("num_attention_heads", "4"),
            ("num_attention_heads", [4]),
            ("num_key_value_heads", 0),
            ("num_key_value_heads", -2),
            ("num_key_value_heads", 3),
            ("head_dim", 0),
            ("head_dim", -16),
            ("head_dim", "16"),
            ("num_hidden_layers", 0),
            ("num_hidden_layers", -1),
            ("num_hidden_layers", "2"),
            ("num_hidden_layers", 2.5),
            ("intermediate_size", 0),
            ("intermediate_size", -1),
            ("intermediate_size", {}),
            ("vocab_size", 0),
            ("vocab_size", -256),
            ("vocab_size", INFINITY),
            ("max_position_embeddings", -1),
            ("max_position_embeddings", "many"),
            ("layer_types", ["full_attention"]),
            ("layer_types", ["no_such_attention", "full_attention"]),
        ],
    )
    def test_that_contradict_are_refused(
        self, field: str, value: object, write_model: WriteModel, catalog: Catalog, scratch: Path
    ) -> None:
        refusal(write_model(**{field: value}), catalog, scratch)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("num_local_experts", 0),
            ("num_local_experts", -8),
            ("num_local_experts", "8"),
            ("num_experts_per_tok", 9),
            ("num_experts_per_tok", -2),
            ("num_experts_per_tok", "2"),
            ("num_experts_per_tok", [2]),
        ],
    )
    def test_of_experts_that_contradict_are_refused(
        self, field: str, value: object, write_model: WriteModel, catalog: Catalog, scratch: Path
    ) -> None:
        refusal(write_model(base=MIXTRAL, **{field: value}), catalog, scratch)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("sliding_window", -1),
            ("sliding_window", "wide"),
            ("sliding_window", 1.5),
            ("sliding_window", [64]),
            ("sliding_window", NAN),
            ("v_head_dim", "wide"),
            ("v_head_dim", INFINITY),
            ("kv_lora_rank", "x"),
            ("kv_lora_rank", 16),
            ("layers_block_type", 5),
            ("layers_block_type", True),
            ("num_experts_per_tok", "x"),
            ("num_nextn_predict_layers", {}),
        ],
    )
    def test_of_other_types_are_refused_or_ignored(
        self, field: str, value: object, write_model: WriteModel, catalog: Catalog, scratch: Path
    ) -> None:
        plain = api.analyze(str(write_model("plain")), catalog=catalog)
        folder = write_model(**{field: value})
        try:
            analysis = api.analyze(str(folder), catalog=catalog)
        except BadInputError:
            refusal(folder, catalog, scratch)
        else:
            assert analysis.inventory == plain.inventory

    def test_that_are_right_are_taken(self, write_model: WriteModel, catalog: Catalog) -> None:
        for base in ({}, {"base": MIXTRAL}):
            assert api.analyze(str(write_model(**base)), catalog=catalog).analysis_status == "complete"


class TestParts:
    @pytest.mark.parametrize("architectures", [5, 1.5, True, [5], [None], [["LlamaForCausalLM"]]])
    def test_that_name_no_architecture_are_no_crash(
        self, architectures: object, write_model: WriteModel, catalog: Catalog, scratch: Path
    ) -> None:
        folder = write_model(architectures=architectures)
        try:
            analysis = api.analyze(str(folder), catalog=catalog)
        except BadInputError:
            refusal(folder, catalog, scratch)
        else:
            assert analysis.model.architecture == "LlamaForCausalLM"

    @pytest.mark.parametrize("architectures", [None, [], ["Trainer"], ["BertModel"], ["torch"], ["NoSuchModel"]])
    def test_that_name_another_architecture_leave_it_to_the_type(
        self, architectures: object, write_model: WriteModel, catalog: Catalog
    ) -> None:
        analysis = api.analyze(str(write_model(architectures=architectures)), catalog=catalog)
        assert analysis.model.architecture == "LlamaForCausalLM"

    @pytest.mark.parametrize("text_config", ["text", ["text"], 7])
    def test_of_text_that_are_none_are_refused(
        self, text_config: object, write_model: WriteModel, catalog: Catalog, scratch: Path
    ) -> None:
        gemma = {"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"]}
        refusal(write_model(base=gemma, text_config=text_config), catalog, scratch)

    def test_of_text_that_stand_at_the_top_are_not_left_out_in_silence(
        self, write_model: WriteModel, catalog: Catalog, scratch: Path
    ) -> None:
        gemma = {"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"]}
        flat = write_model("flat", base=gemma, hidden_size=640, num_hidden_layers=18)
        refused = refusal(flat, catalog, scratch)
        assert "hidden_size 640 stands at the top" in refused.what
        assert "text_config" in str(refused.mend)

    @pytest.mark.parametrize("dtype", [["bfloat16"], {"a": 1}, "bf17", 16])
    def test_that_name_no_type_are_refused(
        self, dtype: object, write_model: WriteModel, catalog: Catalog, scratch: Path
    ) -> None:
        refusal(write_model(torch_dtype=dtype), catalog, scratch)

    @pytest.mark.parametrize("key", ["quantization_config", "quantization"])
    @pytest.mark.parametrize("value", ["fp8", 8, ["fp8"], True, 1.5])
    def test_that_say_strange_things_about_quantization_are_no_crash(
        self, key: str, value: object, write_model: WriteModel, catalog: Catalog, scratch: Path
    ) -> None:
        folder = write_model(**{key: value})
        try:
            analysis = api.analyze(str(folder), catalog=catalog)
        except BadInputError:
            refusal(folder, catalog, scratch)
        else:
            assert any("already quantized" in risk.message for risk in analysis.risks)


FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}


class TestQuantizedInput:
    def high_risks(self, folder: Path, catalog: Catalog) -> list[str]:
        analysis = api.analyze(str(folder), catalog=catalog)
        return [risk.message for risk in analysis.risks if risk.severity == "high"]

    @pytest.mark.parametrize(
        "fields",
        [
            {"quantization_config": FP8},
            {"quantization": {"quant_algo": "fp8"}},
            {"quantization_config": {"quant_method": "compressed-tensors", "format": "fp8"}},
        ],
    )
    def test_is_a_high_risk(self, fields: dict[str, object], write_model: WriteModel, catalog: Catalog) -> None:
        (message,) = self.high_risks(write_model(**fields), catalog)
        assert "already quantized" in message

    def test_is_seen_in_the_text_part(self, write_model: WriteModel, catalog: Catalog) -> None:
        text = {"model_type": "gemma3_text", "num_hidden_layers": 2, "quantization_config": FP8}
        gemma = {"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "text_config": text}
        (message,) = self.high_risks(write_model(base=gemma), catalog)
        assert "fp8" in message

    def test_is_seen_in_the_file_beside(self, write_model: WriteModel, catalog: Catalog) -> None:
        folder = write_model()
        assert self.high_risks(folder, catalog) == []
        (folder / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "NVFP4"}}', encoding="utf-8")
        (message,) = self.high_risks(folder, catalog)
        assert "hf_quant_config.json" in message

    def test_has_the_shapes_of_the_model_and_the_bytes_of_its_files(
        self, write_model: WriteModel, catalog: Catalog
    ) -> None:
        plain = api.analyze(str(write_model("plain")), catalog=catalog).inventory
        quantized = api.analyze(str(write_model("fp8", quantization_config=FP8)), catalog=catalog).inventory
        assert plain is not None
        assert quantized is not None
        assert quantized.unquantized_bytes == plain.unquantized_bytes == plain.checkpoint_bytes
        assert [family.model_copy(update={"stored": None}) for family in quantized.layers] == list(plain.layers)
        # Seven linears a block, none wider than one block of 128: a byte a weight and one float32 scale each.
        linears = [family for family in plain.layers if family.blocks]
        weights = sum(family.weight_elements * family.count for family in linears)
        assert sum(family.count for family in linears) == 2 * 7
        assert quantized.checkpoint_bytes == plain.checkpoint_bytes - weights + 2 * 7 * 4

    @pytest.mark.parametrize(
        ("name", "method"),
        [("openai/gpt-oss-20b", "mxfp4"), ("openai/gpt-oss-120b", "mxfp4"), ("deepseek-ai/DeepSeek-V3", "fp8")],
    )
    def test_of_bundled_models_is_named(self, name: str, method: str, catalog: Catalog) -> None:
        risks = [risk for risk in api.analyze(name, catalog=catalog).risks if risk.severity == "high"]
        assert any("already quantized" in risk.message and method in risk.message for risk in risks)


class TestOtherRisks:
    def test_a_type_without_a_template_is_a_high_risk(self, write_model: WriteModel, catalog: Catalog) -> None:
        bloom = {"model_type": "bloom", "hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 256}
        assert catalog.templates.find("bloom") is None
        (risk,) = api.analyze(str(write_model(base=bloom)), catalog=catalog).risks
        assert risk.severity == "high"
        assert "bloom" in risk.message
        assert risk.recovery_hint

    def test_layers_that_transformers_does_not_build_are_named(self, catalog: Catalog) -> None:
        for name in ("Qwen/Qwen3.5-27B", "zai-org/GLM-4.5-Air", "deepseek-ai/DeepSeek-V3"):
            assert any("multi-token" in risk.message for risk in api.analyze(name, catalog=catalog).risks), name

    def test_a_plain_model_has_none(self, write_model: WriteModel, catalog: Catalog) -> None:
        assert api.analyze(str(write_model()), catalog=catalog).risks == ()
