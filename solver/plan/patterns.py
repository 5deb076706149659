"""From an assignment to the three fields that Quark reads: global scheme, excludes, layer patterns.

Precedence in Quark 0.13 and vLLM 0.33: excluded layers are native; otherwise the first pattern that matches
decides; otherwise the global scheme. Every pattern holds a `*`: without one, vLLM takes a pattern to match a layer
whose name it contains.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from solver.catalog import NATIVE, Catalog
from solver.catalog.template import Template
from solver.errors import BadInputError, VerificationError
from solver.intake.inventory import LayerFamily
from solver.plan.assignment import Assignment
from solver.plan.globs import number_globs
from solver.rules.patterns import first_match, matches
from solver.rules.units import Member

Schedule = Mapping[str, tuple[int | None, ...]]
"""Blocks by scheme of one family."""


@dataclass(frozen=True, slots=True)
class QuarkPatterns:
    """What selects the scheme of each layer, in the order in which it is read."""

    global_scheme: str
    exclude_layers: tuple[str, ...]
    layer_quant_config: dict[str, str]

    def scheme_of(self, member: Member) -> str:
        """Return the scheme that Quark will give these layers."""
        if first_match(self.exclude_layers, member.family, member.block) is not None:
            return NATIVE
        pattern = first_match(self.layer_quant_config, member.family, member.block)
        return self.global_scheme if pattern is None else self.layer_quant_config[pattern]


@dataclass(frozen=True, slots=True)
class _Target:
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


def _leaves(families: Sequence[LayerFamily], schedules: Mapping[LayerFamily, Schedule]) -> list[_Target]:
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
        targets.append(_Target(path, tuple(group), {name: tuple(blocks) for name, blocks in merged.items()}))
    return targets


def _spelled_together(paths: Sequence[str]) -> str | None:
    """Return one glob for paths that differ in a single letter: q_proj and k_proj are `[kq]_proj`; else None."""
    differing = {index for index, letters in enumerate(zip(*paths, strict=False)) if len(set(letters)) > 1}
    if len({len(path) for path in paths}) > 1 or len(differing) != 1:
        return None
    (index,) = differing
    letters = "".join(sorted(path[index] for path in paths))
    return f"{paths[0][:index]}[{letters}]{paths[0][index + 1 :]}"


def _merged(leaves: Sequence[_Target]) -> list[_Target]:
    """Return the targets of one container with those of one schedule named together where their spelling allows."""
    alike: list[list[_Target]] = []
    for leaf in leaves:
        home = next((group for group in alike if group[0].schedule == leaf.schedule), None)
        if home is None:
            alike.append([leaf])
        else:
            home.append(leaf)
    targets = []
    for group in alike:
        near = [leaf for leaf in group if any(_spelled_together([leaf.path, other.path]) for other in group)]
        path = _spelled_together([leaf.path for leaf in near]) if near else None
        if path is None:
            targets.extend(group)
            continue
        families = tuple(family for leaf in near for family in leaf.families)
        targets.append(_Target(path, families, near[0].schedule))
        targets.extend(leaf for leaf in group if leaf not in near)
    return targets


def _targets(assignment: Assignment, excludes: Sequence[str]) -> list[_Target]:
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

    def strays(target: _Target) -> bool:
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
        whole = _Target(f"{container}.*", tuple(families), first)
        alike = len(families) > 2 and all(schedules[family] == first for family in families)
        if alike and not families[0].experts and not strays(whole):
            targets.append(whole)
            continue
        targets.extend(
            replace(leaf, anchored=True) if strays(leaf) else leaf for leaf in _merged(_leaves(families, schedules))
        )
    return targets


def _block_globs(target: _Target, blocks: Iterable[int | None]) -> list[str]:
    numbers = [block for block in blocks if block is not None]
    return [target.glob(number) for number in number_globs(numbers)] if numbers else [target.glob(None)]


def _entries(target: _Target, global_scheme: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the patterns of single blocks, and the pattern of all others, of one target."""
    quantized = {scheme: blocks for scheme, blocks in target.schedule.items() if scheme != NATIVE}
    if not quantized:
        return {}, {}
    base = max(sorted(quantized), key=lambda scheme: (len(quantized[scheme]), scheme == global_scheme))
    narrow = {
        glob: scheme
        for scheme, blocks in sorted(quantized.items())
        if scheme != base
        for glob in _block_globs(target, blocks)
    }
    return narrow, {} if base == global_scheme else {target.glob(None): base}


def _kv_entries(assignment: Assignment, template: Template) -> dict[str, str]:
    """Return one entry for each KV pattern, spelled as the template spells it, unless its layers are native.

    Quark gives all layers of a KV pattern the configuration of the first entry that names its leaf or an
    attention module: these entries come first and say what is meant.
    """
    entries = {}
    for pattern in template.kv_layers:
        schemes = {
            scheme for member, scheme in assignment.schemes.items() if matches(pattern, member.family, member.block)
        }
        if len(schemes) == 1 and schemes != {NATIVE}:
            entries[pattern] = schemes.pop()
    return entries


