"""Differences of checkpoints to what transformers builds: complete to the element, and each with its cause."""

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from math import ceil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver import api
from solver.catalog import Catalog
from solver.intake.analysis import ModelAnalysis
from solver.intake.analyze import _inventory
from solver.intake.checkpoint import with_checkpoint
from solver.intake.differences import BuiltModel, find_differences
from solver.intake.headers import read_headers
from solver.intake.inventory import Difference, Inventory
from solver.intake.meta import MetaModel, build_on_meta
from solver.intake.reading import Reading
from solver.intake.source import ModelSource, find_source
from solver.intake.tensors import Checkpoint, TensorInfo
from tests.data import rows
from tests.intake.checkpoints import INDEXES, add_tensors, change_config, published_names, save_model, stored
from tests.quark.tiny import TEMPLATED, UNTEMPLATED

Build = Callable[[str], tuple[MetaModel, Inventory]]


@pytest.fixture(scope="session")
def build(catalog: Catalog) -> Build:
    """Return the meta model of a bundled or published configuration and its inventory, before any checkpoint."""

    @cache
    def build(model: str) -> tuple[MetaModel, Inventory]:
        published = INDEXES.get(model)
        source = ModelSource(model, "file", published["config"]) if published else find_source(model, catalog)
        meta = build_on_meta(source, "bfloat16")
        reading = Reading(source, str(meta.config.model_type), None)
        return meta, _inventory(meta, "bfloat16", None, reading, catalog)[0]

    return build


def inventory_of(analysis: ModelAnalysis) -> Inventory:
    assert analysis.inventory is not None
    return analysis.inventory


def causes(inventory: Inventory) -> dict[str, Difference]:
    """Return the differences by cause, after a look at their sums."""
    elements = [item.elements for item in inventory.differences]
    sizes = [item.bytes for item in inventory.differences]
    assert None not in elements + sizes
    assert inventory.stored_elements is not None
    assert sum(filter(None, elements)) == inventory.stored_elements - inventory.elements_total
    built_bytes = inventory.elements_total * inventory.dtype_bytes
    assert sum(filter(None, sizes)) == inventory.checkpoint_bytes - built_bytes
    assert all(item.meaning and item.names and item.tensors >= len(item.names) for item in inventory.differences)
    return {item.cause: item for item in inventory.differences}


def saved_causes(folder: Path, catalog: Catalog) -> dict[str, Difference]:
    return causes(inventory_of(api.analyze(str(folder), catalog=catalog)))


