"""The part of a layer that one device holds under tensor parallelism."""

from collections.abc import Iterable, Sequence

from solver.catalog.roles import Role
from solver.intake.cache_group import CacheGroup
from solver.intake.inventory import Inventory, LayerFamily
from solver.intake.record import BlockRange
from solver.rules.service import Service
from solver.units import ceil_div, round_up

_WITHOUT_HEADS = frozenset({"mla", "state"})
"""Caches that no keys and values of single heads fill."""


def shard_shape(family: LayerFamily, role: Role, service: Service, inventory: Inventory) -> tuple[int, int]:
    """Return (in_features, out_features) of the part of one layer that one device holds.

    Column-parallel layers are cut along out_features, row-parallel ones along in_features. Keys and values are cut
    by heads, in a fused projection too: where there are fewer heads than devices, each device holds a whole one.
    Experts that are shared out whole are not cut. A head has the rows that the stack pads the vocabulary to.

    Source: vLLM 0.33.0, model_executor/layers/linear.py (QKVParallelLinear) and vocab_parallel_embedding.py.
    """
    tp = service.tensor_parallel
    inputs, outputs = family.in_features, family.out_features
    if role.kind == "head":
        outputs = round_up(outputs, service.backend.vocab_rows)
    if tp == 1 or role.parallel == "replicated" or (service.expert_parallel and role.kind == "experts"):
        return inputs, outputs
    if role.parallel == "row":
        return ceil_div(inputs, tp), outputs
    if role.name in {"k", "v"}:
        heads = {group.kv_heads for group in _head_caches(family, inventory)} or {1}
        return inputs, max(ceil_div(outputs, count) * service.kv_heads_per_device(count) for count in heads)
    if role.name == "qkv":
        return inputs, _fused_outputs(outputs, _head_caches(family, inventory), service)
    if role.name == "linear_attn_in":
        outputs += _copied_outputs(family, service, inventory)
    return inputs, ceil_div(outputs, tp)


def times_held(family: LayerFamily, role: Role, service: Service, inventory: Inventory) -> int:
    """Return how often the module that a layer is fused into holds its weight.

    2 where it fills the place of a projection that some of its blocks lack, else 1.
    """
    for group in service.backend.fused_groups:
        for lacking, instead in group.stand_ins.items():
            if role.name == instead:
                present = {
                    block for other in inventory.layers if other.role == lacking for block in other.block_indices
                }
                return 1 if present.issuperset(family.block_indices) else 2
    return 1


def _fused_outputs(outputs: int, caches: Iterable[CacheGroup], service: Service) -> int:
    """Return the rows of fused queries, keys and values; the caches tell how many of them are keys and values."""
    found = []
    for group in caches:
        of_head = group.key_elements + group.value_elements
        queries = outputs - group.kv_heads * of_head
        if queries > 0:
            kept = service.kv_heads_per_device(group.kv_heads) * of_head
            found.append(ceil_div(queries, service.tensor_parallel) + kept)
    return max(found, default=ceil_div(outputs, service.tensor_parallel))


def _copied_outputs(family: LayerFamily, service: Service, inventory: Inventory) -> int:
    """Return the rows, over all devices, that copies of a recurrent layer's groups add.

    Source: vLLM 0.33.0, model_executor/layers/mamba/mamba_utils.py (extra_groups_for_head_shards).
    """
    tp, caches = service.tensor_parallel, _of_blocks(family, [group for group in inventory.caches if group.state])
    copied = (
        (tp - tensor.groups) * tensor.group_elements for group in caches for tensor in group.state if tensor.groups % tp
    )
    return max(copied, default=0)


def _head_caches(family: LayerFamily, inventory: Inventory) -> Sequence[CacheGroup]:
    return _of_blocks(family, [group for group in inventory.caches if group.kind not in _WITHOUT_HEADS])


def _of_blocks(family: LayerFamily, caches: Sequence[CacheGroup]) -> Sequence[CacheGroup]:
    """Return the caches that blocks of a family have; all of them where that is not known."""
    blocks = family.block_indices
    return [group for group in caches if any(_holds(part, blocks) for part in group.at)] or caches


def _holds(part: BlockRange, blocks: Iterable[int]) -> bool:
    return any(part.first <= block <= part.last for block in blocks)
