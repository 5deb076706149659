"""Bytes that Quark's checkpoint has beyond the weights that are billed in service."""

from collections.abc import Sequence

from solver.catalog.algorithm import Algorithm
from solver.catalog.scheme import Scheme

_WIDE_BYTES = 4


def float32_scale_bytes(
    scheme: Scheme | None, in_features: int, out_features: int, algorithms: Sequence[Algorithm], model_dtype_bytes: int
) -> int:
    """Return the bytes that the scales of one layer's weight take beyond those in the model's own type.

    Some algorithms leave the scales that they search in float32, and an export holds them so; stacks load them into
    the type that they compute in. 0 for scales that have a type of their own.
    """
    if scheme is None or not any(algorithm.float32_scales for algorithm in algorithms):
        return 0
    wider = max(0, _WIDE_BYTES - model_dtype_bytes)
    return wider * sum(
        tensor.elements(in_features, out_features)
        for tensor in scheme.storage
        if tensor.dtype == "model" and tensor.name.startswith("weight")
    )
