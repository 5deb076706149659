"""Bytes of the KV cache on one device."""

from solver.intake.inventory import CacheGroup, Inventory
from solver.rules.service import Service, served_dtype_bytes
from solver.units import ceil_div, round_up

FP8_BYTES = 1


def _cached_tokens(group: CacheGroup, service: Service) -> int:
    """Return the tokens of one sequence that a block keeps, in whole cache blocks.

    A sliding window keeps window - 1 tokens and those in flight, and one block more, since it does not start at
    a block's edge (vLLM 0.33, v1/kv_cache_interface.py).
    """
    block = int(service.backend.kv_block_tokens.value)
    full = round_up(service.context, block)
    if group.window is None:
        return full
    if group.kind == "chunked":
        return min(full, round_up(group.window, block))
    return min(full, round_up(group.window - 1 + service.batched_tokens, block) + block)


def cache_bytes(service: Service, inventory: Inventory, *, fp8: bool) -> int:
    """Return the bytes of all sequences' caches on one device.

    Keys and values: 2 tensors of (tokens, heads / tp, head_dim) for each block. MLA: one latent for all heads,
    the same on every device. A recurrent state has a fixed size and keeps the model's type.
    """
    dtype_bytes = served_dtype_bytes(inventory)
    element = FP8_BYTES if fp8 else dtype_bytes
    total = 0
    for group in inventory.caches:
        if group.kind == "state":
            one = ceil_div(group.state_elements, service.tensor_parallel) * dtype_bytes
        else:
            heads = 1 if group.kind == "mla" else service.kv_heads_per_device(group.kv_heads)
            width = heads * (group.key_elements + group.value_elements)
            one = _cached_tokens(group, service) * width * element
        total += group.blocks * one
    return total * service.concurrency
