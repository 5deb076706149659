"""Units: layers that must share a scheme, because the stack or the KV cache ties them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from solver.catalog.backend import Backend
from solver.intake.inventory import Inventory, LayerFamily
from solver.rules.patterns import first_match, matches


@dataclass(frozen=True, slots=True)
class Member:
    """The layers of one family in one block; `block` is None outside the blocks."""

    family: LayerFamily
    block: int | None

    @property
    def layers(self) -> int:
        """Number of layers: the experts of the block, or one."""
        return self.family.layers_per_block


@dataclass(frozen=True, slots=True)
class Unit:
    """Layers that are decided together."""

    name: str
    members: tuple[Member, ...]

    def __hash__(self) -> int:
        """Return the hash of the name: units are keys wherever choices are looked up."""
        return hash(self.name)

    @property
    def first_block(self) -> int:
        """The earliest block of the unit, -1 outside the blocks."""
        return min(-1 if member.block is None else member.block for member in self.members)


@dataclass(frozen=True, slots=True)
class Partition:
    """All layers of a model: those with a choice, in units, and those that stay native."""

    units: tuple[Unit, ...]
    native: tuple[Member, ...]
    widened: tuple[str, ...]
    """Fused groups that are native as a whole because a part of them is excluded."""


def _stem(family: LayerFamily) -> str:
    """Return the path up to the module that holds the leaf: fused groups never cross it."""
    parent = family.name.rsplit(".", 1)[0]
    return parent.removesuffix(".{expert}")


def fused_groups(inventory: Inventory, backend: Backend) -> dict[tuple[int | None, str, str], list[Member]]:
    """Return the layers that the stack loads together, by block, module and name of the group."""
    group_of = {role: group.name for group in backend.fused_groups for role in group.roles}
    groups: dict[tuple[int | None, str, str], list[Member]] = defaultdict(list)
    for family in inventory.layers:
        name = group_of.get(family.role, family.name.rsplit(".", 1)[-1])
        for block in family.block_indices or (None,):
            groups[block, _stem(family), name].append(Member(family, block))
    return groups


def _unit_name(block: int | None, group: str) -> str:
    return group if block is None else f"block {block} {group}"


def partition(inventory: Inventory, backend: Backend, exclude: Sequence[str]) -> Partition:
    """Return the layers as units, with those that `exclude` matches native.

    A fused group with an excluded part is native as a whole: the stack refuses groups whose members differ.
    """
    units, native, widened = [], [], []
    for (block, _, name), members in fused_groups(inventory, backend).items():
        excluded = [first_match(exclude, member.family, member.block) is not None for member in members]
        if any(excluded) or not any(member.family.quantizable for member in members):
            native.extend(members)
            if any(excluded) and not all(excluded):
                widened.append(_unit_name(block, name))
        else:
            units.append(Unit(_unit_name(block, name), tuple(members)))
    return Partition(tuple(units), tuple(native), tuple(widened))


def tie(units: Sequence[Unit], patterns: Sequence[str]) -> tuple[Unit, ...]:
    """Return the units with those merged that hold layers matched by the same one of `patterns`.

    Quark writes an fp8 KV cache onto every layer that a KV pattern of the template matches, and gives all of
    them one configuration: each pattern has one scheme for the whole model.
    """
    for pattern in patterns:
        tied = [unit for unit in units if matched_by(unit, pattern)]
        if len(tied) > 1:
            merged = Unit(f"all {pattern}", tuple(member for unit in tied for member in unit.members))
            units = (merged, *(unit for unit in units if unit not in tied))
    return tuple(units)


def matched_by(unit: Unit, pattern: str) -> bool:
    """Return whether a pattern matches a layer of a unit."""
    return any(matches(pattern, member.family, member.block) for member in unit.members)
