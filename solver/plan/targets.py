"""What one glob can name: a whole container, the experts of a block, a leaf, or leaves spelled alike."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from solver.catalog import NATIVE
from solver.intake.inventory import LayerFamily
from solver.plan.assignment import Assignment
from solver.rules.patterns import first_match, matches

Schedule = Mapping[str, tuple[int | None, ...]]
"""Blocks by scheme of one family."""


@dataclass(frozen=True, slots=True)
class Target:
    """Families with one schedule, and the path that one glob can name them by.

    `path` is a module path with `{block}`, the end of a leaf or of a container replaced by `*`. `anchored` keeps
    the part before the block, for models whose vision tower repeats the names of the decoder.
    """

    path: str
    families: tuple[LayerFamily, ...]
    schedule: Schedule
    anchored: bool = False

    def glob(self, number: str | None) -> str:
        """Return the pattern for the blocks that the glob `number` matches, or for all of them."""
        head, block, tail = self.path.partition("{block}")
        if not block:
            return f"*{self.path}"
        if self.anchored:
            return f"*{head}{number or '*'}{tail}"
        if number is None:
            return f"*{tail.removeprefix('.')}"
        return f"*{head.removesuffix('.').rsplit('.', 1)[-1]}.{number}{tail}"


def _path(family: LayerFamily) -> str:
    """Return the path to name a family by: experts by their parent, as vLLM looks them up."""
    return f"{family.name.split('.{expert}')[0]}*" if family.experts else family.name


def _schedules(assignment: Assignment) -> dict[LayerFamily, dict[str, tuple[int | None, ...]]]:
    found: dict[LayerFamily, dict[str, list[int | None]]] = defaultdict(lambda: defaultdict(list))
    for member, scheme in assignment.schemes.items():
        found[member.family][scheme].append(member.block)
    return {
        family: {scheme: tuple(blocks) for scheme, blocks in schedule.items()} for family, schedule in found.items()
    }


def _leaves(families: Sequence[LayerFamily], schedules: Mapping[LayerFamily, Schedule]) -> list[Target]:
    """Return one target for each path; families of one path that differ in shape share it."""
    by_path: dict[str, list[LayerFamily]] = defaultdict(list)
    for family in families:
        by_path[_path(family)].append(family)
    targets = []
    for path, group in by_path.items():
        merged: dict[str, list[int | None]] = defaultdict(list)
        for family in group:
            for scheme, blocks in schedules[family].items():
                merged[scheme].extend(block for block in blocks if block not in merged[scheme])
        targets.append(Target(path, tuple(group), {name: tuple(blocks) for name, blocks in merged.items()}))
    return targets


def _spelled_together(paths: Sequence[str]) -> str | None:
    """Return one glob for paths that differ in a single letter: q_proj and k_proj are `[kq]_proj`; else None."""
    differing = {index for index, letters in enumerate(zip(*paths, strict=False)) if len(set(letters)) > 1}
    if len({len(path) for path in paths}) > 1 or len(differing) != 1:
        return None
    (index,) = differing
    letters = "".join(sorted(path[index] for path in paths))
    return f"{paths[0][:index]}[{letters}]{paths[0][index + 1 :]}"


def _merged(leaves: Sequence[Target]) -> list[Target]:
    """Return the targets of one container with those of one schedule named together where their spelling allows."""
    alike: list[list[Target]] = []
    for leaf in leaves:
        home = next((group for group in alike if group[0].schedule == leaf.schedule), None)
        if home is None:
            alike.append([leaf])
        else:
            home.append(leaf)
    targets = []
    for group in alike:
        for near in _near(group):
            path = _spelled_together([leaf.path for leaf in near]) if len(near) > 1 else near[0].path
            families = tuple(family for leaf in near for family in leaf.families)
            targets.append(Target(path or near[0].path, families, near[0].schedule))
    return targets


def _near(group: Sequence[Target]) -> list[list[Target]]:
    """Return the targets in sets that one glob can spell together, each in the first that it fits."""
    sets: list[list[Target]] = []
    for leaf in group:
        home = next((near for near in sets if _spelled_together([item.path for item in (*near, leaf)])), None)
        if home is None:
            sets.append([leaf])
        else:
            home.append(leaf)
    return sets


def count_globs(families: Sequence[LayerFamily]) -> int:
    """Return how many globs name some families of one schedule, leaf by leaf where none spells several."""
    containers: dict[str, list[LayerFamily]] = defaultdict(list)
    for family in families:
        containers[_path(family) if family.experts else family.name.rsplit(".", 1)[0]].append(family)
    schedule: Schedule = {NATIVE: (None,)}
    return sum(len(_merged(_leaves(members, dict.fromkeys(members, schedule)))) for members in containers.values())


def find_targets(assignment: Assignment, excludes: Sequence[str]) -> list[Target]:
    """Return families grouped as far as one glob can name them: whole containers, the experts, single leaves.

    A glob may not match other families, unless those are excluded anyhow: then a leaf is anchored to the part
    before its block, and a container falls apart into leaves.
    """
    schedules = _schedules(assignment)
    open_families = [
        family
        for family in schedules
        if family.quantizable and first_match(excludes, family, (family.block_indices or (None,))[0]) is None
    ]

    def strays(target: Target) -> bool:
        return any(
            matches(target.glob(None), family, (family.block_indices or (None,))[0])
            for family in open_families
            if family not in target.families
        )

    containers: dict[str, list[LayerFamily]] = defaultdict(list)
    for family in schedules:
        containers[_path(family) if family.experts else family.name.rsplit(".", 1)[0]].append(family)
    targets = []
    for container, families in containers.items():
        first = schedules[families[0]]
        whole = Target(f"{container}.*", tuple(families), first)
        alike = len(families) > 2 and all(schedules[family] == first for family in families)
        if alike and not families[0].experts and not strays(whole):
            targets.append(whole)
            continue
        targets.extend(
            replace(leaf, anchored=True) if strays(leaf) else leaf for leaf in _merged(_leaves(families, schedules))
        )
    return targets
