"""Files that are no configuration, or contradict themselves as text: what is wrong, where, and how to mend it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from solver import api
from solver.catalog import Catalog
from solver.errors import BadInputError
from tests.data.zoo import ZOO
from tests.intake.conftest import LLAMA, WriteModel

TEXT = json.dumps(LLAMA)
DEEP = "[" * 100_000 + "]" * 100_000
NO_CONFIGURATION: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n\t",
    "cut off in a number": TEXT[: TEXT.index("64") + 1].encode(),
    "cut off before the end": TEXT[:-1].encode(),
    "an array": b"[1, 2]",
    "an array of the configuration": f"[{TEXT}]".encode(),
    "a text": b'"llama"',
    "a number": b"7",
    "null": b"null",
    "two documents": (TEXT * 2).encode(),
    "a comma too many": f"{TEXT[:-1]},}}".encode(),
    "single quotes": TEXT.replace('"', "'").encode(),
    "a comment": f"// Llama\n{TEXT}".encode(),
    "YAML": b"model_type: llama\nhidden_size: 64\n",
    "HTML": b"<!DOCTYPE html><html><body>404</body></html>",
    "a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n",
    "a byte-order mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "UTF-16": TEXT.encode("utf-16"),
    "Latin-1": '{"model_type": "ll\xe4ma"}'.encode("latin-1"),
    "zeros": bytes(64),
    "an array of great depth": DEEP.encode(),
    "a field of great depth": f'{TEXT[:-1]}, "more": {DEEP}}}'.encode(),
    "a number of 5,000 digits": f'{TEXT[:-1]}, "more": {"9" * 5000}}}'.encode(),
    "one key with two numbers": f'{TEXT[:-1]}, "hidden_size": 128}}'.encode(),
    "one key with two types": f'{TEXT[:-1]}, "model_type": "mistral"}}'.encode(),
    "one key with two values inside": f'{TEXT[:-1]}, "rope_scaling": {{"factor": 2.0, "factor": 4.0}}}}'.encode(),
}
SIDE_FILE = "hf_quant_config.json"


def refusal(folder: Path, catalog: Catalog) -> BadInputError:
    """Return the error that analysing a folder ends in: one line that says what, where and how to mend it."""
    with pytest.raises(BadInputError) as caught:
        api.analyze(str(folder), catalog=catalog)
    error = caught.value
    assert "\n" not in str(error)
    assert error.what
    assert error.where
    assert error.mend
    return error


class TestFile:
    @pytest.mark.parametrize("content", NO_CONFIGURATION.values(), ids=NO_CONFIGURATION.keys())
    def test_that_is_no_configuration_is_refused(
        self, content: bytes, write_model: WriteModel, catalog: Catalog
    ) -> None:
        folder = write_model()
        (folder / "config.json").write_bytes(content)
        error = refusal(folder, catalog)
        assert error.where == str(folder / "config.json")
        assert "config.json" in (error.mend or "")

    def test_may_say_the_same_thing_twice(self, write_model: WriteModel, catalog: Catalog) -> None:
        folder = write_model()
        (folder / "config.json").write_text(f'{TEXT[:-1]}, "hidden_size": 64}}', encoding="utf-8")
        assert api.analyze(str(folder), catalog=catalog).analysis_status == "complete"

    @pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b'{"a": 1, "a": 2}'])
    def test_beside_it_that_is_no_json_is_refused(
        self, content: bytes, write_model: WriteModel, catalog: Catalog
    ) -> None:
        folder = write_model()
        (folder / SIDE_FILE).write_bytes(content)
        assert refusal(folder, catalog).where == str(folder / SIDE_FILE)

    @pytest.mark.parametrize(
        "block", [{}, {"quant_algo": 7}, {"quant_algo": None}, {"quant_algo": "NVFP5"}, {"quant_algo": ["FP8"]}]
    )
    def test_beside_it_that_names_no_format_leaves_the_bytes_open(
        self, block: dict[str, object], write_model: WriteModel, catalog: Catalog
    ) -> None:
        folder = write_model()
        (folder / SIDE_FILE).write_text(json.dumps({"quantization": block}), encoding="utf-8")
        analysis = api.analyze(str(folder), catalog=catalog)
        assert analysis.inventory is not None
        assert analysis.inventory.checkpoint_bytes is None
        assert analysis.analysis_status == "partial"

    def test_may_be_a_folder_of_that_name(self, tmp_path: Path, catalog: Catalog) -> None:
        (tmp_path / "config.json").mkdir()
        refusal(tmp_path, catalog)


FP8 = {"quant_method": "fp8"}
PACKED = {"quant_method": "compressed-tensors", "format": "pack-quantized"}
WEIGHTS = {"num_bits": 4, "group_size": 32, "type": "int", "strategy": "group", "symmetric": True}
UNKNOWN_FORMATS: list[dict[str, object]] = [
    {"quant_method": 5},
    {"quant_method": None},
    {"quant_method": ["fp8"]},
    {"quant_method": {"fp8": 1}},
    {"quant_method": "nobody-knows"},
    {**FP8, "weight_block_size": "128"},
    {**FP8, "weight_block_size": [0, 0]},
    {**FP8, "weight_block_size": [-1, 128]},
    {**FP8, "weight_block_size": [128]},
    {**PACKED, "config_groups": [1]},
    {**PACKED, "config_groups": "all"},
    {**PACKED, "config_groups": {"group_0": None}},
    {**PACKED, "config_groups": {"group_0": {"targets": ["Linear"], "weights": None}}},
    {**PACKED, "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": "four"}}}},
    {**PACKED, "config_groups": {"group_0": {"targets": ["Linear"], "weights": {**WEIGHTS, "group_size": 0}}}},
    {"quant_method": "gptq", "bits": 0, "group_size": 128},
    {"quant_method": "gptq", "bits": 4, "group_size": 0},
    {"quant_method": "awq", "bits": 4, "group_size": -7, "version": "gemm"},
    {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": [1]},
    {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {"lm_head": 5}},
    {"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp3"}}},
    {"quant_method": "quark", "global_quant_config": "fp8"},
    {"bits": "four", "group_size": 64},
    {"bits": 4, "group_size": 0},
]


class TestQuantization:
    @pytest.mark.parametrize("place", ["quantization_config", "quantization", "text"])
    @pytest.mark.parametrize("block", UNKNOWN_FORMATS, ids=json.dumps)
    def test_that_fits_no_format_leaves_the_bytes_open(
        self, place: str, block: dict[str, object], write_model: WriteModel, catalog: Catalog
    ) -> None:
        fields = {"text_config": {**LLAMA, "quantization_config": block}} if place == "text" else {place: block}
        base: dict[str, Any] = {"model_type": "llava"} if place == "text" else LLAMA
        analysis = api.analyze(str(write_model(base=base, **fields)), catalog=catalog)
        assert analysis.inventory is not None
        assert analysis.inventory.checkpoint_bytes is analysis.inventory.stored_elements is None
        assert analysis.inventory.unquantized_bytes > 0
        assert analysis.analysis_status == "partial"
        assert any("bytes of the checkpoint" in part for part in analysis.missing)
        assert analysis.inventory.differences == ()

    @pytest.mark.parametrize(
        "block",
        [
            {**PACKED, "config_groups": {"group_0": {"targets": ["re:(["], "weights": WEIGHTS}}},
            {**PACKED, "config_groups": {"group_0": {"targets": ["Linear"], "weights": WEIGHTS}}, "ignore": ["re:*"]},
        ],
    )
    def test_whose_list_holds_no_pattern_is_refused(
        self, block: dict[str, object], write_model: WriteModel, catalog: Catalog
    ) -> None:
        error = refusal(write_model(quantization_config=block), catalog)
        assert error.where == "quantization_config"
        assert "no regular expression" in error.what


INCOMPLETE = [
    ("Qwen/Qwen-7B", "intermediate_size", "intermediate_size"),
    ("Qwen/Qwen-7B", "num_attention_heads", "num_attention_heads"),
    ("microsoft/phi-2", "n_head", "num_attention_heads"),
    ("microsoft/phi-2", "n_embd", "hidden_size"),
    ("deepseek-ai/deepseek-moe-16b-base", "hidden_size", "hidden_size"),
    ("deepseek-ai/deepseek-moe-16b-base", "num_attention_heads", "num_attention_heads"),
    ("deepseek-ai/deepseek-vl2-tiny", "language_config", "language_config|use_mla"),
    ("deepseek-ai/Janus-1.3B", "language_config", "language_config|hidden_size"),
]
"""Types that are read through a translation, a field that it cannot do without, and what is said to be wrong."""


class TestTranslated:
    @pytest.mark.parametrize("value", [..., None, "many", [], {}], ids=str)
    @pytest.mark.parametrize(("name", "field", "said"), INCOMPLETE)
    def test_that_lacks_what_the_translation_needs_is_refused(
        self, name: str, field: str, said: str, value: object, write_model: WriteModel, catalog: Catalog
    ) -> None:
        config = ZOO[name]["config"]
        assert field in config
        error = refusal(write_model(base=config, **{field: value}), catalog)
        assert re.search(said, error.what)

    def test_whose_sizes_cannot_be_divided_is_refused(self, write_model: WriteModel, catalog: Catalog) -> None:
        error = refusal(write_model(base=ZOO["Qwen/Qwen-7B"]["config"], intermediate_size=22015), catalog)
        assert "intermediate_size 22015 is not divisible by 2" in error.what

    def test_that_the_translation_is_not_meant_for_is_refused(self, write_model: WriteModel, catalog: Catalog) -> None:
        config = ZOO["deepseek-ai/deepseek-vl2-tiny"]["config"]
        language = {**config["language_config"], "use_mla": True}
        error = refusal(write_model(base=config, language_config=language), catalog)
        assert "use_mla is False" in error.what
        assert "--trust-remote-code" in (error.mend or "")


class TestModelType:
    @pytest.mark.parametrize("model_type", ["bert", "roberta", "electra", "t5", "bart", "whisper", "marian", "mbart"])
    def test_with_an_encoder_is_refused_though_a_class_exists(
        self, model_type: str, write_model: WriteModel, catalog: Catalog
    ) -> None:
        error = refusal(write_model(base={"model_type": model_type}), catalog)
        assert "has an encoder" in error.what
        assert repr(model_type) in error.what

    def test_with_a_decoder_that_attends_to_an_encoder_is_refused(
        self, write_model: WriteModel, catalog: Catalog
    ) -> None:
        sizes = {"d_model": 64, "decoder_layers": 2, "decoder_attention_heads": 4, "decoder_ffn_dim": 128}
        error = refusal(write_model(base={"model_type": "trocr", "vocab_size": 512, **sizes}), catalog)
        assert "encoder_attn" in error.what

    @pytest.mark.parametrize("model_type", ["rwkv", "xlstm"])
    def test_without_attention_says_what_is_not_stated(
        self, model_type: str, write_model: WriteModel, catalog: Catalog
    ) -> None:
        sizes = {"hidden_size": 256, "num_hidden_layers": 2, "vocab_size": 512, "num_heads": 4}
        error = refusal(write_model(base={"model_type": model_type, **sizes}), catalog)
        assert "it states no num_attention_heads" in error.what

    @pytest.mark.parametrize("model_type", ["clip", "siglip", "vit", "sam", "musicgen", "xlnet", "distilbert"])
    def test_of_no_decoder_is_refused(self, model_type: str, write_model: WriteModel, catalog: Catalog) -> None:
        error = refusal(write_model(base={"model_type": model_type, "hidden_size": 64, "d_model": 64}), catalog)
        assert "states none of" not in error.what

    @pytest.mark.parametrize("model_type", [5, ["llama"], {"a": 1}, True])
    def test_that_is_no_text_is_named(self, model_type: object, write_model: WriteModel, catalog: Catalog) -> None:
        assert "is no name" in refusal(write_model(model_type=model_type), catalog).what

    def test_of_a_decoder_is_taken_whatever_old_files_say(self, write_model: WriteModel, catalog: Catalog) -> None:
        # transformers 4 wrote these two fields into every file.
        folder = write_model(is_decoder=False, is_encoder_decoder=False)
        assert api.analyze(str(folder), catalog=catalog).analysis_status == "complete"

    def test_with_code_of_its_own_asks_for_consent(self, write_model: WriteModel, catalog: Catalog) -> None:
        auto_map = {"AutoConfig": "configuration_own.Config", "AutoModelForCausalLM": "modeling_own.Model"}
        folder = write_model(model_type="own-code", auto_map=auto_map)
        (folder / "configuration_own.py").write_text("raise SystemExit('was run')", encoding="utf-8")
        assert "--trust-remote-code" in (refusal(folder, catalog).mend or "")


class TestSizes:
    @pytest.mark.parametrize("model_type", ["llama", "gpt2", "mixtral", "gemma3", "qwen3_5"])
    def test_that_are_not_stated_at_all_are_not_made_up(
        self, model_type: str, write_model: WriteModel, catalog: Catalog
    ) -> None:
        error = refusal(write_model(base={"model_type": model_type, "vocab_size": 1000}), catalog)
        assert "hidden_size" in error.what

    def test_may_have_the_names_of_their_type(self, write_model: WriteModel, catalog: Catalog) -> None:
        folder = write_model(base={"model_type": "gpt2", "n_embd": 64, "n_head": 4})
        inventory = api.analyze(str(folder), catalog=catalog).inventory
        assert inventory is not None
        assert inventory.hidden_size == 64


class TestFields:
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("hidden_size", True),
            ("hidden_size", [64]),
            ("hidden_size", 10**30),
            ("vocab_size", 2**62),
            ("vocab_size", None),
            ("num_hidden_layers", None),
            ("num_hidden_layers", False),
            ("num_attention_heads", None),
            ("intermediate_size", None),
            ("max_position_embeddings", 0),
            ("max_position_embeddings", None),
            ("max_position_embeddings", float("inf")),
            ("layer_types", ["full_attention"] * 3),
            ("layer_types", "full_attention"),
            ("layer_types", [None, None]),
            ("hidden_act", "no-such-activation"),
            ("rope_scaling", "linear"),
            ("rope_scaling", {"rope_type": "no-such-type", "factor": 2.0}),
            ("rope_scaling", {"rope_type": "linear"}),
            ("rope_theta", "large"),
            ("pad_token_id", 100_000),
            ("tie_word_embeddings", "yes"),
            ("attention_bias", "no"),
            ("text_config", 5),
            ("torch_dtype", "float4"),
            ("dtype", {"weights": "bfloat16"}),
        ],
    )
    def test_that_cannot_be_are_refused(
        self, field: str, value: object, write_model: WriteModel, catalog: Catalog
    ) -> None:
        refusal(write_model(**{field: value}), catalog)

    def test_of_a_name_that_is_looked_up_say_so(self, write_model: WriteModel, catalog: Catalog) -> None:
        assert "'gelu-7' is missing or not known" in refusal(write_model(hidden_act="gelu-7"), catalog).what

    @pytest.mark.parametrize(
        "fields",
        [
            {"text_config": "text"},
            {"text_config": [LLAMA]},
            {"text_config": {**LLAMA, "vocab_size": 0}},
            {"text_config": {**LLAMA, "hidden_size": None}},
            {"text_config": {**LLAMA, "torch_dtype": "bf17"}},
            {"text_config": {**LLAMA, "model_type": "no-such-type"}},
            {"text_config": LLAMA, "vision_config": "vision"},
        ],
    )
    def test_of_a_language_part_that_cannot_be_are_refused(
        self, fields: dict[str, object], write_model: WriteModel, catalog: Catalog
    ) -> None:
        refusal(write_model(base={"model_type": "llava"}, **fields), catalog)
