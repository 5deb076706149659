"""Pipeline stages: the part of a model that one group of devices holds."""

from collections.abc import Sequence

from solver.catalog.roles import RoleKind, Roles
from solver.intake.cache_group import CacheGroup
from solver.intake.inventory import Inventory, LayerFamily, ParameterGroup
from solver.intake.record import BlockRange, to_ranges
from solver.units import ceil_div


def stage_sizes(blocks: int, stages: int) -> tuple[int, ...]:
    """Return the blocks of each stage: even, the rest to the stages before the last, from behind.

    vLLM 0.33, `distributed/utils.py::get_pp_indices`: the last stage, and with few left over the first, take none
    of the rest, because they hold the embeddings.
    """
    sizes = [blocks // stages] * stages
    for index in range(2, blocks % stages + 2):
        sizes[-index] += 1
    return tuple(sizes)


def _indices(ranges: Sequence[BlockRange], stage: range) -> list[int]:
    return [block for part in ranges for block in range(part.first, part.last + 1) if block in stage]


def _layer(family: LayerFamily, kind: RoleKind, stage: range, *, first: bool, last: bool) -> LayerFamily | None:
    if not family.blocks or kind == "vision":
        held = last if kind == "head" else first
        return family if held else None
    kept = _indices(family.blocks, stage)
    return family.model_copy(update={"blocks": to_ranges(kept)}) if kept else None


def _parameters(group: ParameterGroup, stage: range, *, first: bool, last: bool, tied: bool) -> ParameterGroup | None:
    if not group.blocks:
        # A tied head needs the embedding on the last stage too; the final norm lies there alone.
        held = (first or (last and tied)) if group.part == "embedding" else last if group.part == "norm" else first
        return group if held else None
    blocks, kept = sum(part.last - part.first + 1 for part in group.blocks), _indices(group.blocks, stage)
    counts = ("elements", "tensors", "wide_elements", "cut_elements")
    share = {name: getattr(group, name) * len(kept) // blocks for name in counts}
    return group.model_copy(update={"blocks": to_ranges(kept), **share}) if kept else None


def _cache(group: CacheGroup, stage: range) -> CacheGroup | None:
    kept = _indices(group.at, stage)
    return group.model_copy(update={"blocks": len(kept), "at": to_ranges(kept)}) if kept else None


def stage_inventories(inventory: Inventory, roles: Roles, stages: int) -> tuple[Inventory, ...]:
    """Return what each pipeline stage holds, as inventories whose layers, other parameters and caches are its own.

    The totals (`elements_total` and the like) stay those of the whole model. The first stage holds the embeddings
    and the vision part, the last one the head, the final norm and
    multi-token-prediction layers.

    Raises
    ------
    ValueError
        If there are more stages than blocks, or the blocks of the caches are not known.

    """
    if stages == 1:
        return (inventory,)
    if stages > inventory.blocks:
        raise ValueError(f"{inventory.blocks} blocks do not fill {stages} stages")
    if any(not group.at for group in inventory.caches):
        raise ValueError("the analysis does not say which blocks have which cache")
    result, start = [], 0
    for number, size in enumerate(stage_sizes(inventory.blocks, stages)):
        stage, first, last = range(start, start + size), number == 0, number == stages - 1
        start += size
        layers = (
            _layer(family, roles.named(family.role).kind, stage, first=first, last=last) for family in inventory.layers
        )
        others = (
            _parameters(group, stage, first=first, last=last, tied=inventory.tied_embeddings)
            for group in inventory.others
        )
        caches = (_cache(group, stage) for group in inventory.caches)
        result.append(
            inventory.model_copy(
                update={
                    "layers": tuple(item for item in layers if item),
                    "others": tuple(item for item in others if item),
                    "caches": tuple(item for item in caches if item),
                    "mtp": inventory.mtp if last else None,
                    "buffer_bytes": ceil_div(inventory.buffer_bytes * size, inventory.blocks),
                }
            )
        )
    return tuple(result)
