"""Translations: what each step does, what it refuses, and that the names are those of the real checkpoints."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.catalog import Catalog
from solver.catalog.translation import Translation
from solver.errors import BadInputError
from solver.intake.inventory import Inventory, LayerFamily
from solver.intake.record import to_ranges
from solver.intake.source import ModelSource
from solver.intake.translate import find_translation, real_names, translated, uncounted_groups
from tests.data import rows
from tests.data.zoo import ZOO
from tests.intake.conftest import Analysed

SIZES = st.integers(1, 10**6)
NAMES = [row for row in rows("tensor_names.csv") if "norm" not in row["name"] and "ln_" not in row["name"]]
EMBEDDINGS = ("tok_embeddings", "embed_tokens", "wte")
NO_MATRICES = ("bias", "A_log", "conv1d.weight", "mlp.gate.weight")
"""Endings of tensors that are no linear layer's weight (a router is a bare parameter)."""


def translation(**fields: object) -> Translation:
    plain: dict[str, Any] = {"model_type": "old", "reads_as": "llama", "evidence": "none", "source": "none"}
    return Translation.model_validate({**plain, **fields})


def read(rule: Translation, **config: object) -> dict[str, Any]:
    """Return the configuration that is built instead."""
    return translated(ModelSource("here", "file", {"model_type": "old", **config}), rule).config


def refusal(rule: Translation, **config: object) -> str:
    with pytest.raises(BadInputError) as caught:
        read(rule, **config)
    assert caught.value.where == "here"
    assert "old" in (caught.value.mend or "")
    return caught.value.what


class TestSteps:
    @given(SIZES, SIZES)
    def test_a_derived_field_is_a_whole_quotient_or_refused(self, size: int, heads: int) -> None:
        rule = translation(derive={"head_dim": "hidden_size/num_attention_heads"})
        if size % heads:
            assert "not divisible" in refusal(rule, hidden_size=size, num_attention_heads=heads)
        else:
            assert read(rule, hidden_size=size, num_attention_heads=heads)["head_dim"] * heads == size

    @given(SIZES, st.integers(1, 99))
    def test_a_derived_field_may_be_a_multiple(self, size: int, factor: int) -> None:
        rule = translation(derive={"inner": f"{factor}*hidden_size"})
        assert read(rule, hidden_size=size)["inner"] == factor * size

    @given(SIZES, SIZES)
    def test_what_is_stated_is_not_derived(self, size: int, stated: int) -> None:
        rule = translation(derive={"inner": "4*hidden_size"})
        assert read(rule, hidden_size=size, inner=stated)["inner"] == stated
        assert read(rule, hidden_size=size, inner=None)["inner"] == 4 * size

    @given(SIZES, st.integers(2, 9))
    def test_a_divided_field_is_whole_or_refused(self, size: int, divisor: int) -> None:
        rule = translation(divide={"inner": divisor})
        assert read(rule, inner=size * divisor)["inner"] == size
        assert "not divisible" in refusal(rule, inner=size * divisor + 1)

    @pytest.mark.parametrize("heads", [0, -4])
    def test_nothing_is_divided_by_no_positive_number(self, heads: int) -> None:
        rule = translation(derive={"head_dim": "hidden_size/num_attention_heads"})
        assert "not divisible" in refusal(rule, hidden_size=64, num_attention_heads=heads)

    @pytest.mark.parametrize("value", [None, "64", 64.0, True, [64]])
    def test_only_whole_numbers_are_reckoned_with(self, value: object) -> None:
        assert "hidden_size" in refusal(translation(derive={"inner": "4*hidden_size"}), hidden_size=value)
        assert "hidden_size" in refusal(translation(divide={"hidden_size": 2}), hidden_size=value)

    def test_renamed_fields_have_the_new_name_alone(self) -> None:
        result = read(translation(rename={"n_embd": "hidden_size", "n_layer": "num_hidden_layers"}), n_embd=64)
        assert result["hidden_size"] == 64
        assert not {"n_embd", "n_layer", "num_hidden_layers"} & set(result)

    def test_fields_inside_are_made_floats_or_dropped_and_the_source_is_left_alone(self) -> None:
        inner = {"eps": 1, "extra": 2, "kept": 3}
        rule = translation(as_float=["ffn.eps", "ffn.absent"], drop=["ffn.extra", "nowhere.at_all"])
        result = read(rule, ffn=inner)
        assert result["ffn"] == {"eps": 1.0, "kept": 3}
        assert isinstance(result["ffn"]["eps"], float)
        assert inner == {"eps": 1, "extra": 2, "kept": 3}

    def test_a_nested_model_keeps_what_says_how_it_is_stored(self) -> None:
        result = read(
            translation(nested="language"), language={"hidden_size": 64}, torch_dtype="bfloat16", vision={"depth": 2}
        )
        assert (result["hidden_size"], result["torch_dtype"]) == (64, "bfloat16")
        assert "vision" not in result

    def test_what_stands_at_the_top_goes_inside_but_for_what_says_how_it_is_stored(self) -> None:
        rule = translation(inside="text_config", default={"text_config.heads": 96, "text_config.depth": 9})
        result = read(rule, hidden_size=64, depth=3, torch_dtype="bfloat16", quantization_config={"bits": 8})
        assert result["text_config"] == {"hidden_size": 64, "depth": 3, "heads": 96}
        assert result["torch_dtype"] == "bfloat16"
        assert result["quantization_config"] == {"bits": 8}
        assert "hidden_size" not in result

    def test_code_beside_the_model_is_not_asked_for(self) -> None:
        result = read(translation(architecture="LlamaForCausalLM"), auto_map={"AutoConfig": "own.Config"})
        assert "auto_map" not in result
        assert (result["model_type"], result["architectures"]) == ("llama", ["LlamaForCausalLM"])

    @pytest.mark.parametrize("rule", ["hidden_size*4", "a/b/c", "4", "2.5*a", "a+b", ""])
    def test_rules_of_another_form_are_no_profile(self, rule: str) -> None:
        with pytest.raises(ValueError, match="derive"):
            translation(derive={"inner": rule})


