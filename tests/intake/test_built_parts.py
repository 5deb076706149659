"""Parts beside a translated model: sizes and names as published, and nothing claimed of what is not known."""

import copy
from typing import Any

import pytest

from solver.catalog import Catalog
from solver.catalog.built_part import PartTensor
from solver.errors import BadInputError
from solver.intake.analysis import ModelAnalysis
from solver.intake.analyze import analyze_source
from solver.intake.source import ModelSource
from tests.data.zoo import ZOO
from tests.intake.conftest import Analysed

PHI = "microsoft/Phi-3-vision-128k-instruct"
DEEPSEEK = "deepseek-ai/deepseek-vl2-tiny"
JANUS = "deepseek-ai/Janus-1.3B"


def changed(name: str, catalog: Catalog, part: str, **fields: Any) -> ModelAnalysis:
    config = copy.deepcopy(ZOO[name]["config"])
    config[part] |= fields
    return analyze_source(ModelSource(name, "file", config), catalog)


class TestSizes:
    def test_of_deepseek_are_the_published_ones(self, analysed: Analysed) -> None:
        analysis = analysed(DEEPSEEK)
        assert analysis.inventory is not None
        assert analysis.inventory.elements_total == ZOO[DEEPSEEK]["published_elements"]
        assert (analysis.analysis_status, analysis.missing) == ("complete", ())

    def test_of_phi_are_the_published_ones_to_the_thousand(self, analysed: Analysed) -> None:
        analysis = analysed(PHI)
        assert analysis.inventory is not None
        assert round(analysis.inventory.elements_total, -3) == ZOO[PHI]["published_elements"]
        assert (analysis.analysis_status, analysis.missing) == ("complete", ())

    def test_of_janus_are_those_that_were_counted(self, analysed: Analysed) -> None:
        """A public report on training Janus-Pro-1B (revision 960ab331) counts the language model and all the rest.

        The rest includes a buffer of 65,536, which janus/models/vq_model.py registers as a parameter.
        """
        analysis = analysed(JANUS)
        inventory = analysis.inventory
        assert inventory is not None
        assert (analysis.analysis_status, analysis.missing) == ("complete", ())
        assert inventory.stored_elements == 436_641_419 + 1_652_656_128
        assert inventory.elements_total == inventory.stored_elements - 65536
        vision = next(part for part in inventory.parts if part.part == "vision")
        assert vision.elements == 436_641_419 - 65536

    def test_follow_the_fields_of_the_file(self, analysed: Analysed, catalog: Catalog) -> None:
        """One layer of SigLIP so400m less: four matrices and two of the MLP, with biases, and two norms."""
        whole, fewer = analysed(DEEPSEEK).inventory, changed(DEEPSEEK, catalog, "vision_config", layers=26).inventory
        assert whole is not None
        assert fewer is not None
        width, inner = 1152, 4304
        layer = 4 * width * (width + 1) + 2 * width * inner + width + inner + 4 * width
        assert whole.elements_total - fewer.elements_total == layer


class TestRoles:
    @pytest.mark.parametrize("name", [PHI, DEEPSEEK])
    def test_of_the_whole_part_are_vision(self, name: str, analysed: Analysed) -> None:
        inventory = analysed(name).inventory
        assert inventory is not None
        of_part = [item for item in inventory.layers if "vision" in item.name or "projector" in item.name]
        assert {item.role for item in of_part} == {"vision"}
        assert "other" not in {item.role for item in inventory.layers}
        assert len(inventory.convolutions) == 1

    def test_names_of_janus_are_those_of_its_own_code(self, analysed: Analysed) -> None:
        inventory = analysed(JANUS).inventory
        assert inventory is not None
        counts = {item.name: item.count for item in inventory.layers if item.role == "vision"}
        assert counts["vision_model.vision_tower.blocks.{block}.attn.qkv"] == 24
        assert {"gen_head.vision_head", "gen_aligner.layers.{block}", "aligner.layers.{block}"} <= set(counts)
        assert "other" not in {item.role for item in inventory.layers}
        assert inventory.convolutions == ("vision_model.vision_tower.patch_embed.proj", "gen_vision_model.*")

    def test_names_of_deepseek_are_those_of_timm(self, analysed: Analysed) -> None:
        inventory = analysed(DEEPSEEK).inventory
        assert inventory is not None
        counts = {item.name: item.count for item in inventory.layers if item.role == "vision"}
        assert counts["vision.blocks.{block}.attn.qkv"] == 27
        assert {"projector.layers.{block}", "vision.attn_pool.kv"} <= set(counts)
        assert inventory.convolutions == ("vision.patch_embed.proj",)


class TestNotKnown:
    @pytest.mark.parametrize(
        ("name", "part", "field", "value"),
        [
            (PHI, "img_processor", "model_name", "openai/clip-vit-base-patch32"),
            (PHI, "embd_layer", "projection_cls", "linear"),
            (DEEPSEEK, "vision_config", "width", 768),
            (DEEPSEEK, "projector_config", "projector_type", "linear"),
            (JANUS, "vision_config", "cls", "SAM"),
            (
                JANUS,
                "gen_head_config",
                "params",
                {"image_token_embed": 1024, "image_token_size": 16384, "n_embed": 2048},
            ),
        ],
    )
    def test_another_part_is_missing_and_not_guessed(
        self, name: str, part: str, field: str, value: object, catalog: Catalog
    ) -> None:
        analysis = changed(name, catalog, part, **{field: value})
        assert analysis.inventory is not None
        assert any("vision" in item for item in analysis.missing)
        assert not any(item.role == "vision" for item in analysis.inventory.layers)

    def test_without_an_image_generator_janus_is_deepseek_vl_which_is_not_known(self, catalog: Catalog) -> None:
        config = {name: value for name, value in ZOO[JANUS]["config"].items() if not name.startswith("gen_")}
        analysis = analyze_source(ModelSource(JANUS, "file", config), catalog)
        assert any("vision" in item for item in analysis.missing)

    @pytest.mark.parametrize("value", [0.5, "many", [2]])
    def test_unusable_fields_are_the_files_fault(self, value: object, catalog: Catalog) -> None:
        with pytest.raises(BadInputError, match="vision part"):
            changed(DEEPSEEK, catalog, "vision_config", layers=value)


class TestTensors:
    def test_only_matrices_are_linear(self) -> None:
        with pytest.raises(ValueError, match="two axes"):
            PartTensor.model_validate({"name": "a", "shape": [4, 4, 4], "linear": True})
        with pytest.raises(ValueError, match="bias"):
            PartTensor.model_validate({"name": "a", "shape": [4, 4], "bias": True})
        with pytest.raises(ValueError, match="no buffer"):
            PartTensor.model_validate({"name": "a", "shape": [4, 4], "linear": True, "buffer": True})
