"""The inventory's layers are the modules that Quark's patterns match once it has split fused experts."""

from pathlib import Path
from typing import NamedTuple

import pytest

from solver import api
from solver.catalog import Catalog
from solver.intake.inventory import Inventory
from tests.quark.architectures import FURTHER, small_config
from tests.quark.real import model_of_quark
from tests.quark.tiny import TEMPLATED, UNTEMPLATED

NAMES = [*TEMPLATED, *UNTEMPLATED, *FURTHER]

pytestmark = pytest.mark.usefixtures("quark")


class Linear(NamedTuple):
    """What a linear layer is to a plan."""

    in_features: int
    out_features: int
    bias: bool


@pytest.fixture
def inventory(name: str, catalog: Catalog, tmp_path: Path) -> Inventory:
    """Return what the intake finds from the configuration alone."""
    small_config(name).save_pretrained(tmp_path)
    found = api.analyze(str(tmp_path), catalog=catalog).inventory
    assert found is not None
    return found


@pytest.mark.parametrize("name", NAMES)
class TestModel:
    def test_has_these_linears_of_these_shapes(self, name: str, inventory: Inventory) -> None:
        import torch

        seen = {
            path: Linear(module.in_features, module.out_features, module.bias is not None)
            for path, module in model_of_quark(name).named_modules(remove_duplicate=False)
            if type(module) is torch.nn.Linear
        }
        ours = {
            path: Linear(family.in_features, family.out_features, family.bias)
            for family in inventory.layers
            if family.quantizable
            for path in family.paths()
        }
        assert ours == seen

    def test_has_the_same_parameters_after_the_split(self, name: str, inventory: Inventory) -> None:
        in_layers = sum(family.count * family.weight_elements for family in inventory.layers if not family.tied)
        elements = sum(parameter.numel() for parameter in model_of_quark(name).parameters())
        assert in_layers + sum(group.elements for group in inventory.others) == elements == inventory.elements_total

    def test_has_no_further_module_that_quark_would_quantize(self, name: str, inventory: Inventory) -> None:
        from quark.torch.quantization.model_transformation import _is_quantizable_layer
        from torch import nn

        others = {
            path
            for path, module in model_of_quark(name).named_modules()
            if _is_quantizable_layer(module) and type(module) not in (nn.Linear, nn.Embedding, nn.EmbeddingBag)
        }
        assert others == set(inventory.convolutions)