class TestChoice:
    def test_is_made_by_the_exact_type(self, catalog: Catalog) -> None:
        def found(model_type: object) -> Translation | None:
            return find_translation(ModelSource("here", "file", {"model_type": model_type}), catalog)

        assert found("internlm2") is not None
        assert [found(other) for other in ("InternLM2", "internlm", "llama", None, 7)] == [None] * 5

    def test_leaves_alone_what_transformers_reads_itself(self, catalog: Catalog) -> None:
        def found(**fields: object) -> Translation | None:
            return find_translation(ModelSource("here", "file", {"model_type": "step3p7", **fields}), catalog)

        assert found(hidden_size=4096) is not None
        assert found(text_config={"hidden_size": 4096}) is None

    def test_every_translation_is_proved_by_a_published_configuration(self, catalog: Catalog) -> None:
        types = {record["config"].get("model_type") for record in ZOO.values()}
        assert {entry.model_type for entry in catalog.translations} <= types

    @pytest.mark.parametrize("name", ["internlm/internlm2-chat-1_8b", "Qwen/Qwen-7B", "databricks/dbrx-instruct"])
    def test_is_told_with_its_evidence(self, name: str, analysed: Analysed, catalog: Catalog) -> None:
        analysis = analysed(name)
        entry = catalog.translations.get(str(ZOO[name]["config"]["model_type"]))
        assert analysis.model.read_as == entry.reads_as
        assert analysis.model.model_type == entry.model_type
        assert any(entry.evidence in assumption for assumption in analysis.assumptions)


def expected(model: str) -> dict[str, int]:
    """Return the weights of linear layers that a checkpoint holds, and how many there are."""
    return {
        row["name"].removesuffix(".weight"): int(row["tensors"])
        for row in NAMES
        if row["model"] == model
        and not row["name"].endswith(NO_MATRICES)
        and not any(part in row["name"] for part in (*EMBEDDINGS, "dt_bias", "mtp_layers"))
    }


