"""What a model is made of, in the form that `model_analysis.json` carries.

Layers are kept as families: one name with placeholders for block and expert, one shape, one type, and the
blocks that have it. DeepSeek-V3's 45,000 linears are 18 families.
"""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, model_validator

from solver.intake.cache_group import CacheGroup
from solver.intake.record import DTYPE_BYTES, BlockRange, DtypeName, Record
from solver.intake.stored_layout import Quantized


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
    stored: str | None = Field(default=None, description="format in which the checkpoint holds it, if quantized")

    def __hash__(self) -> int:
        """Return the hash of what tells families apart: they are keys wherever layers are counted."""
        return hash((self.name, self.role))

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

    @property
    def glob(self) -> str:
        """A pattern for all layers of the family, experts included."""
        return self.name.replace("{block}", "*").replace("{expert}", "*")

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
    blocks: tuple[BlockRange, ...] = Field(
        default=(), description="blocks that have them, each as many; empty outside the blocks"
    )
    elements: int = Field(description="in all blocks together")
    tensors: int
    wide_elements: int = Field(default=0, description="those that transformers keeps in float32")
    cut_elements: int = Field(
        default=0, ge=0, description="those that tensor parallelism cuts, embeddings and biases of layers left out"
    )
    stored: str | None = Field(default=None, description="format in which the checkpoint holds it, if quantized")


class MixtureOfExperts(Record):
    """Experts of one block and how many a token is routed to."""

    experts: int = Field(gt=0)
    experts_per_token: int = Field(gt=0)
    shared_experts: int = 0


class MultiTokenPrediction(Record):
    """Layers that the checkpoint holds for drafting tokens, and that transformers, and so Quark, leaves out."""

    layers: int = Field(gt=0)
    copied_blocks: tuple[int, ...] = Field(description="blocks whose layers each of them has too")
    families: tuple[LayerFamily, ...] = Field(description="linear layers of one of them, as it is stored")
    elements: int = Field(gt=0, description="parameters of all of them")
    size_bytes: int | None = Field(description="as stored, saved buffers included; null if the format is unknown")
    replicated_elements: int = Field(ge=0, description="outside the linear layers, on every device")
    sharded_elements: int = Field(ge=0, description="embeddings and heads of their own, cut by tensor parallelism")
    buffer_bytes: int = Field(ge=0, description="of saved buffers, on every device")


class PartShare(Record):
    """What one part of the model (a role of layers, or a group of other parameters) takes in the checkpoint."""

    part: str
    elements: int = Field(ge=0)
    size_bytes: int | None = Field(description="as stored; null if the format is unknown")


class Difference(Record):
    """A named cause for which the checkpoint's elements are not those of the model that transformers builds.

    Stored minus built. Elements and bytes are None where they cannot be known: an index alone names tensors without
    their shapes, and a configuration alone no bytes. Tensors and names are there where headers were read.
    """

    cause: str
    elements: int | None
    meaning: str = ""
    bytes: int | None = None
    tensors: int = Field(default=0, ge=0)
    names: tuple[str, ...] = Field(default=(), description="some of the tensors")


def _unquantized_bytes(fields: dict[str, Any]) -> int:
    return int(fields.get("elements_total", 0)) * DTYPE_BYTES.get(fields.get("dtype", ""), 0)


class Inventory(Record):
    """All parameters and caches of a model, as the checkpoint holds them."""

    dtype: DtypeName
    elements_total: int = Field(gt=0)
    checkpoint_bytes: int | None = Field(
        gt=0, description="of all tensors as they are stored, saved buffers among them; null if the format is unknown"
    )
    stored_elements: int | None = Field(
        default=None,
        gt=0,
        description="of all tensors as they are stored and as the hub counts them: packed words by "
        "the word, scalars not at all",
    )
    by_headers: bool = Field(
        default=False,
        description="whether checkpoint_bytes and stored_elements are read from the checkpoint's headers; else they "
        "follow from the configuration",
    )
    unquantized_bytes: int = Field(
        gt=0,
        default_factory=_unquantized_bytes,
        description="of all parameters in the model's own type; elements_total times its size where it is left out",
    )
    hidden_size: int = Field(gt=0)
    vocab_size: int = Field(gt=0)
    blocks: int = Field(gt=0)
    attention_heads: int | None = Field(
        default=None, gt=0, description="where blocks differ, what divides all of theirs; null where none is stated"
    )
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

    mtp: MultiTokenPrediction | None = Field(
        default=None, description="multi-token-prediction layers, in checkpoint_bytes and not in elements_total"
    )
    parts: tuple[PartShare, ...] = Field(default=(), description="shares that add up to elements_total and its bytes")
    differences: tuple[Difference, ...] = Field(
        default=(), description="what makes stored_elements of elements_total, complete"
    )
    quantized: Quantized | None = Field(default=None, description="null where the checkpoint is not quantized")

    @model_validator(mode="after")
    def _formats_known(self) -> "Inventory":
        known = {layout.name for layout in self.quantized.formats} if self.quantized else set()
        predicting = self.mtp.families if self.mtp is not None else ()
        used = {family.stored for family in (*self.layers, *predicting)} | {group.stored for group in self.others}
        lacking = sorted({name for name in used if name is not None} - known)
        if lacking:
            raise ValueError(f"no stored format is called {' or '.join(lacking)}")
        return self

    @property
    def dtype_bytes(self) -> int:
        """Bytes of one element in the model's own type."""
        return DTYPE_BYTES[self.dtype]

    @property
    def quantizable_count(self) -> int:
        """Linear layers that Quark would quantize if nothing were excluded."""
        return sum(family.count for family in self.layers if family.quantizable)
