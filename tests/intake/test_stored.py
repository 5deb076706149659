"""Where a checkpoint says that it is quantized, and which format each of its layers has."""

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from solver import api
from solver.catalog import Catalog
from solver.catalog.stored_format import StoredFormat
from solver.errors import BadInputError
from solver.intake.source import ModelSource
from solver.intake.stored import StoredQuantization, stored_quantization
from solver.intake.stored_statements import flatten
from tests.intake.conftest import WriteModel

GATE = "model.layers.3.mlp.gate_proj"


def stated(catalog: Catalog, key: str = "quantization_config", **config: Any) -> StoredQuantization:
    """Return what a configuration with this block says."""
    found = stored_quantization(ModelSource("model", "file", config), catalog)
    assert found is not None
    return found


def formats(catalog: Catalog, block: dict[str, Any], *paths: str, **config: Any) -> list[str | None]:
    """Return the formats of some dense layers under a block of settings."""
    found = stated(catalog, quantization_config=block, **config)
    return [found.name_of(path, "dense") for path in paths]


class TestFormats:
    @pytest.mark.parametrize(
        ("block", "name"),
        [
            ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8_block"),
            ({"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"}, "fp8_block"),
            ({"quant_method": "fp8", "activation_scheme": "static"}, "fp8_tensor_static"),
            ({"quant_method": "fp8", "activation_scheme": "dynamic"}, "fp8_tensor_dynamic"),
            ({"quant_method": "fbgemm_fp8"}, "fbgemm_fp8"),
            ({"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm"}, "awq_4bit_g128"),
            ({"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": True}, "gptq_4bit_g32"),
            ({"quant_method": "gptq", "bits": 8, "group_size": -1}, "gptq_8bit_channel"),
            ({"quant_method": "bitsandbytes", "load_in_8bit": True, "load_in_4bit": False}, "bnb_int8"),
            ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bnb_4bit"),
            (
                {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True},
                "bnb_4bit_double",
            ),
            ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "modelopt_nvfp4"),
            ({"bits": 4, "group_size": 64}, "mlx_4bit_g64"),
        ],
    )
    def test_are_told_by_the_settings(self, block: dict[str, Any], name: str, catalog: Catalog) -> None:
        found = stated(catalog, quantization_config=block)
        assert (found.name_of(GATE, "dense"), found.unknown) == (name, ())

    @pytest.mark.parametrize(
        ("weights", "layout", "name"),
        [
            (
                {"num_bits": 4, "strategy": "group", "group_size": 128, "symmetric": True},
                "pack-quantized",
                "ct_int4_g128",
            ),
            ({"num_bits": 8, "type": "float", "strategy": "channel"}, "float-quantized", "ct_fp8_channel"),
            ({"num_bits": 8, "type": "int", "strategy": "channel"}, "int-quantized", "ct_int8_channel"),
            (
                {"num_bits": 4, "type": "float", "strategy": "tensor_group"},
                "nvfp4-pack-quantized",
                "ct_nvfp4_weight_only",
            ),
        ],
    )
    def test_of_compressed_tensors_are_told_by_the_group(
        self, weights: dict[str, Any], layout: str, name: str, catalog: Catalog
    ) -> None:
        group = {"targets": ["Linear"], "weights": weights, "input_activations": None}
        block = {"quant_method": "compressed-tensors", "format": layout, "config_groups": {"group_0": group}}
        assert formats(catalog, {**block, "ignore": ["lm_head"]}, GATE) == [name]

    @pytest.mark.parametrize(("bits", "layout"), [(4, "pack-quantized"), (8, "pack-quantized"), (8, "int-quantized")])
    def test_with_zero_points_for_rows_are_not_taken_for_those_without(
        self, bits: int, layout: str, catalog: Catalog
    ) -> None:
        weights = {"num_bits": bits, "type": "int", "strategy": "channel", "symmetric": False}
        group = {"targets": ["Linear"], "weights": weights}
        block = {"quant_method": "compressed-tensors", "format": layout, "config_groups": {"group_0": group}}
        found = stated(catalog, quantization_config=block)
        assert found.name_of(GATE, "dense") is None
        assert len(found.unknown) == 1

    @pytest.mark.parametrize(
        "block",
        [
            {"quant_method": "vptq"},
            {"quant_method": "awq", "bits": 3, "group_size": 48},
            {"quant_method": "fp8", "weight_block_size": [64, 64]},
            {"quant_method": "compressed-tensors", "format": "fp8"},
            {},
            "fp8",
        ],
    )
    def test_that_are_not_known_are_named_and_not_guessed(
        self, block: object, catalog: Catalog, write_model: WriteModel
    ) -> None:
        folder = write_model()
        if block == {}:
            (folder / "hf_quant_config.json").write_text("{}", encoding="utf-8")
        else:
            folder = write_model(quantization_config=block)
        analysis = api.analyze(str(folder), catalog=catalog)
        assert analysis.inventory is not None
        assert analysis.inventory.quantized is not None
        assert analysis.inventory.quantized.unknown
        assert analysis.inventory.checkpoint_bytes is analysis.inventory.stored_elements is None
        assert analysis.analysis_status == "partial"
        assert any("as it is stored" in fact for fact in analysis.missing)
        method = block.get("quant_method", "unnamed") if isinstance(block, dict) else str(block)
        assert any("is not known" in risk.message and method in risk.message for risk in analysis.risks)

    def test_cover_experts_and_not_the_head_unless_named(self, catalog: Catalog) -> None:
        found = stated(catalog, quantization_config={"quant_method": "mxfp4"})
        assert found.name_of("model.layers.0.mlp.experts.0.gate_up_proj", "experts") == "mxfp4_experts"
        assert found.name_of("model.layers.0.self_attn.q_proj", "dense") is None
        table = {"quant_algo": "MIXED_PRECISION", "quantized_layers": {"lm_head": {"quant_algo": "FP8"}}}
        named = stated(catalog, quantization_config=table)
        assert named.name_of("lm_head", "head") == "modelopt_fp8"
        assert named.name_of(GATE, "dense") is None
        assert named.unknown == ()


