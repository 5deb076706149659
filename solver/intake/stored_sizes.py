"""Elements and bytes of a checkpoint as it is stored."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from solver.intake.inventory import LayerFamily, ParameterGroup
from solver.intake.stored_layout import Quantized, StoredLayout


@dataclass(frozen=True, slots=True)
class StoredSize:
    """Elements as the hub counts them (packed words by the word, scalars not at all), and bytes."""

    elements: int = 0
    size_bytes: int = 0

    def __add__(self, other: "StoredSize") -> "StoredSize":
        return StoredSize(self.elements + other.elements, self.size_bytes + other.size_bytes)


def _matrix(layout: StoredLayout, in_features: int, out_features: int, count: int, dtype_bytes: int) -> StoredSize:
    return StoredSize(
        count * layout.counted_elements(in_features, out_features),
        count * layout.size_bytes(in_features, out_features, dtype_bytes),
    )


def layer_size(family: LayerFamily, quantized: Quantized | None, dtype_bytes: int) -> StoredSize:
    """Return the size of the weights of a family; a tied one takes none of its own."""
    if family.tied:
        return StoredSize()
    if quantized is not None and family.stored is not None:
        layout = quantized.layout(family.stored)
        return _matrix(layout, family.in_features, family.out_features, family.count, dtype_bytes)
    elements = family.weight_elements * family.count
    return StoredSize(elements, elements * dtype_bytes)


def group_size(group: ParameterGroup, quantized: Quantized | None, hidden_size: int, dtype_bytes: int) -> StoredSize:
    """Return the size of a group of parameters; quantized ones are a matrix of rows of `hidden_size`."""
    if quantized is not None and group.stored is not None:
        layout = quantized.layout(group.stored)
        return _matrix(layout, hidden_size, group.elements // hidden_size, 1, dtype_bytes)
    return StoredSize(group.elements, group.elements * dtype_bytes)


def stored_size(
    layers: Iterable[LayerFamily],
    others: Iterable[ParameterGroup],
    quantized: Quantized | None,
    *,
    hidden_size: int,
    dtype_bytes: int,
) -> StoredSize:
    """Return the size of all parameters: quantized ones in their format, the rest in the model's own type.

    Embeddings and routers that are quantized are matrices of rows of `hidden_size`.
    """
    total = StoredSize()
    for family in layers:
        total += layer_size(family, quantized, dtype_bytes)
    for group in others:
        total += group_size(group, quantized, hidden_size, dtype_bytes)
    return total


def saved_buffers(model: Any) -> StoredSize:
    """Return the size of all persistent buffers, each in its own type."""
    buffers = [
        buffer
        for module in model.modules()
        for name, buffer in module.named_buffers(recurse=False)
        if name not in module._non_persistent_buffers_set
    ]
    return StoredSize(
        sum(buffer.numel() for buffer in buffers), sum(buffer.numel() * buffer.element_size() for buffer in buffers)
    )
