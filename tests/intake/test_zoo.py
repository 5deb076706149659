"""183 published configurations: each is sized as its checkpoint is published, or differs for a named reason."""

import pytest

from solver.errors import BadInputError
from solver.intake.analysis import ModelAnalysis
from solver.intake.inventory import Inventory
from solver.intake.published import explain
from tests.data.zoo import ZOO
from tests.intake.conftest import Analysed

OWN_CODE = "contains custom code"
REFUSED = {
    "MiniMaxAI/MiniMax-M3": "model type `minimax_m3`",
    "microsoft/Phi-3-small-8k-instruct": OWN_CODE,
    "moonshotai/Kimi-K3": OWN_CODE,
    "nvidia/Llama-3_3-Nemotron-Super-49B-v1": OWN_CODE,
}
"""Types that transformers lacks and no translation reads, and the reason that is given."""

READABLE = sorted(set(ZOO) - set(REFUSED))
COUNTED = [name for name in READABLE if "published_elements" in ZOO[name]]

TRIMMED = "the vision part is cut out of this copy"
UNEXPLAINED = {
    "databricks/dbrx-instruct": "rounded: the model's card says 132 billion",
    "meta-llama/Llama-3.1-405B-Instruct-FP8": "this copy lists only some of the layers that are not quantized",
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct-trimmed": TRIMMED,
    "meta-llama/Llama-4-Scout-17B-16E-Instruct-trimmed": TRIMMED,
    "microsoft/Phi-3-vision-128k-instruct": "the published count ends in three zeros, and is the same to the thousand",
    "microsoft/phi-1": "the vocabulary of this copy is smaller than the original's",
    "nvidia/GLM-5.2-NVFP4": "larger than the checkpoint in 16 bits, and a multiple of 2^22: no sum of tensor sizes",
    "stepfun-ai/Step-3.7-Flash-FP8": "this copy has no list of native layers: only the routed experts have scales",
}
"""Published counts that the known causes do not lead to, beside those that are estimates."""

MEASURED = [name for name in COUNTED if not ZOO[name].get("estimate")]
EXPLAINED = [name for name in MEASURED if name not in UNEXPLAINED]
SIZED = [name for name in READABLE if "published_bytes" in ZOO[name]]
WITH_HEADERS = [name for name in SIZED if ZOO[name]["published_bytes_kind"] == "file bytes incl. header"]
KEPT_IN_FLOAT32 = "Qwen/Qwen3.5-122B-A10B"


@pytest.fixture
def analysis(name: str, analysed: Analysed) -> ModelAnalysis:
    return analysed(name)


@pytest.fixture
def inventory(analysis: ModelAnalysis) -> Inventory:
    assert analysis.inventory is not None
    return analysis.inventory


class TestRefused:
    @pytest.mark.parametrize(("name", "reason"), REFUSED.items())
    def test_types_without_a_class_and_a_translation_are_refused(
        self, name: str, reason: str, analysed: Analysed
    ) -> None:
        with pytest.raises(BadInputError) as caught:
            analysed(name)
        assert reason in caught.value.what
        assert caught.value.where is not None
        assert caught.value.mend is not None
        assert repr(ZOO[name]["config"]["model_type"]) in caught.value.mend


class TestAnalysed:
    @pytest.mark.parametrize("name", READABLE)
    def test_parts_and_differences_add_up(self, analysis: ModelAnalysis, inventory: Inventory) -> None:
        assert sum(share.elements for share in inventory.parts) == inventory.elements_total
        assert inventory.stored_elements is not None
        differences = sum(difference.elements for difference in inventory.differences)
        assert inventory.elements_total + differences == inventory.stored_elements
        stored = sum(share.size_bytes or 0 for share in inventory.parts)
        predictor = inventory.mtp.size_bytes if inventory.mtp else 0
        assert inventory.checkpoint_bytes == stored + inventory.buffer_bytes + (predictor or 0)
        layers = [family for family in inventory.layers if not family.tied]
        of_layers = sum(family.weight_elements * family.count for family in layers)
        assert of_layers + sum(group.elements for group in inventory.others) == inventory.elements_total
        assert (analysis.analysis_status, analysis.missing) == ("complete", ())

    @pytest.mark.parametrize("name", READABLE)
    def test_blocks_lie_in_the_model(self, inventory: Inventory) -> None:
        """Decoder blocks are numbered from 0 to the last, with a cache or a state each."""
        of_text = [family for family in inventory.layers if family.role != "vision"]
        assert {index for family in of_text for index in family.block_indices} <= set(range(inventory.blocks))
        cached = [
            index for group in inventory.caches for part in group.at for index in range(part.first, part.last + 1)
        ]
        assert len(cached) == sum(group.blocks for group in inventory.caches)
        assert set(cached) <= set(range(inventory.blocks))


