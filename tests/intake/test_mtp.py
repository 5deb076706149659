"""Multi-token-prediction layers: copies of a block beside tensors of their own."""

from typing import Any

import pytest

from solver import api
from solver.catalog import Catalog
from solver.cost.weights import mtp_bytes
from solver.intake.inventory import Inventory
from solver.rules.service import Service
from tests.data import rows
from tests.data.zoo import ZOO
from tests.intake.conftest import Analysed, WriteModel

GLM: dict[str, Any] = {
    "architectures": ["Glm4MoeForCausalLM"],
    "first_k_dense_replace": 1,
    "head_dim": 16,
    "hidden_size": 64,
    "intermediate_size": 128,
    "model_type": "glm4_moe",
    "moe_intermediate_size": 32,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "num_attention_heads": 4,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 3,
    "num_key_value_heads": 2,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 256,
}


def inventory_of(write_model: WriteModel, catalog: Catalog, name: str = "model", **fields: object) -> Inventory:
    found = api.analyze(str(write_model(name, base=GLM, **fields)), catalog=catalog).inventory
    assert found is not None
    return found


class TestNumber:
    @pytest.mark.parametrize("layers", [1, 2, 3])
    def test_of_layers_multiplies_all(self, layers: int, write_model: WriteModel, catalog: Catalog) -> None:
        none = inventory_of(write_model, catalog, "none", num_nextn_predict_layers=0)
        one = inventory_of(write_model, catalog, "one", num_nextn_predict_layers=1)
        many = inventory_of(write_model, catalog, "many", num_nextn_predict_layers=layers)
        assert none.mtp is None
        assert one.mtp is not None
        assert many.mtp is not None
        assert many.mtp.layers == layers
        for field in ("elements", "size_bytes", "replicated_elements", "sharded_elements"):
            assert getattr(many.mtp, field) == layers * getattr(one.mtp, field)
        assert many.elements_total == one.elements_total == none.elements_total
        assert (many.layers, many.others, many.buffer_bytes) == (none.layers, none.others, none.buffer_bytes)
        assert none.checkpoint_bytes is not None
        assert many.mtp.size_bytes is not None
        assert many.checkpoint_bytes == none.checkpoint_bytes + many.mtp.size_bytes

    def test_is_that_of_the_type_where_the_field_is_missing(self, write_model: WriteModel, catalog: Catalog) -> None:
        silent = inventory_of(write_model, catalog, "silent")
        stated = inventory_of(write_model, catalog, "stated", num_nextn_predict_layers=1)
        assert silent.mtp == stated.mtp is not None

    def test_of_types_without_a_rule_is_none(self, write_model: WriteModel, catalog: Catalog) -> None:
        analysis = api.analyze(str(write_model(num_nextn_predict_layers=2)), catalog=catalog)
        assert analysis.inventory is not None
        assert analysis.inventory.mtp is None


