"""What one layer of each kind keeps on one device."""

from dataclasses import dataclass

from solver.catalog.caches import Recurrence
from solver.intake.cache_group import CacheGroup, CacheKind, StateTensor
from solver.intake.inventory import Inventory
from solver.intake.record import DTYPE_BYTES
from solver.rules.service import Service, served_dtype_bytes
from solver.units import ceil_div, round_up

FP8_BYTES = 1


@dataclass(frozen=True, slots=True)
class LayerCache:
    """The cache of one layer on one device.

    Parameters
    ----------
    heads, key_elements, value_elements, element_bytes
        What is held for each token; all zero for a state.
    tokens_per_entry
        Tokens that share one entry, where a layer compresses them.
    block_tokens, page_alignment
        The layer's own tokens of a block, if it has any, and the bytes of which a page of it is a multiple.
    window
        Tokens that a sliding or chunked layer looks back on.
    image_tokens
        Tokens of an image: all that an image layer keeps, and beside the context what another one has slots for.
    state_bytes
        What is held for each sequence; zero for anything but a state.

    """

    kind: CacheKind
    heads: int = 0
    key_elements: int = 0
    value_elements: int = 0
    element_bytes: int = 0
    tokens_per_entry: int = 1
    block_tokens: int | None = None
    page_alignment: int = 1
    window: int | None = None
    image_tokens: int = 0
    state_bytes: int = 0
    recurrence: Recurrence | None = None

    @property
    def entry_bytes(self) -> int:
        """Bytes of one entry: of one token, unless the layer compresses several into it."""
        return self.heads * (self.key_elements + self.value_elements) * self.element_bytes

    def bytes_of(self, tokens: int) -> int:
        """Return the bytes of so many tokens."""
        return ceil_div(tokens, self.tokens_per_entry) * self.entry_bytes

    def page_bytes(self, block_tokens: int) -> int:
        """Return the bytes of one page: of a block of tokens, or of a state."""
        return round_up(self.state_bytes or self.bytes_of(block_tokens), self.page_alignment)

    def tokens(self, context: int, in_flight: int) -> int:
        """Return the tokens of one sequence that the layer holds at most.

        A window keeps one token less than it spans, and like a chunk all that are in flight, since none is freed
        before its step is done (vLLM 0.33.0, v1/kv_cache_interface.py).
        """
        if self.kind == "image":
            return self.image_tokens
        if self.window is None:
            return context + self.image_tokens
        return min(context, self.window - (self.kind == "sliding") + in_flight)

    def payload_bytes(self, context: int, in_flight: int) -> int:
        """Return the bytes of what one sequence holds, without any rounding."""
        return self.state_bytes or self.bytes_of(self.tokens(context, in_flight))


def _state_elements(tensor: StateTensor, tensor_parallel: int) -> int:
    """Return the elements of one tensor on one device."""
    cut = 1
    rest = 1
    for axis, size in enumerate(tensor.shape):
        if axis == tensor.cut_axis:
            copies = tensor_parallel - tensor.groups if tensor.groups % tensor_parallel else 0
            cut = ceil_div(size + copies * tensor.group_elements, tensor_parallel)
        else:
            rest *= size
    return cut * rest


def _state_bytes(group: CacheGroup, service: Service, native: int) -> int:
    """Return the bytes that one sequence's state of one layer takes on one device."""
    stated = service.backend.state_dtypes
    total = 0
    for index, tensor in enumerate(group.state):
        own = tensor.dtype
        if stated is not None and own == "model":
            own = stated.window if index == 0 else stated.recurrent
        size = native if own == "model" else DTYPE_BYTES[own]
        total += _state_elements(tensor, service.tensor_parallel) * size
    return total


def _layer(group: CacheGroup, service: Service, inventory: Inventory, slots: int, *, fp8: bool) -> LayerCache:
    native = served_dtype_bytes(inventory)
    if group.kind == "state":
        return LayerCache("state", state_bytes=_state_bytes(group, service, native), recurrence=group.recurrence)
    handling = service.backend.image_caches
    return LayerCache(
        "full" if group.kind == "image" and handling != "own" else group.kind,
        heads=1 if group.kind == "mla" else service.kv_heads_per_device(group.kv_heads),
        key_elements=group.key_elements,
        value_elements=group.value_elements,
        element_bytes=DTYPE_BYTES[group.dtype] if group.dtype else FP8_BYTES if fp8 else native,
        tokens_per_entry=group.tokens_per_entry,
        block_tokens=group.block_tokens,
        page_alignment=group.page_alignment,
        window=group.window,
        image_tokens=(group.image_tokens or 0) if handling == "own" else slots,
    )


def image_assumption(service: Service, inventory: Inventory) -> str | None:
    """Return what the bill assumes of images, or None where no layer attends to one."""
    layers = sum(group.blocks for group in inventory.caches if group.kind == "image")
    tokens = max((group.image_tokens or 0 for group in inventory.caches), default=0)
    if not layers:
        return None
    backend = service.backend
    if backend.image_caches == "text":
        return (
            f"{backend.title} {backend.version} gives the {layers} layers that attend to an image a cache of text and "
            "keeps no image: the bill holds for text alone"
        )
    where = "all layers" if backend.image_caches == "slots" else f"the {layers} layers that attend to it"
    return f"one image for each sequence, {tokens} tokens in {where}"


def layer_caches(service: Service, inventory: Inventory, *, fp8: bool) -> dict[LayerCache, int]:
    """Return how many layers have each form of cache on one device.

    Latents and indexers are the same on every device, and so are KV heads of which there are fewer than devices.
    States keep their own type when the KV cache is in fp8. Each sequence has one image, where there are layers that
    attend to one.
    """
    image = max((group.image_tokens or 0 for group in inventory.caches), default=0)
    slots = image if service.backend.image_caches == "slots" else 0
    counts: dict[LayerCache, int] = {}
    for group in inventory.caches:
        layer = _layer(group, service, inventory, slots, fp8=fp8)
        counts[layer] = counts.get(layer, 0) + group.blocks
    return counts
