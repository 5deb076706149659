"""What Quark's own packing makes of one linear layer of any shape, against the scheme's formula."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.catalog import Catalog

SCHEMES = {scheme.name: scheme for scheme in Catalog().schemes}
EXPORTABLE = [name for name, scheme in SCHEMES.items() if not scheme.not_exportable]

pytestmark = [pytest.mark.usefixtures("quark"), pytest.mark.filterwarnings("ignore")]

DTYPES = {"int32": "I32", "int8": "I8", "uint8": "U8", "float32": "F32", "float8_e4m3fn": "F8_E4M3", "bfloat16": "BF16"}

Stored = Counter[tuple[str, tuple[int, ...]]]
"""Tensors by type and shape."""


@pytest.fixture(autouse=True, scope="module")
def eager() -> Iterator[None]:
    """Let torch interpret what Quark would have it compile anew for each shape."""
    import torch

    with torch.compiler.set_stance("force_eager"):
        yield


@cache
def _config(scheme: str) -> Any:
    from quark.torch import LLMTemplate

    return LLMTemplate.get("llama").get_config(scheme=scheme, exclude_layers=[])


def packed(scheme: str, inputs: int, outputs: int, *, bias: bool, wide: bool) -> Stored:
    """Return what Quark stores of a linear layer, calibrated on four rows of noise."""
    import torch
    from quark.torch import ModelQuantizer
    from quark.torch.export.nn.modules.qparamslinear import QParamsLinear

    dtype = torch.float32 if wide else torch.bfloat16
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(inputs, outputs, bias=bias, dtype=dtype)).eval()
    quantizer = ModelQuantizer(_config(scheme))
    model = quantizer.freeze(quantizer.quantize_model(model, [torch.randn(4, inputs, dtype=dtype)]))
    stored = QParamsLinear.from_module(model[0], "quark", "reorder").state_dict()
    return Counter(
        (DTYPES[str(tensor.dtype).removeprefix("torch.")], tuple(tensor.shape)) for tensor in stored.values()
    )


def predicted(scheme: str, inputs: int, outputs: int, *, bias: bool, wide: bool) -> Stored:
    """Return the same by the profile; a bias keeps the model's own type."""
    own = "F32" if wide else "BF16"
    tensors = [
        (own if tensor.dtype == "model" else tensor.dtype, tuple(axis.size(inputs, outputs) for axis in tensor.shape))
        for tensor in SCHEMES[scheme].storage
    ]
    return Counter([*tensors, *([(own, (outputs,))] if bias else [])])


# Multiples of the groups and of the packing, their neighbours, and anything.
SIZES = st.one_of(
    st.integers(1, 300),
    st.builds(lambda base, n: base * n, st.sampled_from((4, 8, 16, 32, 64, 128)), st.integers(1, 4)),
)


@pytest.mark.parametrize("name", EXPORTABLE)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(inputs=SIZES, outputs=SIZES, bias=st.booleans(), wide=st.booleans())
def test_a_layer_is_stored_as_predicted_or_refused(
    name: str, inputs: int, outputs: int, bias: bool, wide: bool
) -> None:
    if SCHEMES[name].packs(inputs, outputs):
        assert packed(name, inputs, outputs, bias=bias, wide=wide) == (
            predicted(name, inputs, outputs, bias=bias, wide=wide)
        )
    else:
        with pytest.raises((RuntimeError, ValueError), match=r"invalid for input|not divisible"):
            packed(name, inputs, outputs, bias=bias, wide=wide)


@pytest.mark.parametrize("name", sorted(set(SCHEMES) - set(EXPORTABLE)))
def test_a_scheme_that_is_not_offered_cannot_be_packed(name: str) -> None:
    with pytest.raises((AssertionError, ValueError)):
        packed(name, 128, 128, bias=False, wide=False)
