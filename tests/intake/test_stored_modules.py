"""Stored formats have the tensors that the modules of transformers load."""

import pytest
import torch
from transformers.integrations.fbgemm_fp8 import FbgemmFp8Linear
from transformers.integrations.finegrained_fp8 import FP8Linear

from solver.catalog import Catalog

SHAPES = [(256, 384), (576, 7168), (128, 100), (1, 64)]


def tensors(catalog: Catalog, name: str, out_features: int, in_features: int) -> list[tuple[int, int]]:
    """Return elements and bytes of each tensor of a weight."""
    stored = catalog.stored_formats.get(name).called(name)
    assert stored is not None
    return [
        (tensor.elements(in_features, out_features), tensor.size_bytes(in_features, out_features, 2))
        for tensor in catalog.storage_of(stored)
    ]


def held(module: torch.nn.Module) -> list[tuple[int, int]]:
    return [(tensor.numel(), tensor.numel() * tensor.element_size()) for tensor in module.state_dict().values()]


@pytest.mark.parametrize(("out_features", "in_features"), SHAPES)
class TestFp8:
    def test_in_blocks(self, out_features: int, in_features: int, catalog: Catalog) -> None:
        module = FP8Linear(in_features, out_features, block_size=(128, 128), has_bias=False)
        assert tensors(catalog, "fp8_block", out_features, in_features) == held(module)

    def test_by_tensor(self, out_features: int, in_features: int, catalog: Catalog) -> None:
        for scheme in ("static", "dynamic"):
            module = FP8Linear(in_features, out_features, block_size=None, activation_scheme=scheme, has_bias=False)
            assert tensors(catalog, f"fp8_tensor_{scheme}", out_features, in_features) == held(module)

    def test_by_row(self, out_features: int, in_features: int, catalog: Catalog) -> None:
        module = FbgemmFp8Linear(in_features, out_features, bias=False)
        assert tensors(catalog, "fbgemm_fp8", out_features, in_features) == held(module)
