"""Pipeline stages: together they are the model, each block once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.catalog import Catalog
from solver.cost.stages import stage_inventories, stage_sizes
from tests.conftest import Analyse

MODELS = ("Qwen/Qwen3-8B", "deepseek-ai/DeepSeek-V3", "google/gemma-3-27b-it", "Qwen/Qwen3-Next-80B-A3B-Instruct")


@given(blocks=st.integers(1, 200), stages=st.integers(1, 16))
def test_sizes_are_even_and_spare_the_last_stage(blocks: int, stages: int) -> None:
    if stages <= blocks:
        sizes = stage_sizes(blocks, stages)
        assert sum(sizes) == blocks
        assert max(sizes) - min(sizes) <= 1
        assert sizes[-1] == min(sizes)


def test_sizes_are_those_of_vllm() -> None:
    # As vLLM 0.33's get_pp_indices answers.
    assert stage_sizes(61, 4) == (15, 15, 16, 15)
    assert stage_sizes(62, 4) == (15, 16, 16, 15)
    assert stage_sizes(63, 4) == (16, 16, 16, 15)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("stages", [1, 2, 3, 8])
def test_stages_hold_every_layer_parameter_and_cache_once(
    model: str, stages: int, analyse: Analyse, catalog: Catalog
) -> None:
    inventory = analyse(model).inventory
    assert inventory is not None
    parts = stage_inventories(inventory, catalog.roles, stages)
    assert len(parts) == stages
    layers = sum(family.count * family.weight_elements for part in parts for family in part.layers)
    assert layers == sum(family.count * family.weight_elements for family in inventory.layers)
    others = sum(group.elements for part in parts for group in part.others)
    assert others == sum(group.elements for group in inventory.others) + _second_embedding(model, stages, parts)
    caches = sum(group.blocks for part in parts for group in part.caches)
    assert caches == sum(group.blocks for group in inventory.caches)


def _second_embedding(model: str, stages: int, parts: tuple) -> int:  # type: ignore[type-arg]
    """Return the elements of the embedding that a tied head needs on the last stage too."""
    if stages == 1 or not parts[0].tied_embeddings:
        return 0
    return sum(group.elements for group in parts[-1].others if group.part == "embedding")


def test_the_head_is_on_the_last_stage_and_the_embedding_on_the_first(analyse: Analyse, catalog: Catalog) -> None:
    inventory = analyse("Qwen/Qwen3-8B").inventory
    assert inventory is not None
    first, last = stage_inventories(inventory, catalog.roles, 2)
    assert [family.role for family in last.layers if family.role == "lm_head"] == ["lm_head"]
    assert not any(family.role == "lm_head" for family in first.layers)
    assert any(group.part == "embedding" for group in first.others)
    assert not any(group.part == "embedding" for group in last.others)


def test_more_stages_than_blocks_are_refused(analyse: Analyse, catalog: Catalog) -> None:
    inventory = analyse("Qwen/Qwen3-8B").inventory
    assert inventory is not None
    with pytest.raises(ValueError, match="36 blocks do not fill 37 stages"):
        stage_inventories(inventory, catalog.roles, 37)