class TestFamilies:
    def test_find_each_of_their_formats_by_its_own_name(self, catalog: Catalog) -> None:
        names = [stored.name for family in catalog.stored_formats for stored in family.formats]
        assert len(names) == len(set(names)) > len(catalog.stored_formats)
        for name in names:
            stored = catalog.stored_formats.get(name).called(name)
            assert stored is not None
            assert stored.recognized
            assert catalog.storage_of(stored)

    @pytest.mark.parametrize(
        ("own", "reason"),
        [
            ({}, "x needs either storage or storage_of"),
            ({"storage_of": "fp8", "storage": [{"name": "weight", "dtype": "U8"}]}, "x needs either"),
            ({"storage_of": "fp8"}, "x needs conditions"),
            ({"variants": [{"name": "y", "title": "y", "recognized": {}}]}, "y needs either"),
            ({"variants": [{"name": "y", "title": "y", "recognized": {}, "storage_of": "fp8"}]}, "y needs conditions"),
            (
                {
                    "storage_of": "fp8",
                    "variants": [{"name": "y", "title": "y", "recognized": {"bits": 4}, "storage_of": "fp8"}],
                },
                "to its variants",
            ),
        ],
    )
    def test_state_conditions_and_storage_of_each_format_once(self, own: dict[str, Any], reason: str) -> None:
        with pytest.raises(ValidationError, match=reason):
            StoredFormat.model_validate({"name": "x", "title": "x", "layers": [], "source": "none", **own})


