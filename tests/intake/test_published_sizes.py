"""Sizes of bundled models: equal to what the published checkpoints hold, or different for a named reason."""

import pytest

from solver.catalog import Catalog
from solver.intake.inventory import Inventory, LayerFamily
from solver.intake.published import TIED_HEAD
from tests.data import rows
from tests.intake.conftest import Built, Inventoried

CATALOG = Catalog()
MODELS = [model.name for model in CATALOG.models]
QUANTIZED = {"deepseek-ai/DeepSeek-V3", "openai/gpt-oss-20b", "openai/gpt-oss-120b"}
HEAD_STORED_TWICE = {"Qwen/Qwen3-0.6B"}
"""Checkpoints that store a tied head beside the embedding."""

PREDICTOR = {
    "Qwen/Qwen3-Next-80B-A3B-Instruct": False,
    "Qwen/Qwen3.5-27B": False,
    "zai-org/GLM-4.5-Air": True,
}
"""Checkpoints with a layer for multi-token prediction, which transformers does not build, and whether it has an
embedding and a head of its own."""

PUBLISHED = {
    model.name: model.published_elements
    for model in CATALOG.models
    if model.published_elements is not None and model.name not in QUANTIZED
}


def last_block(inventory: Inventory) -> list[LayerFamily]:
    """Return the decoder layers of the last block: a layer for multi-token prediction is one more such block."""
    return [family for family in inventory.layers if inventory.blocks - 1 in family.block_indices]


def predictor_linears(inventory: Inventory) -> int:
    """Return the elements of the linears of one more block and of what joins two hidden states into one."""
    return sum(family.weight_elements * family.layers_per_block for family in last_block(inventory)) + (
        2 * inventory.hidden_size**2
    )


class TestElements:
    @pytest.mark.parametrize("name", sorted(set(PUBLISHED) - HEAD_STORED_TWICE - set(PREDICTOR)))
    def test_are_the_published_ones(self, name: str, inventoried: Inventoried) -> None:
        assert inventoried(name).elements_total == PUBLISHED[name]

    @pytest.mark.parametrize("name", sorted(HEAD_STORED_TWICE))
    def test_differ_by_a_tied_head_that_is_stored_again(self, name: str, inventoried: Inventoried) -> None:
        inventory = inventoried(name)
        head = next(family for family in inventory.layers if family.role == "lm_head")
        assert head.tied
        assert inventory.elements_total + head.weight_elements == PUBLISHED[name]

    @pytest.mark.parametrize(("name", "own_embeddings"), PREDICTOR.items())
    def test_differ_by_a_layer_for_multi_token_prediction(
        self, name: str, own_embeddings: bool, inventoried: Inventoried
    ) -> None:
        inventory = inventoried(name)
        router = inventory.moe.experts * inventory.hidden_size if inventory.moe else 0
        embeddings = 2 * inventory.hidden_size * inventory.vocab_size if own_embeddings else 0
        missing = PUBLISHED[name] - inventory.elements_total
        norms_and_biases = missing - predictor_linears(inventory) - router - embeddings
        assert 0 < norms_and_biases < 20 * inventory.hidden_size
        assert inventory.mtp is not None
        assert inventory.stored_elements == PUBLISHED[name]

    @pytest.mark.parametrize("name", MODELS)
    def test_of_the_checkpoint_are_told_with_each_cause(self, name: str, built: Built) -> None:
        analysis = built(name)
        model = CATALOG.models.get(name)
        assert (analysis.published is None) == (model.published_elements is None)
        if analysis.published is None or analysis.inventory is None:
            return
        published = analysis.published
        assert (published.elements, published.unexplained) == (model.published_elements, 0)
        causes = {cause.cause: cause.elements or 0 for cause in published.causes}
        assert analysis.inventory.elements_total + sum(causes.values()) == model.published_elements
        assert (TIED_HEAD in causes) == (name in HEAD_STORED_TWICE)
        assert all(cause.meaning for cause in published.causes)
        assert analysis.possible_differences == ()

    @pytest.mark.parametrize("name", MODELS)
    def test_are_those_of_the_layers_and_of_the_rest(self, name: str, inventoried: Inventoried) -> None:
        inventory = inventoried(name)
        layers = sum(family.weight_elements * family.count for family in inventory.layers if not family.tied)
        assert layers + sum(group.elements for group in inventory.others) == inventory.elements_total


class TestBytes:
    @pytest.mark.parametrize("row", rows("checkpoint_bytes.csv"), ids=lambda row: row["model"])
    def test_are_those_of_the_published_index(self, row: dict[str, str], inventoried: Inventoried) -> None:
        assert inventoried(row["model"]).checkpoint_bytes == int(row["tensor_bytes"])

    @pytest.mark.parametrize("name", MODELS)
    def test_are_elements_times_the_size_of_the_type(self, name: str, inventoried: Inventoried) -> None:
        inventory = inventoried(name)
        size = {"bfloat16": 2, "float16": 2, "float32": 4}[inventory.dtype]
        assert inventory.unquantized_bytes == inventory.elements_total * size
        assert (inventory.quantized is not None) == (name in QUANTIZED)
        if inventory.quantized is None:
            predictor = inventory.mtp.size_bytes if inventory.mtp else 0
            assert predictor is not None
            assert inventory.checkpoint_bytes == inventory.unquantized_bytes + inventory.buffer_bytes + predictor


class TestType:
    def test_is_the_one_the_configuration_states(self, inventoried: Inventoried) -> None:
        assert inventoried("google/gemma-2-9b").dtype == "float32"
        assert inventoried("meta-llama/Llama-2-70b-hf").dtype == "float16"
        assert inventoried("Qwen/Qwen3-8B").dtype == "bfloat16"

    def test_is_found_in_the_text_part(self, built: Built, inventoried: Inventoried) -> None:
        config = CATALOG.models.get("Qwen/Qwen3.5-27B").config
        assert "dtype" not in config
        assert "torch_dtype" not in config
        assert inventoried("Qwen/Qwen3.5-27B").dtype == "bfloat16"
        assert built("Qwen/Qwen3.5-27B").assumptions == ()

    @pytest.mark.parametrize("name", ["openai/gpt-oss-20b", "EleutherAI/gpt-j-6b"])
    def test_is_assumed_aloud_where_none_is_stated(self, name: str, built: Built, inventoried: Inventoried) -> None:
        assert not {"dtype", "torch_dtype"} & set(CATALOG.models.get(name).config)
        assert inventoried(name).dtype == "bfloat16"
        assert any("bfloat16" in assumption for assumption in built(name).assumptions)


class TestContext:
    @pytest.mark.parametrize(
        ("name", "tokens"),
        [
            ("Qwen/Qwen3-8B", 40_960),
            ("Qwen/Qwen3-Next-80B-A3B-Instruct", 262_144),
            ("meta-llama/Meta-Llama-3.1-70B", 131_072),
            ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 10_485_760),
            ("google/gemma-3-27b-it", 131_072),
            ("deepseek-ai/DeepSeek-V3", 163_840),
            ("EleutherAI/gpt-j-6b", 2048),
            ("meta-llama/Llama-2-70b-hf", 4096),
            ("ibm-granite/granite-4.0-h-small", 131_072),
        ],
    )
    def test_is_what_the_model_card_states(self, name: str, tokens: int, inventoried: Inventoried) -> None:
        assert inventoried(name).max_context == tokens
