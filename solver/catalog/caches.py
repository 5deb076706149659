"""How Hugging Face configurations describe what each layer keeps of the past."""

from typing import Any, Literal

from pydantic import Field

from solver.catalog.base import Profile
from solver.catalog.fields import Names, first_field

Recurrence = Literal["gated_delta_net", "kimi_delta_attention", "mamba2", "mamba1", "short_conv"]
"""Kinds of recurrent layers by the shape of their state."""


class LatentFields(Profile):
    """Multi-head latent attention: one vector and its rotary part for all heads."""

    rank: Names
    rotary: Names


class IndexerFields(Profile):
    """Sparse attention: a key in 8 bits, with its scales, by which tokens are chosen."""

    key: Names
    types: Names
    own: Names
    scale_block: int
    scale_bytes: int

    def key_bytes(self, key_elements: int) -> int:
        """Return the bytes of a key with its scales."""
        return key_elements + key_elements // self.scale_block * self.scale_bytes


class Compression(Profile):
    """How a rate of compressed attention keeps what it compresses.

    Parameters
    ----------
    overlap
        Entries that each token goes into, so that as many times the rate of tokens await compression.
    state_block_tokens
        Tokens of a block of what awaits compression.
    indexed
        Whether an indexer has compressed keys of its own.

    """

    overlap: int = Field(gt=0)
    state_block_tokens: int = Field(gt=0)
    indexed: bool


class CompressedFields(Profile):
    """Attention to a window and to compressed entries of what lies before it.

    Blocks have tokens of their own, and pages begin at multiples of `page_alignment` bytes.
    """

    rates: Names
    rotary: Names
    rotary_bytes: int
    scale_block: int
    scale_padding: int
    state_dtype: str
    window_block_tokens: int
    block_tokens: int
    page_alignment: int
    compressions: dict[int, Compression]


class ImageFields(Profile):
    """Layers that attend to an image, and what its tokens follow from."""

    layers: Names
    tiles: Names
    image_size: Names
    patch_size: Names
    class_tokens: int

    def tokens(self, config: Any) -> int | None:
        """Return the tokens of one image with as many tiles as there may be, or None where a size is not stated."""
        tiles, image, patch = (first_field(names, config) for names in (self.tiles, self.image_size, self.patch_size))
        if not all(isinstance(size, int) for size in (tiles, image, patch)):
            return None
        return int(tiles * ((image // patch) ** 2 + self.class_tokens))


class StateFields(Profile):
    """Field names of each kind of recurrence; a model whose configuration has all of a kind has it."""

    gated_delta_net: dict[str, Names]
    kimi_delta_attention: dict[str, Names]
    mamba2: dict[str, Names]
    mamba1: dict[str, Names]
    mamba1_beside_attention: dict[str, Names]
    short_conv: dict[str, Names]


class RecurrentDtype(Profile):
    """Models that name the type of their recurrent state, and what holds where they do not."""

    model_types: Names
    field: str
    default: str


class CacheFields(Profile):
    """Field names by fact; the first one present in a configuration wins."""

    source: str
    latent: LatentFields
    indexer: IndexerFields
    compressed: CompressedFields
    shared_layers: Names
    images: ImageFields
    states: StateFields
    recurrent_dtypes: tuple[RecurrentDtype, ...]

    def recurrent_dtype(self, config: Any) -> str:
        """Return torch's name of the type of a recurrent state, or `model`."""
        for row in self.recurrent_dtypes:
            if getattr(config, "model_type", None) in row.model_types:
                return str(getattr(config, row.field, None) or row.default)
        return "model"