def named(inventory: Inventory) -> dict[str, int]:
    return {item.name: item.count for item in inventory.layers if not item.tied and item.role != "vision"}


class TestNames:
    @pytest.mark.parametrize("model", ["internlm/internlm2-chat-1_8b", "stvlynn/Qwen-7B-Chat-Cantonese"])
    def test_are_those_of_the_published_checkpoint(self, model: str, analysed: Analysed) -> None:
        inventory = analysed(model).inventory
        assert inventory is not None
        assert named(inventory) == expected(model)
        paths = [path for item in inventory.layers for path in item.paths()]
        assert len(set(paths)) == len(paths) == sum(expected(model).values())

    @pytest.mark.parametrize("model", ["XiaomiMiMo/MiMo-7B", "bryce-hoehn/Qwen3.5-25B-REAP-A3B-Coding"])
    def test_of_types_that_are_built_are_too(self, model: str, analysed: Analysed) -> None:
        inventory = analysed(model).inventory
        assert inventory is not None
        names = {re.sub(r"^model\.language_model\.", "model.", name): count for name, count in expected(model).items()}
        ours = {re.sub(r"^model\.language_model\.", "model.", name): count for name, count in named(inventory).items()}
        assert ours == names

    def test_of_fused_layers_have_the_outputs_of_all(self, catalog: Catalog) -> None:
        rule = translation(modules={f"layers.{{block}}.{leaf}_proj": "h.{block}.W_pack" for leaf in "qkv"}, prefix="m.")
        families = tuple(
            LayerFamily(
                name=f"layers.{{block}}.{leaf}_proj",
                role=leaf,
                in_features=64,
                out_features=outputs,
                blocks=to_ranges([0, 1]),
            )
            for leaf, outputs in (("q", 64), ("k", 16), ("v", 16), ("o", 64))
        )
        fused, alone = real_names(families, rule, catalog.roles)
        assert (fused.name, fused.role, fused.out_features, fused.count) == ("m.h.{block}.W_pack", "qkv", 96, 2)
        assert (alone.name, alone.out_features) == ("m.layers.{block}.o_proj", 64)
        assert sum(item.weight_elements for item in families) == fused.weight_elements + alone.weight_elements

    @pytest.mark.parametrize(
        "name", sorted(name for name, record in ZOO.items() if record["config"]["model_type"] in {"qwen", "internlm2"})
    )
    def test_change_no_size(self, name: str, analysed: Analysed) -> None:
        inventory = analysed(name).inventory
        assert inventory is not None
        attention = [item for item in inventory.layers if item.role == "qkv"]
        heads = ZOO[name]["config"]["num_attention_heads"]
        groups = ZOO[name]["config"].get("num_key_value_heads", heads)
        width = inventory.hidden_size // heads
        assert [item.out_features for item in attention] == [(heads + 2 * groups) * width]


class TestUncounted:
    @given(st.integers(1, 200), SIZES)
    def test_parameters_are_those_of_every_block(self, blocks: int, size: int) -> None:
        norm = {"name": "extra_norm", "part": "norm", "shape": ["hidden"]}
        bias = {"name": "square", "part": "other", "shape": ["hidden", "hidden"]}
        text = SimpleNamespace(num_hidden_layers=blocks, hidden_size=size, vocab_size=7)
        groups = uncounted_groups(translation(uncounted=[norm, bias]), text)
        assert [(item.part, item.elements, item.tensors) for item in groups] == [
            ("norm", blocks * size, blocks),
            ("other", blocks * size * size, blocks),
        ]

    def test_norms_of_grok_are_four_in_a_block(self, analysed: Analysed) -> None:
        inventory = analysed("xai-org/grok-1").inventory
        assert inventory is not None
        norms = sum(group.elements for group in inventory.others if group.part == "norm")
        assert norms == (4 * inventory.blocks + 1) * inventory.hidden_size
