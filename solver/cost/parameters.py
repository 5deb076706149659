"""Bytes of the parameters outside the layers."""

from solver.catalog.roles import Roles
from solver.cost.weights import stored_layout
from solver.intake.inventory import Inventory, ParameterGroup
from solver.rules.service import Service, served_dtype_bytes
from solver.rules.shards import shard_shape
from solver.units import ceil_div, round_up

_WIDE_BYTES = 4


def other_bytes(service: Service, roles: Roles, inventory: Inventory) -> int:
    """Return the bytes on one device of all parameters outside the layers.

    Embeddings are cut by vocabulary, biases as the outputs of their layers, and what belongs to heads or channels with
    them (`cut_parameters` of profiles/roles.yaml). Norms, routers, vision towers and buffers are on every device. What
    transformers keeps in float32, Quark writes in float32.
    """
    dtype_bytes = served_dtype_bytes(inventory)
    total = inventory.buffer_bytes - dtype_bytes * _cut_from_biases(service, roles, inventory)
    for group in inventory.others:
        elements = _elements(group, service, inventory)
        if group.stored is not None:
            rows = ceil_div(elements, inventory.hidden_size)
            total += stored_layout(group.stored, inventory).size_bytes(inventory.hidden_size, rows, dtype_bytes)
            continue
        wide = group.wide_elements if inventory.dtype_bytes < _WIDE_BYTES else 0
        total += elements * dtype_bytes + wide * (_WIDE_BYTES - dtype_bytes)
    return total


def _elements(group: ParameterGroup, service: Service, inventory: Inventory) -> int:
    """Return the elements of a group on one device, biases of layers whole."""
    if group.part != "embedding":
        return group.elements - group.cut_elements + ceil_div(group.cut_elements, service.tensor_parallel)
    rows, width = _table(group.elements, inventory)
    return ceil_div(round_up(rows, service.backend.vocab_rows), service.tensor_parallel) * width


def _table(elements: int, inventory: Inventory) -> tuple[int, int]:
    """Return the rows and the width of an embedding: those of the vocabulary, unless it has others."""
    if elements % inventory.vocab_size == 0:
        return inventory.vocab_size, elements // inventory.vocab_size
    width = inventory.hidden_size if elements % inventory.hidden_size == 0 else 1
    return elements // width, width


def _cut_from_biases(service: Service, roles: Roles, inventory: Inventory) -> int:
    """Return the elements of layers' biases that the fullest device does without.

    A head's bias is counted with the embeddings, and those of vision towers and routers are on every device.
    """
    total = 0
    for family in inventory.layers:
        role = roles.named(family.role)
        if not family.bias or role.kind in {"head", "router", "vision"}:
            continue
        _, outputs = shard_shape(family, role, service, inventory)
        held = outputs * service.layers_per_device(family, role)
        total += (family.out_features * family.layers_per_block - held) * (len(family.block_indices) or 1)
    return total
