"""Schemes of the KV cache in AMD Quark: what they add to a checkpoint."""

from pydantic import Field

from solver.catalog.base import Profile
from solver.catalog.scheme import StoredTensor


class KvScheme(Profile):
    """One KV-cache scheme of AMD Quark 0.13."""

    name: str
    summary: str
    storage: tuple[StoredTensor, ...] = Field(
        description="what is written for each layer that Quark's KV patterns match"
    )
    storage_source: str

    def size_bytes(self, in_features: int, out_features: int, model_dtype_bytes: int) -> int:
        """Return the bytes that Quark's export adds to one layer of this shape."""
        return sum(tensor.size_bytes(in_features, out_features, model_dtype_bytes) for tensor in self.storage)
