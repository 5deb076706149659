"""Shares of parts and causes of differences, for small models that are counted by hand."""

import pytest

from solver import api
from solver.catalog import Catalog
from solver.intake.inventory import Inventory
from solver.intake.shares import BUFFERS, MTP, PACKED, SCALES
from tests.intake.conftest import Analysed, WriteModel

FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}


def inventory_of(write_model: WriteModel, catalog: Catalog, **fields: object) -> Inventory:
    found = api.analyze(str(write_model(**fields)), catalog=catalog).inventory
    assert found is not None
    return found


def shares(inventory: Inventory) -> dict[str, tuple[int, int | None]]:
    return {part.part: (part.elements, part.size_bytes) for part in inventory.parts}


class TestShares:
    def test_of_a_small_llama_are_those_of_its_matrices(self, write_model: WriteModel, catalog: Catalog) -> None:
        # Hidden size 64, 4 heads and 2 groups of 16, MLP of 128, 2 blocks, vocabulary of 256.
        elements = {
            "q": 2 * 64 * 64,
            "k": 2 * 32 * 64,
            "v": 2 * 32 * 64,
            "o": 2 * 64 * 64,
            "gate": 2 * 128 * 64,
            "up": 2 * 128 * 64,
            "down": 2 * 128 * 64,
            "lm_head": 256 * 64,
            "embedding": 256 * 64,
            "norm": 5 * 64,
        }
        expected = {part: (count, 2 * count) for part, count in elements.items()}
        assert shares(inventory_of(write_model, catalog)) == expected

    def test_of_a_tied_head_are_none(self, write_model: WriteModel, catalog: Catalog) -> None:
        inventory = inventory_of(write_model, catalog, tie_word_embeddings=True)
        assert shares(inventory)["lm_head"] == (0, 0)
        assert shares(inventory)["embedding"] == (256 * 64, 2 * 256 * 64)

    def test_of_quantized_parts_are_as_stored(self, write_model: WriteModel, catalog: Catalog) -> None:
        found = shares(inventory_of(write_model, catalog, quantization_config=FP8))
        # A byte a weight, and for each of two blocks one float32 scale.
        assert found["gate"] == (2 * 128 * 64, 2 * 128 * 64 + 2 * 4)
        assert found["lm_head"] == (256 * 64, 2 * 256 * 64)

    def test_of_an_unknown_format_have_no_bytes(self, write_model: WriteModel, catalog: Catalog) -> None:
        inventory = inventory_of(write_model, catalog, quantization_config={"quant_method": "nobody-knows"})
        assert {size for _, size in shares(inventory).values()} == {None}
        assert sum(count for count, _ in shares(inventory).values()) == inventory.elements_total


class TestDifferences:
    def test_of_a_plain_checkpoint_are_none(self, write_model: WriteModel, catalog: Catalog) -> None:
        assert inventory_of(write_model, catalog).differences == ()

    def test_of_fp8_are_its_scales(self, write_model: WriteModel, catalog: Catalog) -> None:
        inventory = inventory_of(write_model, catalog, quantization_config=FP8)
        assert {item.cause: item.elements for item in inventory.differences} == {SCALES: 2 * 7}

    @pytest.mark.parametrize(
        ("name", "causes"),
        [
            ("Qwen/Qwen3-8B", set()),
            ("Qwen/Qwen3-8B-FP8", {SCALES}),
            ("openai/gpt-oss-20b", {PACKED, SCALES}),
            ("nvidia/Qwen3-235B-A22B-NVFP4", {PACKED, SCALES}),
            ("Qwen/Qwen3-Next-80B-A3B-Instruct", {MTP}),
            ("zai-org/GLM-4.5-Air", {MTP, BUFFERS}),
            ("nvidia/GLM-5-NVFP4", {PACKED, SCALES, MTP, BUFFERS}),
        ],
    )
    def test_have_the_causes_that_the_checkpoint_gives(self, name: str, causes: set[str], analysed: Analysed) -> None:
        inventory = analysed(name).inventory
        assert inventory is not None
        found = {item.cause: item.elements for item in inventory.differences}
        assert found.keys() == causes
        assert found.get(PACKED, -1) < 0
        assert all(elements > 0 for cause, elements in found.items() if cause != PACKED)
