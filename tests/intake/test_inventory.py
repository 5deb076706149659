"""Records of the inventory: ranges, and the document that carries them."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from solver.catalog import Catalog
from solver.intake.analysis import ModelAnalysis
from solver.intake.inventory import LayerFamily
from solver.intake.record import BlockRange, to_ranges
from tests.intake.conftest import Built

MODELS = [model.name for model in Catalog().models]


class TestRanges:
    @settings(deadline=None)
    @given(st.lists(st.integers(0, 300)))
    def test_hold_exactly_the_blocks_that_they_were_made_of(self, blocks: list[int]) -> None:
        ranges = to_ranges(blocks)
        assert [block for part in ranges for block in range(part.first, part.last + 1)] == sorted(set(blocks))

    @settings(deadline=None)
    @given(st.sets(st.integers(0, 300)))
    def test_are_as_few_as_can_be(self, blocks: set[int]) -> None:
        ranges = to_ranges(blocks)
        assert len(ranges) == sum(block - 1 not in blocks for block in blocks)
        assert all(left.last + 1 < right.first for left, right in pairwise(ranges))

    @settings(deadline=None)
    @given(st.sets(st.integers(0, 300), min_size=1), st.integers(0, 8))
    def test_give_a_family_its_layers(self, blocks: set[int], experts: int) -> None:
        name = "model.layers.{block}.mlp.experts.{expert}.w" if experts else "model.layers.{block}.w"
        family = LayerFamily(
            name=name, role="up", in_features=4, out_features=2, blocks=to_ranges(blocks), experts=experts
        )
        paths = list(family.paths())
        assert len(paths) == len(set(paths)) == family.count == len(blocks) * max(1, experts)
        assert family.block_indices == tuple(sorted(blocks))

    def test_of_no_blocks_are_none(self) -> None:
        assert to_ranges([]) == ()
        assert list(LayerFamily(name="lm_head", role="lm_head", in_features=4, out_features=2).paths()) == ["lm_head"]


class TestRecords:
    def test_cannot_be_changed(self) -> None:
        part = BlockRange(first=0, last=3)
        with pytest.raises(ValidationError, match="frozen"):
            part.last = 4  # type: ignore[misc]

    def test_refuse_layers_without_extent(self) -> None:
        with pytest.raises(ValidationError, match="in_features"):
            LayerFamily(name="a", role="up", in_features=0, out_features=2)


class TestDocument:
    @pytest.mark.parametrize("name", MODELS)
    def test_is_read_back_to_the_same_analysis(self, name: str, built: Built) -> None:
        analysis = built(name)
        text = json.dumps(analysis.document(), allow_nan=False)
        assert ModelAnalysis.model_validate_json(text) == analysis
        assert ModelAnalysis.model_validate(json.loads(text)).document() == analysis.document()

    def test_of_deepseek_v3_stays_small(self, built: Built) -> None:
        assert len(json.dumps(built("deepseek-ai/DeepSeek-V3").document()).encode()) < 20_000

    @pytest.mark.parametrize("name", MODELS)
    def test_is_the_same_for_the_same_configuration(self, name: str, built: Built) -> None:
        document = built(name).document()
        assert document["schema_version"] == 1
        assert document["analysis_status"] == "complete"
        assert len(document["model"]["config_sha256"]) == 64
        assert document["model"]["model_path"] == name

    @pytest.mark.parametrize("name", MODELS)
    def test_tells_quark_what_there_is_to_quantize(self, name: str, built: Built, catalog: Catalog) -> None:
        analysis = built(name)
        template = catalog.templates.find(analysis.model.model_type)
        assert analysis.inventory is not None
        assert analysis.quantization_targets.linear_layer_count == analysis.inventory.quantizable_count
        assert analysis.quantization_targets.exclude_defaults == (template.exclude_layers if template else ("lm_head",))
        assert analysis.quantization_targets.has_non_linear_experts == (analysis.inventory.moe is not None)

    def test_keeps_what_other_tools_add(self, built: Built) -> None:
        document = built("Qwen/Qwen3-8B").document() | {"run_id": "r1"}
        document["model"]["tokenizer"] = "fast"
        again = ModelAnalysis.model_validate(document).document()
        assert again["run_id"] == "r1"
        assert again["model"]["tokenizer"] == "fast"