class TestElements:
    @pytest.mark.parametrize("name", EXPLAINED)
    def test_lead_to_the_published_count_by_named_causes(self, name: str, inventory: Inventory) -> None:
        published = int(ZOO[name]["published_elements"])
        explanation = explain(published, inventory)
        assert explanation.unexplained == 0
        assert inventory.elements_total + sum(cause.elements for cause in explanation.causes) == published

    def test_of_plain_checkpoints_are_mostly_the_published_ones(self, analysed: Analysed) -> None:
        plain = [
            name for name in EXPLAINED if (found := analysed(name).inventory) is not None and found.quantized is None
        ]
        exact = [
            name for name in plain if explain(int(ZOO[name]["published_elements"]), _of(analysed, name)).causes == ()
        ]
        assert len(exact) == 86
        assert all(_of(analysed, name).elements_total == ZOO[name]["published_elements"] for name in exact)
        # The others hold more than the model has: each once more what it is tied to, a predictor, or buffers.
        more = set(plain) - set(exact)
        assert all(_of(analysed, name).elements_total < ZOO[name]["published_elements"] for name in more)
        assert len(more) == 21

    def test_unexplained_counts_are_few_and_all_named(self, analysed: Analysed) -> None:
        assert len(EXPLAINED) >= 130
        for name in UNEXPLAINED:
            assert explain(int(ZOO[name]["published_elements"]), _of(analysed, name)).unexplained != 0, name

    def test_of_experts_in_fp8_have_scales_for_them_alone(self, analysed: Analysed) -> None:
        plain, quantized = (int(ZOO[f"stepfun-ai/Step-3.7-Flash{end}"]["published_elements"]) for end in ("", "-FP8"))
        inventory = _of(analysed, "stepfun-ai/Step-3.7-Flash-FP8")
        experts = sum(item.weight_elements * item.count for item in inventory.layers if "expert_" in item.role)
        assert quantized - plain == experts // 128**2

    @pytest.mark.parametrize("name", sorted(name for name, reason in UNEXPLAINED.items() if reason == TRIMMED))
    def test_of_trimmed_copies_differ_as_much_as_each_other(self, name: str, inventory: Inventory) -> None:
        # Both models have the same encoder and projector.
        assert ZOO[name]["published_elements"] - inventory.elements_total == 416_754_176


class TestBytes:
    @pytest.mark.parametrize("name", sorted(set(SIZED) - set(WITH_HEADERS) - {KEPT_IN_FLOAT32}))
    def test_of_all_tensors_are_the_published_ones(self, name: str, inventory: Inventory) -> None:
        assert inventory.checkpoint_bytes == ZOO[name]["published_bytes"]

    @pytest.mark.parametrize("name", WITH_HEADERS)
    def test_of_files_hold_a_small_header_more(self, name: str, inventory: Inventory) -> None:
        assert inventory.checkpoint_bytes is not None
        header = ZOO[name]["published_bytes"] - inventory.checkpoint_bytes
        assert 0 < header < inventory.checkpoint_bytes / 10_000

    @pytest.mark.parametrize("name", [KEPT_IN_FLOAT32])
    def test_of_states_kept_in_float32_are_two_more_each(self, name: str, inventory: Inventory) -> None:
        text = ZOO[name]["config"]["text_config"]
        linear = text["layer_types"].count("linear_attention")
        # A_log of each head and the norm inside linear attention are in float32 on disk.
        wide = linear * (text["linear_num_value_heads"] + text["linear_value_head_dim"])
        assert inventory.checkpoint_bytes == ZOO[name]["published_bytes"] - 2 * wide


def _of(analysed: Analysed, name: str) -> Inventory:
    found = analysed(name).inventory
    assert found is not None
    return found