class TestSavedByTransformers:
    @pytest.mark.parametrize("model_type", [*TEMPLATED, *UNTEMPLATED])
    def test_has_no_difference_without_a_cause(self, model_type: str, tmp_path: Path, catalog: Catalog) -> None:
        folder = save_model(tmp_path, model_type, shard="1MB")
        inventory = inventory_of(api.analyze(str(folder), catalog=catalog))
        headers = read_headers(folder)
        assert headers is not None
        assert (inventory.checkpoint_bytes, inventory.stored_elements) == (headers.size_bytes, headers.elements)
        assert set(causes(inventory)) <= {"separate experts", "buffers", "another type"}

    def test_dense_model_is_what_is_built(self, tmp_path: Path, catalog: Catalog) -> None:
        for name, tied in (("tied", True), ("untied", False)):
            folder = save_model(tmp_path / name, "qwen3", tie_word_embeddings=tied)
            assert saved_causes(folder, catalog) == {}

    def test_tied_head_that_is_stored_again_is_not_in_the_plan(self, tmp_path: Path, catalog: Catalog) -> None:
        once = save_model(tmp_path / "once", "qwen3", tie_word_embeddings=True)
        twice = save_model(tmp_path / "twice", "qwen3", tie_word_embeddings=True)
        add_tensors(twice, lm_head__weight=((256, 128), "bfloat16"))
        plain, double = (inventory_of(api.analyze(str(folder), catalog=catalog)) for folder in (once, twice))
        head = causes(double)["tied head stored twice"]
        assert (head.elements, head.bytes, head.names) == (256 * 128, 2 * 256 * 128, ("lm_head.weight",))
        assert double.checkpoint_bytes == plain.checkpoint_bytes + 2 * 256 * 128
        assert (double.layers, double.others) == (plain.layers, plain.others)

    def test_tied_head_that_alone_is_stored_is_no_difference(self, tmp_path: Path, catalog: Catalog) -> None:
        from safetensors.torch import load_file, save_file

        folder = save_model(tmp_path, "qwen3", tie_word_embeddings=True)
        content = load_file(folder / "model.safetensors")
        content["lm_head.weight"] = content.pop("model.embed_tokens.weight")
        save_file(content, folder / "model.safetensors")
        assert saved_causes(folder, catalog) == {}

    def test_experts_lie_one_by_one(self, tmp_path: Path, catalog: Catalog) -> None:
        experts = saved_causes(save_model(tmp_path, "qwen3_moe"), catalog)["separate experts"]
        assert (experts.elements, experts.tensors) == (0, 4 * 4 * 3)

    def test_masks_of_gpt2_are_buffers(self, tmp_path: Path, catalog: Catalog) -> None:
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64, "vocab_size": 128}
        folder = tmp_path / "gpt2"
        import torch
        from safetensors.torch import load_file, save_file
        from transformers import AutoConfig, AutoModelForCausalLM

        AutoModelForCausalLM.from_config(AutoConfig.for_model("gpt2", **sizes)).save_pretrained(folder)
        content = load_file(folder / "model.safetensors")
        # The published file has no prefix, and a mask for each block.
        content = {name.removeprefix("transformer."): value for name, value in content.items()}
        for block in range(2):
            content[f"h.{block}.attn.bias"] = torch.ones(1, 1, 64, 64)
        save_file(content, folder / "model.safetensors")
        found = saved_causes(folder, catalog)
        assert set(found) == {"buffers"}
        assert (found["buffers"].elements, found["buffers"].bytes) == (2 * 64 * 64, 4 * 2 * 64 * 64)

    def test_rotary_frequencies_are_buffers(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = save_model(tmp_path, "llama")
        add_tensors(folder, model__layers__0__self_attn__rotary_emb__inv_freq=((16,), "float32"))
        assert saved_causes(folder, catalog)["buffers"].elements == 16

    def test_layer_for_multi_token_prediction_is_one(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = save_model(tmp_path, "deepseek_v3")
        add_tensors(
            folder,
            model__layers__4__eh_proj__weight=((128, 256), "bfloat16"),
            model__layers__4__self_attn__o_proj__weight=((128, 128), "bfloat16"),
            model__layers__4__self_attn__o_proj__weight_scale_inv=((1, 1), "float32"),
        )
        found = saved_causes(folder, catalog)
        assert found["multi-token-prediction layers"].elements == 128 * 256 + 128 * 128 + 1
        assert "quantization scales" not in found

    def test_vision_part_beside_a_text_model_is_one(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = save_model(tmp_path, "qwen3")
        add_tensors(folder, model__visual__blocks__30__attn__qkv__weight=((24, 8), "bfloat16"))
        assert saved_causes(folder, catalog)["vision part"].elements == 24 * 8

    def test_stranger_is_unexplained(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = save_model(tmp_path, "qwen3")
        add_tensors(folder, model__layers__0__odd__thing=((7,), "bfloat16"))
        assert saved_causes(folder, catalog)["unexplained"].elements == 7

    def test_projections_that_are_fused_on_disk_are_told_by_their_elements(
        self, tmp_path: Path, catalog: Catalog
    ) -> None:
        import torch
        from safetensors.torch import load_file, save_file

        folder = save_model(tmp_path, "qwen3")
        content = load_file(folder / "model.safetensors")
        for block in range(4):
            parts = [content.pop(f"model.layers.{block}.self_attn.{leaf}_proj.weight") for leaf in "qkv"]
            content[f"model.layers.{block}.attention.wqkv.weight"] = torch.cat(parts)
        save_file(content, folder / "model.safetensors")
        fused = saved_causes(folder, catalog)["fused on disk"]
        assert (fused.elements, fused.bytes, fused.tensors) == (0, 0, 4)

    def test_blocks_that_are_not_stored_are_named(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = save_model(tmp_path, "qwen3")
        plain = inventory_of(api.analyze(str(folder), catalog=catalog))
        change_config(folder, num_hidden_layers=5, layer_types=...)
        more = inventory_of(api.analyze(str(folder), catalog=catalog))
        missing = causes(more)["not in the checkpoint"]
        assert missing.elements == plain.elements_total - more.elements_total
        assert "model.layers.4." in missing.names[0]

    def test_shapes_that_the_configuration_does_not_have_are_a_high_risk(
        self, tmp_path: Path, catalog: Catalog
    ) -> None:
        folder = save_model(tmp_path, "qwen3")
        assert not any("not what its" in risk.message for risk in api.analyze(str(folder), catalog=catalog).risks)
        analysis = api.analyze(str(change_config(folder, vocab_size=320)), catalog=catalog)
        assert causes(inventory_of(analysis))["another shape"].elements == 2 * (256 - 320) * 128
        assert any("not what its" in risk.message and risk.severity == "high" for risk in analysis.risks)


class TestType:
    def test_as_stored_wins_over_the_configuration(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = change_config(save_model(tmp_path, "qwen3", dtype="float32"), dtype="bfloat16")
        analysis = api.analyze(str(folder), catalog=catalog)
        assert inventory_of(analysis).dtype == "float32"
        assert causes(inventory_of(analysis)) == {}
        (line,) = analysis.assumptions
        assert "float32" in line
        assert "bfloat16" in line

    def test_that_no_configuration_names_is_as_stored(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = change_config(save_model(tmp_path, "qwen3", dtype="float16"), dtype=..., torch_dtype=...)
        analysis = api.analyze(str(folder), catalog=catalog)
        assert inventory_of(analysis).dtype == "float16"
        assert any("names none" in line for line in analysis.assumptions)

    def test_that_both_say_needs_no_word(self, tmp_path: Path, catalog: Catalog) -> None:
        assert api.analyze(str(save_model(tmp_path, "qwen3")), catalog=catalog).assumptions == ()

    def test_of_a_few_tensors_changes_bytes_alone(self, tmp_path: Path, catalog: Catalog) -> None:
        folder = save_model(tmp_path, "deepseek_v3")
        wide = saved_causes(folder, catalog)["another type"]
        # transformers saves the routers of three blocks in float32.
        assert (wide.elements, wide.bytes) == (0, 2 * 3 * 4 * 128)


class TestPublishedIndexes:
    @pytest.mark.parametrize(
        "model", [name for name in INDEXES if INDEXES[name]["config"]["model_type"] not in {"internlm2", "mimo"}]
    )
    def test_name_only_what_transformers_builds(self, model: str, build: Build, catalog: Catalog) -> None:
        names = published_names(model)
        assert len(names) == len(set(names)) == INDEXES[model]["tensors"]
        meta, inventory = build(model)
        alone = Checkpoint("index", tuple(TensorInfo(name) for name in names))
        completed = with_checkpoint(inventory, alone, meta, catalog)
        assert {item.cause for item in completed.differences} <= {"separate experts"}
        assert completed.stored_elements == completed.elements_total
        # With no other difference, the index's own total has to be that of the parameters.
        assert INDEXES[model]["bytes"] == 2 * inventory.elements_total
        assert completed.checkpoint_bytes == inventory.checkpoint_bytes

    def test_of_a_tied_model_may_name_the_head(self, build: Build, catalog: Catalog) -> None:
        meta, inventory = build("mirror/Llama-3.2-3B")
        names = [*published_names("mirror/Llama-3.2-3B"), "lm_head.weight"]
        alone = Checkpoint("index", tuple(TensorInfo(name) for name in names))
        (head,) = with_checkpoint(inventory, alone, meta, catalog).differences
        assert (head.cause, head.elements, head.bytes) == ("tied head stored twice", 128256 * 3072, None)


def split_experts(name: str, shape: tuple[int, ...]) -> list[tuple[str, tuple[int, ...]]]:
    """Return a parameter of transformers' as the hub stores it: fused experts one by one."""
    if name.endswith("experts.gate_up_proj"):
        stem = name.removesuffix(".gate_up_proj")
        leaves, size = ("gate_proj", "up_proj"), (shape[1] // 2, shape[2])
    elif name.endswith("experts.down_proj"):
        stem, leaves, size = name.removesuffix(".down_proj"), ("down_proj",), shape[1:]
    else:
        return [(name, shape)]
    return [(f"{stem}.{expert}.{leaf}.weight", size) for expert in range(shape[0]) for leaf in leaves]


def deepseek_v3(meta: MetaModel) -> list[TensorInfo]:
    """Return the tensors of DeepSeek-V3 as published: fp8 in blocks of 128 x 128, and a layer for prediction."""
    shapes = {name: tuple(parameter.shape) for name, parameter in meta.model.named_parameters()}
    shapes |= {name.replace(".60.", ".61."): shape for name, shape in shapes.items() if ".layers.60." in name}
    found = []
    for name, shape in (item for pair in shapes.items() for item in split_experts(*pair)):
        if len(shape) == 2 and ".layers." in name and not name.endswith("mlp.gate.weight"):
            found.append(stored(name, "F8_E4M3", shape))
            found.append(stored(f"{name}_scale_inv", "F32", (ceil(shape[0] / 128), ceil(shape[1] / 128))))
        else:
            found.append(stored(name, "BF16", shape))
    last = "model.layers.61"
    found += [stored(f"model.layers.{block}.mlp.gate.e_score_correction_bias", "F32", (256,)) for block in range(3, 62)]
    found += [stored(f"{last}.{leaf}.weight", "BF16", (129280, 7168)) for leaf in ("embed_tokens", "shared_head.head")]
    found += [stored(f"{last}.{leaf}.weight", "BF16", (7168,)) for leaf in ("enorm", "hnorm", "shared_head.norm")]
    return [*found, stored(f"{last}.eh_proj.weight", "BF16", (7168, 14336))]


class TestPublishedTensors:
    def test_of_deepseek_v3_are_weights_scales_and_one_more_layer(self, build: Build, catalog: Catalog) -> None:
        meta, inventory = build("deepseek-ai/DeepSeek-V3")
        tensors = deepseek_v3(meta)
        # As published: 91,991 tensors of these types.
        counts: Counter[str | None] = Counter()
        for item in tensors:
            counts[item.dtype] += item.elements or 0
        assert counts == {"F8_E4M3": 680_571_043_840, "BF16": 3_918_786_560, "F32": 41_555_600}
        assert len(tensors) == 91_991
        completed = with_checkpoint(inventory, Checkpoint("hub", tuple(tensors)), meta, catalog)
        found = causes(completed)
        assert completed.checkpoint_bytes == 688_574_839_360
        assert set(found) == {
            "multi-token-prediction layers",
            "quantization scales",
            "buffers",
            "another type",
            "separate experts",
        }
        last = sum(item.elements or 0 for item in tensors if ".layers.61." in item.name)
        assert found["multi-token-prediction layers"].elements == last
        assert found["buffers"].elements == 58 * 256
        assert found["separate experts"].tensors == 58 * 256 * 3

    @pytest.mark.parametrize(
        "row",
        [row for row in rows("checkpoint_bytes.csv") if row["quantized"] == "mxfp4"],
        ids=lambda row: row["model"],
    )
    def test_of_gpt_oss_are_packed_experts(self, row: dict[str, str], build: Build, catalog: Catalog) -> None:
        meta, inventory = build(row["model"])
        tensors = []
        for name, parameter in meta.model.named_parameters():
            shape = tuple(parameter.shape)
            if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
                # Published as (experts, out, groups of 32, 16 bytes) and one scale for each group.
                groups = (shape[0], shape[2], shape[1] // 32)
                tensors += [stored(f"{name}_blocks", "U8", (*groups, 16)), stored(f"{name}_scales", "U8", groups)]
            else:
                tensors.append(stored(name, "BF16", shape))
        completed = with_checkpoint(inventory, Checkpoint("hub", tuple(tensors)), meta, catalog)
        assert completed.checkpoint_bytes == int(row["tensor_bytes"])
        assert set(causes(completed)) == {"packed storage", "quantization scales"}

    def test_of_qwen3_06b_hold_the_tied_head_again(self, build: Build, catalog: Catalog) -> None:
        # Published: 751,632,384 elements, of which transformers builds 596,049,920.
        meta, inventory = build("Qwen/Qwen3-0.6B")
        tensors = [stored(name, "BF16", tuple(item.shape)) for name, item in meta.model.named_parameters()]
        tensors.append(stored("lm_head.weight", "BF16", (151936, 1024)))
        completed = with_checkpoint(inventory, Checkpoint("hub", tuple(tensors)), meta, catalog)
        assert (completed.elements_total, completed.stored_elements) == (596_049_920, 751_632_384)
        assert set(causes(completed)) == {"tied head stored twice"}

    @pytest.mark.parametrize(
        ("suffixes", "expected"),
        [
            ({".qweight": "I32", ".scales": "F16", ".qzeros": "I32", ".g_idx": "I32"}, {"packed storage"}),
            ({".weight_packed": "I32", ".weight_scale": "BF16", ".weight_shape": "I64"}, {"packed storage"}),
            ({".weight": "U8", ".weight_scale": "F8_E4M3", ".weight_scale_2": "F32"}, {"packed storage"}),
            ({".weight": "F8_E4M3", ".weight_scale": "F32", ".input_scale": "F32"}, {"another type"}),
            ({".weight": "U8", ".weight.absmax": "F32", ".weight.quant_map": "F32"}, {"packed storage"}),
        ],
        ids=["gptq", "compressed-tensors", "nvfp4", "fp8", "bitsandbytes"],
    )
    def test_of_quantized_formats_are_weights_and_scales(
        self, suffixes: dict[str, str], expected: set[str], build: Build, catalog: Catalog
    ) -> None:
        meta, inventory = build("Qwen/Qwen3-0.6B")
        tensors = []
        for name, item in meta.model.named_parameters():
            shape = tuple(item.shape)
            if name.endswith("_proj.weight"):
                packed = 1 if suffixes.get(".weight") == "F8_E4M3" else 4
                first, *rest = suffixes.items()
                stem = name.removesuffix(".weight")
                tensors.append(stored(stem + first[0], first[1], (shape[0], shape[1] // packed)))
                tensors += [stored(stem + suffix, dtype, (shape[0],)) for suffix, dtype in rest]
            else:
                tensors.append(stored(name, "BF16", shape))
        completed = with_checkpoint(inventory, Checkpoint("hub", tuple(tensors)), meta, catalog)
        assert set(causes(completed)) == expected | {"quantization scales"}


NAMES = [
    "model.embed_tokens.weight",
    "lm_head.weight",
    "model.layers.0.mlp.up_proj.weight",
    "model.layers.0.mlp.experts.0.up_proj.weight",
    "model.layers.0.mlp.experts.1.up_proj.weight",
    "model.layers.0.self_attn.qkv.weight",
    "model.layers.1.mlp.up_proj.qweight",
    "model.layers.1.mlp.up_proj.scales",
    "model.layers.2.eh_proj.weight",
    "visual.blocks.0.fc1.weight",
    "mtp.fc.weight",
    "rope.inv_freq",
    "odd",
]


class TestSums:
    @settings(deadline=None, max_examples=200)
    @given(
        st.dictionaries(
            st.sampled_from(NAMES),
            st.tuples(st.sampled_from(["BF16", "F32", "U8", "F8_E4M3"]), st.integers(0, 6), st.integers(1, 4)),
        ),
        st.dictionaries(st.sampled_from(NAMES), st.integers(0, 24)),
        st.integers(1, 2),
    )
    def test_are_exact_whatever_is_stored_and_built(
        self,
        catalog: Catalog,
        found: dict[str, tuple[str, int, int]],
        built: dict[str, int],
        dtype_bytes: int,
    ) -> None:
        tensors = [stored(name, dtype, (rows, columns)) for name, (dtype, rows, columns) in found.items()]
        shared = {"lm_head.weight": "model.embed_tokens.weight"} if "model.embed_tokens.weight" in built else {}
        parameters = {name: count for name, count in built.items() if name not in shared}
        loaded = {name: name.replace("experts.0", "experts").replace("experts.1", "experts") for name in NAMES}
        model = BuiltModel(parameters, shared, frozenset({"odd"}), loaded, 2, dtype_bytes)
        differences = find_differences(tensors, model, catalog.roles, catalog.stored_tensors)
        count = sum(item.elements or 0 for item in tensors)
        size = sum(item.size_bytes or 0 for item in tensors)
        assert sum(item.elements or 0 for item in differences) == count - sum(parameters.values())
        assert sum(item.bytes or 0 for item in differences) == size - sum(parameters.values()) * dtype_bytes

    def test_are_written_and_read_again(self, tmp_path: Path, catalog: Catalog) -> None:
        analysis = api.analyze(str(save_model(tmp_path, "qwen3_moe")), catalog=catalog)
        assert ModelAnalysis.model_validate(json.loads(json.dumps(analysis.document()))) == analysis
