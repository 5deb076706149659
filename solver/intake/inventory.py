"""What a model is made of, in the form that `model_analysis.json` carries.

Layers are kept as families: one name with placeholders for block and expert, one shape, one type, and the
blocks that have it. DeepSeek-V3's 45,000 linears are 18 families.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

DtypeName = Literal["float64", "float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "int8", "uint8"]
CacheKind = Literal["full", "sliding", "chunked", "mla", "state"]

DTYPE_BYTES = {
    "float64": 8,
    "float32": 4,
    "bfloat16": 2,
    "float16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int8": 1,
    "uint8": 1,
}
"""Bytes of one element by torch's name of the type."""


class Record(BaseModel):
    """A frozen part of the inventory that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class BlockRange(Record):
    """Consecutive block indices, both ends included."""

    first: int = Field(ge=0)
    last: int = Field(ge=0)

    @model_validator(mode="after")
    def _in_order(self) -> "BlockRange":
        if self.first > self.last:
            raise ValueError("a range of blocks ends before it begins")
        return self


def to_ranges(blocks: Iterable[int]) -> tuple[BlockRange, ...]:
    """Return block indices as the fewest ranges, in order."""
    ranges: list[BlockRange] = []
    for block in sorted(set(blocks)):
        if ranges and ranges[-1].last == block - 1:
            ranges[-1] = BlockRange(first=ranges[-1].first, last=block)
        else:
            ranges.append(BlockRange(first=block, last=block))
    return tuple(ranges)


class LayerFamily(Record):
    """Layers that differ only in block and expert.

    `name` is the module path that Quark's patterns match, after Quark has split fused experts, with `{block}`
    and `{expert}` for the indices. Shapes are those of the matrix product: a weight of
    (out_features, in_features), whatever the orientation on disk.
    """

    name: str
    role: str
    in_features: int = Field(gt=0)
    out_features: int = Field(gt=0)
    blocks: tuple[BlockRange, ...] = ()
    experts: int = Field(default=0, ge=0)
    bias: bool = False
    quantizable: bool = Field(default=True, description="whether Quark sees it as a linear layer")
    tied: bool = Field(default=False, description="whether the weight is another parameter's")

    @property
    def weight_elements(self) -> int:
        """Elements of one layer's weight."""
        return self.in_features * self.out_features

    @property
    def block_indices(self) -> tuple[int, ...]:
        """All blocks that have this layer; empty when it lies outside the blocks."""
        return tuple(index for part in self.blocks for index in range(part.first, part.last + 1))

    @property
    def layers_per_block(self) -> int:
        """Layers of this family in one block."""
        return max(1, self.experts)

    @property
    def count(self) -> int:
        """Layers of this family in the model."""
        return max(1, len(self.block_indices)) * self.layers_per_block

    def path(self, block: int | None = None, expert: int | None = None) -> str:
        """Return the module path of one layer; a placeholder without an index stays."""
        name = self.name if block is None else self.name.replace("{block}", str(block))
        return name if expert is None else name.replace("{expert}", str(expert))

    def paths(self) -> Iterator[str]:
        """Yield the module paths of all layers."""
        for block in self.block_indices or (None,):
            for expert in range(self.experts) if self.experts else (None,):
                yield self.path(block, expert)


class ParameterGroup(Record):
    """Parameters outside the layers: embeddings, norms, biases, routers, states."""

    part: Literal["embedding", "norm", "bias", "router", "experts", "vision", "other"]
    elements: int
    tensors: int
    wide_elements: int = Field(default=0, description="those that transformers keeps in float32")


class CacheGroup(Record):
    """Blocks whose cache has the same form.

    For `mla`, `key_elements` is the latent and its rotary part, held once for all heads. For `state`,
    `state_elements` is the fixed state of one sequence in one block.
    """

    kind: CacheKind
    blocks: int = Field(gt=0)
    kv_heads: int = Field(default=1, gt=0)
    key_elements: int = Field(default=0, description="per head and token")
    value_elements: int = Field(default=0, description="per head and token")
    window: int | None = Field(default=None, gt=0, description="tokens, for sliding and chunked")
    state_elements: int = 0


class MixtureOfExperts(Record):
    """Experts of one block and how many a token is routed to."""

    experts: int = Field(gt=0)
    experts_per_token: int = Field(gt=0)
    shared_experts: int = 0


class Difference(Record):
    """Why the checkpoint holds more or less than transformers builds of it: stored minus built.

    Elements and bytes are None where they cannot be known: an index alone names tensors without their shapes.
    """

    cause: str
    meaning: str
    elements: int | None
    bytes: int | None
    tensors: int = Field(gt=0)
    names: tuple[str, ...] = Field(description="some of the tensors")


class Inventory(Record):
    """All parameters and caches of a model, as they are before quantizing."""

    dtype: DtypeName
    elements_total: int = Field(gt=0)
    checkpoint_bytes: int = Field(gt=0, description="as stored, or by the configuration where no headers were read")
    hidden_size: int = Field(gt=0)
    vocab_size: int = Field(gt=0)
    blocks: int = Field(gt=0)
    max_context: int | None = Field(gt=0)
    tied_embeddings: bool
    layers: tuple[LayerFamily, ...]
    others: tuple[ParameterGroup, ...]
    caches: tuple[CacheGroup, ...]
    moe: MixtureOfExperts | None = None
    buffer_bytes: int = Field(default=0, ge=0, description="bytes of buffers that are saved with the parameters")
    convolutions: tuple[str, ...] = Field(
        default=(), description="module paths of 2-D convolutions, which Quark quantizes unless they are excluded"
    )

    stored_elements: int | None = Field(
        default=None, description="elements of the checkpoint's tensors, where its headers were read"
    )
    differences: tuple[Difference, ...] = Field(
        default=(), description="of the checkpoint to the parameters above, stored minus built, complete"
    )

    @property
    def dtype_bytes(self) -> int:
        """Bytes of one element of the checkpoint."""
        return DTYPE_BYTES[self.dtype]

    @property
    def quantizable_count(self) -> int:
        """Linear layers that Quark would quantize if nothing were excluded."""
        return sum(family.count for family in self.layers if family.quantizable)
