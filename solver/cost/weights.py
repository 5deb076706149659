"""Bytes of weights: of each layer under each scheme, and of everything that stays native."""

from fractions import Fraction

from solver.catalog.backend import Padding
from solver.catalog.roles import Role
from solver.catalog.scheme import Scheme
from solver.intake.inventory import Inventory, LayerFamily
from solver.rules.service import Service, served_dtype_bytes, shard_shape
from solver.units import ceil_div, round_up

_WIDE_BYTES = 4


def padded_shape(inputs: int, outputs: int, role: Role, padding: Padding) -> tuple[int, int]:
    """Return (in_features, out_features) of an expert's shard as its kernel holds it.

    What leads into an expert is hidden x intermediate, what leads out of it intermediate x hidden; of a weight that
    holds two projections, each is padded by itself.
    """
    if role.parallel == "row":
        return round_up(inputs, padding.intermediate), round_up(outputs, padding.hidden)
    parts = role.parts if outputs % role.parts == 0 else 1
    return round_up(inputs, padding.hidden), parts * round_up(outputs // parts, padding.intermediate)


def layer_bytes(
    family: LayerFamily,
    scheme: Scheme | None,
    role: Role,
    service: Service,
    inventory: Inventory,
    padding: Padding | None = None,
) -> int:
    """Return the bytes that one layer takes on one device; `scheme` None means native.

    A tied layer that stays native takes none: its weight is the embedding's. `padding` is that of the kernel which
    serves the scheme; experts alone have one, and only in service: the checkpoint is not padded.
    """
    inputs, outputs = shard_shape(family, role, service, inventory)
    dtype_bytes = served_dtype_bytes(inventory)
    if scheme is None or role.name in service.backend.dequantized_roles:
        return 0 if family.tied and scheme is None else inputs * outputs * dtype_bytes
    if padding is not None and role.kind == "experts":
        inputs, outputs = padded_shape(inputs, outputs, role, padding)
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
