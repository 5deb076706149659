"""Scales that algorithms leave in float32, by the shapes of schemes."""

import pytest

from solver.catalog import Catalog
from solver.cost.checkpoint import float32_scale_bytes


@pytest.mark.parametrize(
    ("scheme", "algorithm", "expected"),
    [
        ("uint4_wo_32", "gptq", 2 * 64 * (128 // 32)),
        ("ptpc_fp8", "gptaq", 2 * 64),
        ("fp8", "qronos", 2),
        # Its scales are in float32 in any case, and those of its inputs are no weight's.
        ("int8", "gptq", 0),
        ("mxfp4_fp8", "gptq", 0),
        ("mxfp4", "gptq", 0),
        ("uint4_wo_32", "awq", 0),
    ],
)
def test_take_two_bytes_more_each(scheme: str, algorithm: str, expected: int, catalog: Catalog) -> None:
    algorithms = [catalog.algorithms.get(algorithm)]
    assert float32_scale_bytes(catalog.schemes.get(scheme), 128, 64, algorithms, 2) == expected


def test_are_none_of_native_layers_without_algorithms_or_in_float32(catalog: Catalog) -> None:
    gptq, scheme = [catalog.algorithms.get("gptq")], catalog.schemes.get("uint4_wo_32")
    assert float32_scale_bytes(None, 128, 64, gptq, 2) == 0
    assert float32_scale_bytes(scheme, 128, 64, [], 2) == 0
    assert float32_scale_bytes(scheme, 128, 64, gptq, 4) == 0
