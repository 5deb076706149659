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


@dataclass(frozen=True, slots=True)
class Storage:
    """How the tensors of a checkpoint are stored: in a quantized format, or in the model's own type."""

    quantized: Quantized | None
    hidden_size: int
    dtype_bytes: int

    @property
    def known(self) -> bool:
        """Whether all formats are known; sizes mean nothing otherwise."""
        return self.quantized is None or not self.quantized.unknown

    def layout(self, stored: str | None) -> StoredLayout | None:
        """Return the layout of a format, or None for the model's own type."""
        return None if self.quantized is None or stored is None else self.quantized.layout(stored)

    def plain(self, elements: int) -> StoredSize:
        """Return the size of elements in the model's own type."""
        return StoredSize(elements, elements * self.dtype_bytes)

    def layer(self, family: LayerFamily) -> StoredSize:
        """Return the size of the weights of a family; a tied one takes none of its own."""
        if family.tied:
            return StoredSize()
        return self._matrices(family.stored, family.in_features, family.out_features, family.count)

    def group(self, group: ParameterGroup) -> StoredSize:
        """Return the size of a group of parameters; quantized ones are a matrix of rows of the hidden size."""
        if group.stored is None:
            return self.plain(group.elements)
        return self._matrices(group.stored, self.hidden_size, group.elements // self.hidden_size, 1)

    def of(self, layers: Iterable[LayerFamily], others: Iterable[ParameterGroup] = ()) -> StoredSize:
        """Return the size of layers and other parameters together."""
        return sum((*map(self.layer, layers), *map(self.group, others)), StoredSize())

    def _matrices(self, stored: str | None, in_features: int, out_features: int, count: int) -> StoredSize:
        layout = self.layout(stored)
        if layout is None:
            return self.plain(in_features * out_features * count)
        return StoredSize(
            count * layout.counted_elements(in_features, out_features),
            count * layout.size_bytes(in_features, out_features, self.dtype_bytes),
        )


def saved_buffers(modules: Iterable[tuple[str, Any]]) -> StoredSize:
    """Return the size of all persistent buffers, each in its own type."""
    buffers = [
        buffer
        for _, module in modules
        for name, buffer in module._buffers.items()
        if buffer is not None and name not in module._non_persistent_buffers_set
    ]
    return StoredSize(
        sum(buffer.numel() for buffer in buffers), sum(buffer.numel() * buffer.element_size() for buffer in buffers)
    )