class TestCopy:
    def test_is_of_the_largest_block(self, write_model: WriteModel, catalog: Catalog) -> None:
        # Eight experts of 32 are more than a dense MLP of 128, and less than one of 1024.
        for width, block in ((128, 2), (1024, 0)):
            mtp = inventory_of(write_model, catalog, intermediate_size=width).mtp
            assert mtp is not None
            assert mtp.copied_blocks == (block,)

    def test_is_counted_by_hand(self, write_model: WriteModel, catalog: Catalog) -> None:
        mtp = inventory_of(write_model, catalog).mtp
        assert mtp is not None
        attention = 64 * 64 * 2 + 64 * 32 * 2
        experts = (8 + 1) * 3 * 64 * 32
        outside = 8 * 64 + 2 * 64 + 2 * 64 * 64 + 3 * 64
        assert mtp.replicated_elements == outside
        assert mtp.sharded_elements == 2 * 64 * 256
        assert mtp.elements == attention + experts + outside + 2 * 64 * 256
        # The router's correction, eight numbers in float32, is a saved buffer.
        assert mtp.size_bytes == 2 * mtp.elements + 4 * 8

    @pytest.mark.parametrize(
        ("name", "kinds"),
        [
            ("Qwen/Qwen3-Next-80B-A3B-Instruct", [{"q", "expert_up"}]),
            ("nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", [{"q"}, {"expert_up"}]),
        ],
    )
    def test_of_hybrids_is_of_the_blocks_that_attend(
        self, name: str, kinds: list[set[str]], analysed: Analysed
    ) -> None:
        inventory = analysed(name).inventory
        assert inventory is not None
        assert inventory.mtp is not None
        for block, roles in zip(inventory.mtp.copied_blocks, kinds, strict=True):
            found = {item.role for item in inventory.layers if block in item.block_indices}
            assert roles <= found
            assert "linear_attn_in" not in found

    def test_has_no_layer_of_the_part_that_sees(self, analysed: Analysed) -> None:
        inventory = analysed("stepfun-ai/Step-3.7-Flash").inventory
        assert inventory is not None
        assert inventory.mtp is not None
        [block] = inventory.mtp.copied_blocks
        assert any(item.role == "vision" and block in item.block_indices for item in inventory.layers)
        of_text = {item.name for item in inventory.layers if item.role != "vision" and block in item.block_indices}
        assert {item.name for item in inventory.mtp.families} == of_text

    def test_may_be_of_a_smaller_block_that_has_its_types(self, analysed: Analysed) -> None:
        inventory = analysed("stepfun-ai/Step-3.7-Flash").inventory
        assert inventory is not None
        assert inventory.mtp is not None
        assert {item.role for item in inventory.mtp.families} >= {"q", "gate", "up", "down"}
        assert not any(item.experts for item in inventory.mtp.families)
        [query] = [item for item in inventory.mtp.families if item.role == "q"]
        assert query.out_features == 96 * 128

    def test_and_own_tensors_have_the_names_of_a_checkpoint(self, catalog: Catalog) -> None:
        names = [row["name"] for row in rows("tensor_names.csv") if row["model"] == "XiaomiMiMo/MiMo-7B"]
        block = {name.removeprefix("model.layers.{block}.") for name in names if ".layers.{block}." in name}
        predictor = {name.removeprefix("model.mtp_layers.{block}.") for name in names if ".mtp_layers." in name}
        rule = catalog.mtp.of("mimo")
        assert rule is not None
        assert block < predictor
        assert predictor - block == {f"{tensor.name}.weight" for tensor in rule.tensors}


class TestFormat:
    @pytest.mark.parametrize(
        ("excluded", "bits"), [(["lm_head"], 8), (["lm_head", "model.layers.3"], 16), (["model.layers.3.*"], 16)]
    )
    def test_follows_the_list_of_what_is_not_quantized(
        self, excluded: list[str], bits: int, write_model: WriteModel, catalog: Catalog
    ) -> None:
        fp8 = {"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": excluded}
        mtp = inventory_of(write_model, catalog, quantization_config=fp8).mtp
        assert mtp is not None
        assert mtp.size_bytes is not None
        linears = mtp.elements - mtp.replicated_elements - mtp.sharded_elements
        plain = 2 * (mtp.replicated_elements + mtp.sharded_elements) + 4 * 8
        scales = 4 * (4 + 9 * 3) if bits == 8 else 0
        assert mtp.size_bytes == linears * bits // 8 + plain + scales

    def test_that_is_unknown_leaves_the_bytes_open(self, write_model: WriteModel, catalog: Catalog) -> None:
        inventory = inventory_of(write_model, catalog, quantization_config={"quant_method": "nobody-knows"})
        assert inventory.checkpoint_bytes is None
        assert inventory.mtp is not None
        assert inventory.mtp.elements > 0


def test_rules_name_each_type_once_and_all_of_them_are_known(catalog: Catalog) -> None:
    named = [model_type for rule in catalog.mtp.rules for model_type in rule.model_types]
    assert len(named) == len(set(named))
    assert set(named) <= {record["config"].get("model_type") for record in ZOO.values()}


def test_bytes_in_service_are_those_of_their_own_format(analysed: Analysed, catalog: Catalog) -> None:
    """GLM-5 in NVFP4 keeps its predictor in 16 bits, whatever the block is stored in that it copies."""
    inventory = analysed("nvidia/GLM-5-NVFP4").inventory
    assert inventory is not None
    assert inventory.mtp is not None
    assert {family.stored for family in inventory.mtp.families} == {None}
    copied = {family.stored for family in inventory.layers if inventory.mtp.copied_blocks[0] in family.block_indices}
    assert "modelopt_nvfp4" in copied
    # Where no role is loaded wider than it is stored, they are the bytes of the checkpoint.
    backend = catalog.backends.get("vllm").model_copy(update={"dequantized_roles": ()})
    service = Service(catalog.hardware.get("mi355x"), backend, 16, 1, 1, keep_mtp=True)
    assert mtp_bytes(service, catalog.roles, inventory) == inventory.mtp.size_bytes
