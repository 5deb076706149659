"""The tensors of a checkpoint as its headers describe them."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

_BITS = {
    "F64": 64,
    "I64": 64,
    "U64": 64,
    "C64": 64,
    "F32": 32,
    "I32": 32,
    "U32": 32,
    "BF16": 16,
    "F16": 16,
    "I16": 16,
    "U16": 16,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "F4": 4,
}
"""Bits of one element by safetensors' name of the type; all other types have 8 (safetensors 0.8)."""

FLOATS = {"F64": "float64", "F32": "float32", "BF16": "bfloat16", "F16": "float16"}
"""Torch's name of each floating type of 16 bits or more: what weights have that are not quantized."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor as a header describes it.

    `dtype`, `shape` and `size_bytes` are None where only an index names it. `dtype` is the format's own name of the
    type (`BF16`, `Q4_K`); `shape` counts elements, not bytes.
    """

    name: str
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    size_bytes: int | None = None

    @property
    def elements(self) -> int | None:
        """Number of elements; a type that packs several into one counts the packed ones."""
        return None if self.shape is None else prod(self.shape)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """All tensors of a checkpoint, by name, and the file or folder that they were read from.

    `gguf_architecture` is llama.cpp's name of the architecture where they are named as GGUF files name them.
    """

    origin: str
    tensors: tuple[TensorInfo, ...]
    gguf_architecture: str | None = None

    @property
    def has_shapes(self) -> bool:
        """Whether headers were read: an index alone has names only."""
        return all(tensor.shape is not None for tensor in self.tensors)

    @property
    def elements(self) -> int:
        """Stored elements of all tensors; those without a shape count none."""
        return sum(tensor.elements or 0 for tensor in self.tensors)

    @property
    def size_bytes(self) -> int:
        """Stored bytes of all tensors, without headers and padding."""
        return sum(tensor.size_bytes or 0 for tensor in self.tensors)

    @property
    def weight_type(self) -> str | None:
        """Torch's name of the floating type of 16 bits or more that holds most elements, or None.

        In a GGUF file whose weights are quantized only norms are floats: they tell nothing of the weights.
        """
        elements: dict[str, int] = {}
        for tensor in self.tensors:
            name = FLOATS.get(tensor.dtype or "")
            if name is not None:
                elements[name] = elements.get(name, 0) + (tensor.elements or 0)
        if self.gguf_architecture is not None and 2 * sum(elements.values()) < self.elements:
            return None
        return max(sorted(elements), key=lambda name: elements[name], default=None)


def tensor_bytes(dtype: str, shape: Iterable[int]) -> int:
    """Return the bytes of a tensor of safetensors' type `dtype`."""
    return prod(shape) * _BITS.get(dtype, 8) // 8
