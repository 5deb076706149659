"""What blocks keep of the past, as the inventory records it."""

from typing import Literal

from pydantic import Field, model_validator

from solver.catalog.caches import Recurrence
from solver.intake.record import BlockRange, DtypeName, Record

CacheKind = Literal["full", "sliding", "chunked", "mla", "state", "image"]


class StateTensor(Record):
    """One tensor of a recurrent state, as it is over all devices.

    Tensor parallelism cuts one axis, or none where every device holds the whole tensor. Along the cut axis may lie
    groups that several heads share: where they do not divide evenly, each device holds a copy of one.
    """

    shape: tuple[int, ...] = Field(min_length=1)
    cut_axis: int | None = Field(default=None, ge=0)
    groups: int = Field(default=0, ge=0)
    group_elements: int = Field(default=0, ge=0, description="elements of the cut axis that one group takes")
    dtype: DtypeName | Literal["model"] = "model"

    @model_validator(mode="after")
    def _axis_exists(self) -> "StateTensor":
        if self.cut_axis is not None and self.cut_axis >= len(self.shape):
            raise ValueError("a state is cut along an axis that it does not have")
        return self


class CacheGroup(Record):
    """Layers whose cache has the same form.

    For `mla`, `key_elements` is what is held once for all heads: a latent and its rotary part, or an indexer's key.
    What awaits compression is `sliding`, with the tokens that go into an entry as its window.
    For `image`, `image_tokens` are what is kept of one image, whatever the context.
    For `state`, `state` lists the tensors that one sequence keeps in one layer, whatever its length: the window of a
    convolution first.
    """

    kind: CacheKind
    blocks: int = Field(gt=0, description="layers with this cache")
    at: tuple[BlockRange, ...] = Field(default=(), description="the blocks that these are, where it is known")
    kv_heads: int = Field(default=1, gt=0)
    key_elements: int = Field(default=0, ge=0, description="per head and token")
    value_elements: int = Field(default=0, ge=0, description="per head and token")
    window: int | None = Field(default=None, gt=0, description="tokens, for sliding and chunked")
    image_tokens: int | None = Field(default=None, gt=0, description="tokens of one image, for image")
    dtype: DtypeName | None = Field(default=None, description="its own type, whatever that of the KV cache")
    tokens_per_entry: int = Field(default=1, gt=0, description="tokens that are compressed into one entry")
    block_tokens: int | None = Field(default=None, gt=0, description="its own tokens of a block, whatever the stack's")
    page_alignment: int = Field(default=1, gt=0, description="bytes of which a page is a multiple")
    recurrence: Recurrence | None = None
    state: tuple[StateTensor, ...] = ()

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "CacheGroup":
        if (self.kind in {"sliding", "chunked"}) != (self.window is not None):
            raise ValueError(f"a {self.kind} cache {'without' if self.window is None else 'with'} a window")
        if (self.kind == "image") != (self.image_tokens is not None):
            raise ValueError(f"a {self.kind} cache with {self.image_tokens} tokens of an image")
        if self.at and sum(part.last - part.first + 1 for part in self.at) != self.blocks:
            raise ValueError(f"a cache of {self.blocks} layers in other blocks than as many")
        if (self.kind == "state") != bool(self.state):
            raise ValueError(f"a {self.kind} cache with {len(self.state)} state tensors")
        return self