class TestLists:
    @pytest.mark.parametrize(
        ("listed", "path", "excluded"),
        [
            ("model.layers.3.mlp.gate", "model.layers.3.mlp.gate_proj", False),
            ("model.layers.3.mlp", "model.layers.3.mlp.gate_proj", True),
            ("model.layers.3", "model.layers.31.mlp.gate_proj", False),
            ("model.language_model.layers.3.mlp.gate_proj", "model.layers.3.mlp.gate_proj", True),
            ("language_model.model.layers.3.mlp.*", "model.language_model.layers.3.mlp.gate_proj", True),
            ("model.layers.*.self_attn", "model.layers.7.self_attn.q_proj", True),
            ("model.layers.3*", "model.layers.3.mlp.gate_proj", True),
            ("model.layers.3.*", "model.layers.30.mlp.gate_proj", False),
            ("re:.*self_attn.*", "model.layers.7.self_attn.q_proj", True),
            ("re:.*mlp\\.(gate|up)_proj$", "model.layers.7.mlp.shared_expert.up_proj", False),
            ("gate", "model.layers.3.mlp.gate_proj", False),
            ("gate_proj", "model.layers.3.mlp.gate_proj", True),
            ("model.layers.3.block_sparse_moe.experts.0.w1", "model.layers.3.mlp.experts.0.gate_proj", True),
            ("visual", "model.visual.blocks.0.attn.qkv", True),
            ("layers.3.mlp", "model.visual.layers.3.mlp.fc1", False),
        ],
    )
    def test_leave_out_what_they_name(self, listed: str, path: str, excluded: bool, catalog: Catalog) -> None:
        block = {"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": [listed]}
        assert formats(catalog, block, path) == [None if excluded else "fp8_block"]

    def test_of_a_text_part_say_nothing_of_the_vision_part(self, catalog: Catalog) -> None:
        group = {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}
        block = {"quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": {"g": group}}
        found = stated(catalog, text_config={"quantization_config": block})
        assert found.place == "text_config.quantization_config"
        assert found.name_of("model.vision_tower.blocks.0.fc", "vision") is None
        assert found.name_of("model.language_model.layers.0.mlp.up_proj", "dense") == "ct_fp8_channel"

    def test_of_targets_give_each_layer_its_group(self, catalog: Catalog) -> None:
        fp8 = {"num_bits": 8, "type": "float", "strategy": "channel"}
        int4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": True}
        block = {
            "quant_method": "compressed-tensors",
            "format": "mixed-precision",
            "config_groups": {
                "a": {"targets": ["re:.*self_attn.*"], "weights": fp8, "format": "float-quantized"},
                "b": {"targets": ["re:.*mlp.*"], "weights": int4, "format": "pack-quantized"},
            },
            "ignore": ["model.layers.0.mlp.gate_proj"],
        }
        paths = ("model.layers.3.self_attn.q_proj", GATE, "model.layers.0.mlp.gate_proj", "model.layers.3.other")
        assert formats(catalog, block, *paths) == ["ct_fp8_channel", "ct_int4_g128", None, None]

    def test_with_a_broken_expression_are_refused(self, catalog: Catalog, write_model: WriteModel) -> None:
        block = {"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": ["re:(*"]}
        with pytest.raises(BadInputError, match="no regular expression"):
            api.analyze(str(write_model(quantization_config=block)), catalog=catalog)

    @pytest.mark.parametrize("entries", [7, "lm_head", {"a": 1}, [None, 3]])
    def test_that_are_no_lists_are_no_crash(self, entries: object, catalog: Catalog, write_model: WriteModel) -> None:
        block = {"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": entries}
        analysis = api.analyze(str(write_model(quantization_config=block)), catalog=catalog)
        assert any("already quantized" in risk.message for risk in analysis.risks)

    @pytest.mark.parametrize(
        "block",
        [
            {"quant_method": "quark", "layer_quant_config": [1], "global_quant_config": "fp8"},
            {"quant_method": "compressed-tensors", "config_groups": {"a": {"targets": "Linear", "weights": 3}, "b": 1}},
            {"quant_algo": "MIXED_PRECISION", "quantized_layers": {"lm_head": "FP8"}},
            {"quant_method": 7, "weight_block_size": {"a": None}},
            {"quant_method": "fp8", "kv_cache_scheme": [1, 2]},
        ],
    )
    def test_beside_other_nonsense_are_no_crash(
        self, block: dict[str, Any], catalog: Catalog, write_model: WriteModel
    ) -> None:
        analysis = api.analyze(str(write_model(quantization_config=block)), catalog=catalog)
        assert any("already quantized" in risk.message for risk in analysis.risks)

    def test_of_seventy_thousand_experts_stay_quick(self, catalog: Catalog) -> None:
        names = [
            f"model.layers.{block}.mlp.experts.{expert}.{leaf}"
            for block in range(60)
            for expert in range(384)
            for leaf in ("gate_proj", "up_proj", "down_proj")
        ]
        table = {"quant_algo": "MIXED_PRECISION", "quantized_layers": {name: {"quant_algo": "NVFP4"} for name in names}}
        found = stated(catalog, quantization_config=table)
        assert len(found._rules) == 1
        assert all(found.name_of(name, "experts") == "modelopt_nvfp4" for name in names[:: 384 * 3])
        assert found.name_of("model.layers.0.mlp.shared_experts.up_proj", "dense") is None


