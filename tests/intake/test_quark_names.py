"""Layer names are those that AMD Quark sees after it has split fused experts, for each type that was measured."""

import pytest

from solver import api
from solver.catalog import Catalog
from tests.data import rows
from tests.intake.conftest import WriteModel

NAMES: dict[str, set[str]] = {}
for row in rows("quark_linear_names.csv"):
    if row["kind"] == "linear":
        NAMES.setdefault(row["model_type"], set()).add(row["name"])

LAYOUT: dict[str, dict[str, object]] = {
    "deepseek_v2": {"first_k_dense_replace": 1, "q_lora_rank": 32},
    "deepseek_v3": {"first_k_dense_replace": 1},
    "glm4_moe": {"first_k_dense_replace": 1},
    "glm4_moe_lite": {"mlp_layer_types": ["dense", "sparse"]},
    "granitemoehybrid": {"layer_types": ["attention", "attention"], "num_local_experts": 4},
    "qwen3_next": {"layer_types": ["linear_attention", "full_attention"]},
    "qwen3_5_moe_text": {"layer_types": ["linear_attention", "full_attention"]},
}
"""What makes two blocks show every kind of layer."""


@pytest.mark.parametrize("model_type", NAMES)
def test_quantizable_layers_have_the_names_that_quark_sees(
    model_type: str, write_model: WriteModel, catalog: Catalog
) -> None:
    config = {"model_type": model_type, "num_hidden_layers": 2, **LAYOUT.get(model_type, {})}
    inventory = api.analyze(str(write_model(base=config)), catalog=catalog).inventory
    assert inventory is not None
    assert {item.name for item in inventory.layers if item.quantizable} == NAMES[model_type]
