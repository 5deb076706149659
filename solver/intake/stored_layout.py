"""How a quantized checkpoint is stored, as the inventory carries it."""

from pydantic import Field

from solver.catalog.base import Profile
from solver.catalog.scheme import StoredTensor


class StoredLayout(Profile):
    """The tensors that one weight of (out, in) is stored as."""

    name: str
    tensors: tuple[StoredTensor, ...]

    def counted_elements(self, in_features: int, out_features: int) -> int:
        """Return the elements as the hub counts them: packed ones by their words, scalars not at all."""
        return sum(tensor.elements(in_features, out_features) for tensor in self.tensors if tensor.shape)

    def size_bytes(self, in_features: int, out_features: int, model_dtype_bytes: int) -> int:
        """Return the bytes of one weight and of its scales."""
        return sum(tensor.size_bytes(in_features, out_features, model_dtype_bytes) for tensor in self.tensors)


class Quantized(Profile):
    """How the checkpoint is quantized already."""

    method: str = Field(description="as the configuration names it")
    place: str = Field(description="where it says so")
    formats: tuple[StoredLayout, ...] = Field(default=(), description="those that some layer is stored in")
    unknown: tuple[str, ...] = Field(default=(), description="what is stated and fits no known format")
    kv_cache: str | None = Field(default=None, description="type of the KV cache that it asks for")

    def layout(self, name: str) -> StoredLayout:
        """Return the format called `name`."""
        return next(layout for layout in self.formats if layout.name == name)