class TestMlx:
    BLOCK: ClassVar[dict[str, Any]] = {
        "bits": 4,
        "group_size": 64,
        "model.layers.0.mlp.gate": {"bits": 8, "group_size": 64},
        "lm_head": False,
    }

    def test_quantizes_embeddings_and_routers_too(self, catalog: Catalog) -> None:
        found = stated(catalog, quantization=self.BLOCK)
        assert (found.method, found.place) == ("mlx", "quantization")
        assert found.name_of("model.embed_tokens", "embedding") == "mlx_4bit_g64"
        assert found.name_of("model.layers.0.mlp.gate", "router") == "mlx_8bit_g64"
        assert found.name_of("lm_head", "head") is None

    def test_embeddings_take_their_share_of_the_bytes(self, catalog: Catalog, write_model: WriteModel) -> None:
        folder = write_model(quantization={"bits": 4, "group_size": 64})
        inventory = api.analyze(str(folder), catalog=catalog).inventory
        assert inventory is not None
        norms = 5 * 64
        # 4 bits, and a scale and a bias of 16 bits for each 64 weights.
        assert inventory.checkpoint_bytes == (inventory.elements_total - norms) * (4 + 32 / 64) / 8 + 2 * norms


class TestSideFile:
    def test_that_is_broken_is_refused(self, write_model: WriteModel, catalog: Catalog) -> None:
        folder = write_model()
        (folder / "hf_quant_config.json").write_text("{", encoding="utf-8")
        with pytest.raises(BadInputError, match="not valid JSON"):
            api.analyze(str(folder), catalog=catalog)

    def test_of_another_configuration_is_not_read(self, write_model: WriteModel, catalog: Catalog) -> None:
        folder = write_model()
        (folder / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "FP8"}}', encoding="utf-8")
        other = folder / "other.json"
        other.write_text((folder / "config.json").read_text(encoding="utf-8"), encoding="utf-8")
        inventory = api.analyze(str(other), catalog=catalog).inventory
        assert inventory is not None
        assert inventory.quantized is None


class TestStatements:
    def test_are_flattened_by_path(self) -> None:
        block = json.loads('{"a": {"b": [{"c": 1}, {"c": null}]}, "size": [128, 128], "names": ["x"], "on": true}')
        assert flatten(block) == {"a.b.0.c": 1, "a.b.1.c": None, "size": "128x128", "on": True}


def test_places_are_tried_in_order(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "FP8"}}', encoding="utf-8")
    places = []
    config: dict[str, Any] = {
        "quantization_config": {"quant_method": "mxfp4"},
        "quantization": {"bits": 4, "group_size": 64},
        "text_config": {"quantization_config": {"quant_method": "fbgemm_fp8"}},
    }
    for key in (*config, None):
        found = stored_quantization(ModelSource("m", "folder", config, tmp_path), catalog)
        assert found is not None
        places.append((found.place, found.method))
        config = {name: value for name, value in config.items() if name != key}
    assert places == [
        ("quantization_config", "mxfp4"),
        ("quantization", "mlx"),
        ("text_config.quantization_config", "fbgemm_fp8"),
        ("hf_quant_config.json", "modelopt FP8"),
    ]
