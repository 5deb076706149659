"""Bytes of layers' weights, under each scheme or native."""

from collections.abc import Sequence
from fractions import Fraction

from solver.catalog.backend import Padding
from solver.catalog.kv_scheme import KvScheme
from solver.catalog.roles import Role, Roles
from solver.catalog.scheme import Scheme
from solver.intake.inventory import Inventory, LayerFamily
from solver.intake.stored_layout import StoredLayout
from solver.rules.options import support_of
from solver.rules.patterns import first_match
from solver.rules.service import Service, served_dtype_bytes
from solver.rules.shards import shard_shape, times_held
from solver.units import ceil_div, round_up


def padded_shape(inputs: int, outputs: int, role: Role, padding: Padding) -> tuple[int, int]:
    """Return (in_features, out_features) of an expert's shard as its kernel holds it.

    What leads into an expert is hidden x intermediate, what leads out of it intermediate x hidden; of a weight that
    holds two projections, each is padded by itself.
    """
    if role.parallel == "row":
        return round_up(inputs, padding.intermediate), round_up(outputs, padding.hidden)
    parts = role.parts if outputs % role.parts == 0 else 1
    return round_up(inputs, padding.hidden), parts * round_up(outputs // parts, padding.intermediate)


def dequantized_bytes(family: LayerFamily, role: Role, service: Service, inventory: Inventory) -> int:
    """Return the bytes on one device of one layer's weight in the type that the model is served in."""
    inputs, outputs = shard_shape(family, role, service, inventory)
    return inputs * outputs * served_dtype_bytes(inventory)


def layer_bytes(
    family: LayerFamily,
    scheme: Scheme | None,
    role: Role,
    service: Service,
    inventory: Inventory,
    padding: Padding | None = None,
) -> int:
    """Return the bytes that one layer takes on one device; `scheme` None means native.

    A native layer stays as the checkpoint holds it: in the model's own type, or in the format that it is quantized
    in already (Quark keeps such layers by default). A tied one takes none: its weight is the embedding's. `padding`
    is that of the kernel which serves the scheme; experts alone have one, and only in service: the checkpoint is not
    padded.
    """
    if scheme is None and family.tied:
        return 0
    if role.name in service.backend.dequantized_roles or (scheme is None and family.stored is None):
        return dequantized_bytes(family, role, service, inventory)
    inputs, outputs = shard_shape(family, role, service, inventory)
    if padding is not None and scheme is not None and role.kind == "experts":
        inputs, outputs = padded_shape(inputs, outputs, role, padding)
    layout = scheme if scheme is not None else stored_layout(family.stored, inventory)
    return layout.size_bytes(inputs, outputs, served_dtype_bytes(inventory))


def held_bytes(
    family: LayerFamily, scheme: Scheme | None, role: Role, service: Service, inventory: Inventory, model_type: str
) -> int:
    """Return the bytes that the fullest device holds of this family's layers in one block, padded as kernels do."""
    row = None if scheme is None else support_of(service, scheme, role, model_type)
    one = layer_bytes(family, scheme, role, service, inventory, None if row is None else row.padding)
    return one * service.layers_per_device(family, role) * times_held(family, role, service, inventory)


def stored_layout(stored: str | None, inventory: Inventory) -> StoredLayout:
    """Return the format called `stored`.

    Raises
    ------
    LookupError
        If the inventory does not describe it.

    """
    if stored is None or inventory.quantized is None:
        raise LookupError(stored)
    return inventory.quantized.layout(stored)


def mtp_bytes(service: Service, roles: Roles, inventory: Inventory) -> int:
    """Return the bytes on one device of the multi-token-prediction layers, as the checkpoint holds them.

    0 where there are none, or where they are not kept.
    """
    mtp = inventory.mtp
    if mtp is None or not service.keep_mtp:
        return 0
    linears = sum(
        layer_bytes(family, None, role, service, inventory)
        * service.layers_per_device(family, role)
        * times_held(family, role, service, inventory)
        for family in mtp.families
        for role in (roles.named(family.role),)
    )
    plain = mtp.replicated_elements + ceil_div(mtp.sharded_elements, service.tensor_parallel)
    return mtp.layers * linears + plain * served_dtype_bytes(inventory) + mtp.buffer_bytes


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


def read_share(role: Role, service: Service, inventory: Inventory, tokens: int | None = None) -> Fraction:
    """Return the part of a weight that one pass of `tokens` tokens reads; by default a decoding step of all sequences.

    Of E experts with k for each token, a pass of n tokens reads E * (1 - (1 - k/E)^n) on average, if routing
    is uniform and independent.
    """
    if role.decode_share == "never":
        return Fraction(0)
    if role.decode_share == "always" or inventory.moe is None:
        return Fraction(1)
    passed = service.concurrency if tokens is None else tokens
    idle = 1 - Fraction(inventory.moe.experts_per_token, inventory.moe.experts)
    return (1 - idle**passed).limit_denominator(10**6)