def _excludes(
    targets: Sequence[_Target], assignment: Assignment, template: Template, given: Sequence[str], *, kv: bool
) -> tuple[str, ...]:
    """Return the given excludes, and what more is needed for layers that stay native."""
    excludes = list(given)
    native = [member for member, scheme in assignment.schemes.items() if scheme == NATIVE and member.family.quantizable]
    if kv:
        # A KV pattern as a whole keeps its scales when it is excluded; a part of it would lose the others' weights.
        for pattern in template.kv_layers:
            if any(
                matches(pattern, m.family, m.block) and first_match(excludes, m.family, m.block) is None for m in native
            ):
                excludes.append(pattern)
    for target in targets:
        missing = [
            member.block
            for member in native
            if member.family in target.families and first_match(excludes, member.family, member.block) is None
        ]
        if missing:
            whole = set(target.schedule) == {NATIVE}
            excludes.extend([target.glob(None)] if whole else _block_globs(target, sorted(set(missing), key=str)))
    return tuple(dict.fromkeys(excludes))


def _global_candidates(assignment: Assignment, catalog: Catalog) -> list[str]:
    """Return the schemes that may be global, most weights first.

    Some schemes as global ones spoil the weights of others (nvfp4 shares scales within q/k/v and gate/up).
    """
    ordered = list(assignment.quantized_elements_by_scheme)
    families = {catalog.schemes.get(name).family for name in ordered}
    return [name for name in ordered if not families & set(catalog.schemes.get(name).spoils_as_global)]


def _needed(patterns: QuarkPatterns, assignment: Assignment, keep: frozenset[str]) -> dict[str, str]:
    """Return the layer patterns without those that decide nothing because an earlier one does."""
    deciding = {
        pattern
        for member in assignment.schemes
        if member.family.quantizable
        and first_match(patterns.exclude_layers, member.family, member.block) is None
        and (pattern := first_match(patterns.layer_quant_config, member.family, member.block)) is not None
    }
    return {
        pattern: scheme
        for pattern, scheme in patterns.layer_quant_config.items()
        if pattern in deciding or pattern in keep
    }


def to_patterns(
    assignment: Assignment, template: Template, catalog: Catalog, excludes: Sequence[str], *, kv_fp8: bool
) -> QuarkPatterns:
    """Return the patterns of an assignment, with as few entries as the global scheme can save.

    Parameters
    ----------
    excludes
        Patterns of layers that stay native, the template's own among them: passing any to Quark replaces its
        defaults, so that all are always written.
    kv_fp8
        Whether the KV cache is quantized, which ties layers and needs entries of its own.

    Raises
    ------
    BadInputError
        If nothing is quantized: there is no such Quark plan.
    VerificationError
        If the patterns do not select exactly the assignment.

    """
    if not assignment.quantized_elements_by_scheme:
        raise BadInputError("no layer is quantized, and so there is nothing for Quark to do.")
    targets = _targets(assignment, excludes)
    all_excludes = _excludes(targets, assignment, template, excludes, kv=kv_fp8)
    best: dict[str, str] | None = None
    best_global = ""
    for name in _global_candidates(assignment, catalog):
        narrow: dict[str, str] = {}
        broad: dict[str, str] = {}
        for target in targets:
            single, rest = _entries(target, name)
            narrow.update(single)
            broad.update(rest)
        kv_entries = _kv_entries(assignment, template) if kv_fp8 else {}
        entries = {**narrow, **broad}
        if entries or any(scheme != name for scheme in kv_entries.values()):
            entries = {**kv_entries, **entries}
        entries = _needed(QuarkPatterns(name, all_excludes, entries), assignment, frozenset(kv_entries))
        if best is None or len(entries) < len(best):
            best, best_global = entries, name
    if best is None:
        raise VerificationError("every scheme of the plan would spoil another as the global scheme")
    patterns = QuarkPatterns(best_global, all_excludes, best)
    verify_patterns(patterns, assignment)
    return patterns


def verify_patterns(patterns: QuarkPatterns, assignment: Assignment) -> None:
    """Check that the patterns select exactly the assignment.

    Raises
    ------
    VerificationError
        If a layer would get another scheme; the first one is named.

    """
    for member, scheme in assignment.schemes.items():
        if member.family.quantizable and patterns.scheme_of(member) != scheme:
            raise VerificationError(
                f"{member.family.path(member.block)} is planned as {scheme}, "
                f"but the patterns give it {patterns.scheme_of(member)}"
            )
