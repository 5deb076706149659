"""Bytes of the KV cache on one device."""

from dataclasses import dataclass

from solver.cost.kv_layers import layer_caches
from solver.cost.kv_pool import pool_need
from solver.intake.inventory import Inventory
from solver.rules.service import Service
from solver.units import round_up


@dataclass(frozen=True, slots=True)
class CacheNeed:
    """Bytes of the KV cache on one device.

    Parameters
    ----------
    request_bytes
        What the stack sets aside to admit one sequence of full length.
    reserved_bytes
        What the stack holds back once for all: vLLM never uses the first block of its pool.
    payload_bytes
        What all sequences hold of keys, values and states, without rounding, padding or copies.
    total_bytes
        What all sequences need, with what is held back.

    """

    request_bytes: int
    reserved_bytes: int
    payload_bytes: int
    total_bytes: int

    @property
    def padding_bytes(self) -> int:
        """The part of the total that holds nothing: rounding to blocks, equal pages, copies of states."""
        return self.total_bytes - self.payload_bytes


def cache_need(service: Service, inventory: Inventory, *, fp8: bool) -> CacheNeed:
    """Return what the caches of all sequences in service need on one device.

    vLLM draws the blocks of all layers from one pool (`solver.cost.kv_pool`); for other stacks the bytes of the
    layers add up, each in whole blocks.
    """
    backend = service.backend
    layers = layer_caches(service, inventory, fp8=fp8)
    base = int(backend.kv_block_tokens.value)
    pool = backend.kv_pool
    in_flight = service.batched_tokens * (pool.batches_in_flight if pool else 1)
    payload = sum(count * layer.payload_bytes(service.context, in_flight) for layer, count in layers.items())
    if pool is not None and layers:
        need = pool_need(layers, base, service.context, in_flight, pool)
        request, reserved = need.blocks * need.block_bytes, need.block_bytes
    else:
        request, reserved = 0, 0
        for layer, count in layers.items():
            tokens = round_up(layer.tokens(service.context, in_flight), base)
            request += count * (layer.state_bytes or layer.bytes_of(tokens))
    return CacheNeed(
        request_bytes=request,
        reserved_bytes=reserved,
        payload_bytes=payload * service.concurrency,
        total_bytes=request * service.concurrency + reserved,
    )


def cache_bytes(service: Service, inventory: Inventory, *, fp8: bool) -> int:
    """Return the bytes of all sequences' caches on one device."""
    return cache_need(service, inventory, fp8=fp8).total_bytes
