"""Bytes of weights: of each layer under each scheme, and of everything that stays native."""

from collections.abc import Sequence
from fractions import Fraction

from solver.catalog.kv_scheme import KvScheme
from solver.catalog.roles import Role
from solver.catalog.scheme import Scheme
from solver.intake.inventory import Inventory, LayerFamily
from solver.rules.patterns import first_match
from solver.rules.service import Service, served_dtype_bytes, shard_shape
from solver.units import ceil_div

_WIDE_BYTES = 4


def layer_bytes(family: LayerFamily, scheme: Scheme | None, role: Role, service: Service, inventory: Inventory) -> int:
    """Return the bytes that one layer takes on one device; `scheme` None means native.

    A tied layer that stays native takes none: its weight is the embedding's.
    """
    inputs, outputs = shard_shape(family, role, service, inventory)
    dtype_bytes = served_dtype_bytes(inventory)
    if scheme is None or role.name in service.backend.dequantized_roles:
        return 0 if family.tied and scheme is None else inputs * outputs * dtype_bytes
    return scheme.size_bytes(inputs, outputs, dtype_bytes)


def other_bytes(service: Service, inventory: Inventory) -> int:
    """Return the bytes on one device of all parameters outside the layers.

    Embeddings are cut by vocabulary; norms, biases, routers, vision towers and buffers are replicated. What
    transformers keeps in float32, Quark writes in float32.
    """
    dtype_bytes = served_dtype_bytes(inventory)
    total = inventory.buffer_bytes
    for group in inventory.others:
        embedding = group.part == "embedding"
        elements = ceil_div(group.elements, service.tensor_parallel) if embedding else group.elements
        wide = group.wide_elements if inventory.dtype_bytes < _WIDE_BYTES else 0
        total += elements * dtype_bytes + wide * (_WIDE_BYTES - dtype_bytes)
    return total


def kv_scale_bytes(scheme: KvScheme, kv_patterns: Sequence[str], inventory: Inventory) -> int:
    """Return the bytes of the scales that a quantized KV cache adds to the weights, the same on every device.

    Quark writes them for each linear that a KV pattern of the template matches, whatever its own scheme is and
    even where it is excluded.
    """
    dtype_bytes = served_dtype_bytes(inventory)
    return sum(
        scheme.size_bytes(family.in_features, family.out_features, dtype_bytes) * family.layers_per_block
        for family in inventory.layers
        if family.quantizable
        for block in family.block_indices or (None,)
        if first_match(kv_patterns, family, block)
    )


def read_share(role: Role, service: Service, inventory: Inventory) -> Fraction:
    """Return the part of a weight that one decoding step reads.

    Of E experts with k for each token, a step of n tokens reads E * (1 - (1 - k/E)^n) on average, if routing
    is uniform and independent.
    """
    if role.decode_share == "never":
        return Fraction(0)
    if role.decode_share == "always" or inventory.moe is None:
        return Fraction(1)
    idle = 1 - Fraction(inventory.moe.experts_per_token, inventory.moe.experts)
    return (1 - idle**service.concurrency).limit_denominator(10**6)
