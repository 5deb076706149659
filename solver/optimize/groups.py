"""What is decided as one: groups of classes, and the option that each class takes for a scheme of its group."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from solver.catalog import NATIVE
from solver.optimize.problem import Problem, UnitClass
from solver.rules.units import Unit

Granularity = Literal["uniform", "role", "block", "unit"]
"""What is decided as one: the whole model, all layers of a role, all layers of a block, or each unit for itself."""

GRANULARITIES: tuple[Granularity, ...] = ("uniform", "role", "block", "unit")


@dataclass(frozen=True, slots=True)
class Group:
    """Classes whose units are decided as one: for each scheme, the option that each class takes then."""

    name: str
    classes: tuple[int, ...]
    choices: tuple[tuple[str, tuple[int, ...]], ...]


def group_of(unit: Unit, granularity: Granularity) -> str:
    """Return the name of what a unit is decided with; meant for other granularities than `unit`."""
    blocks = {member.block for member in unit.members}
    if granularity == "uniform":
        return "the model"
    if granularity == "role":
        return ", ".join(sorted({member.family.role for member in unit.members}))
    # What spans blocks, as the layers that feed an fp8 cache do, is decided for itself.
    return f"block {unit.first_block}" if len(blocks) == 1 and blocks != {None} else unit.name


def _choices(problem: Problem, classes: list[int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield each scheme that some class may have; the others are native then, if they may be.

    What the checkpoint stores quantized takes the scheme too, or stays as it is.
    """
    by_name = [
        {option.scheme: place for place, option in enumerate(problem.classes[index].options)} for index in classes
    ]
    avoided = any(avoids_native(problem, problem.classes[index]) for index in classes)
    names = dict.fromkeys(name for places in by_name for name in places if not (avoided and name == NATIVE))
    for name in names:
        found = [places.get(name, places.get(NATIVE)) for places in by_name]
        whole = tuple(place for place in found if place is not None)
        if len(whole) == len(found):
            yield name, whole
            stays = [
                _is_stored(problem.classes[index]) and NATIVE in places
                for index, places in zip(classes, by_name, strict=True)
            ]
            takes = any(name in places and not stay for stay, places in zip(stays, by_name, strict=True))
            if name != NATIVE and any(stays) and takes:
                kept = zip(stays, by_name, whole, strict=True)
                yield name, tuple(places[NATIVE] if stay else place for stay, places, place in kept)


def avoids_native(problem: Problem, part: UnitClass) -> bool:
    """Return whether the units of a class are to be quantized if they may be; what is stored quantized may stay so."""
    return problem.avoids_native and len(part.options) > 1 and not _is_stored(part)


def _is_stored(part: UnitClass) -> bool:
    return all(member.family.stored is not None for member in part.units[0].members)


def groups_of(problem: Problem, granularity: Granularity) -> tuple[Group, ...]:
    """Return what is decided as one; units with a single option are no part of it.

    Blocks need a problem whose units are classes of their own (`separated`).
    """
    if granularity == "unit":
        return ()
    keys: dict[str, list[int]] = defaultdict(list)
    for index, part in enumerate(problem.classes):
        if len(part.options) > 1:
            keys[group_of(part.units[0], granularity)].append(index)
    return tuple(Group(name, tuple(classes), tuple(_choices(problem, classes))) for name, classes in keys.items())


def separated(problem: Problem) -> Problem:
    """Return the problem with each unit as a class of its own, so that counts say which unit takes what."""
    if all(part.count == 1 for part in problem.classes):
        return problem
    classes = (UnitClass((unit,), part.options) for part in problem.classes for unit in part.units)
    return replace(problem, classes=tuple(classes))
