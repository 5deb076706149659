"""The plain way to write an assignment: target by target, single blocks before the rest, the KV patterns first."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from solver.catalog import NATIVE
from solver.catalog.template import Template
from solver.plan.assignment import Assignment
from solver.plan.globs import number_globs
from solver.plan.targets import Target, find_targets
from solver.plan.written import QuarkPatterns
from solver.rules.patterns import first_match, matches, matches_path


def _block_globs(target: Target, blocks: Iterable[int | None]) -> list[str]:
    numbers = [block for block in blocks if block is not None]
    return [target.glob(number) for number in number_globs(numbers)] if numbers else [target.glob(None)]


def _entries(target: Target, global_scheme: str) -> tuple[dict[str, str], dict[str, str]]:
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


def kv_entries(assignment: Assignment, template: Template) -> dict[str, str]:
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


def _excludes(targets: Sequence[Target], assignment: Assignment, given: Sequence[str]) -> tuple[str, ...]:
    """Return the given excludes, and what more is needed for layers that stay native."""
    excludes = list(given)
    native = [member for member, scheme in assignment.schemes.items() if scheme == NATIVE and member.family.quantizable]
    for target in targets:
        families = frozenset(target.families)
        missing = [
            member.block
            for member in native
            if member.family in families and first_match(excludes, member.family, member.block) is None
        ]
        if missing:
            whole = set(target.schedule) == {NATIVE}
            excludes.extend([target.glob(None)] if whole else _block_globs(target, sorted(set(missing), key=str)))
    return tuple(dict.fromkeys(excludes))


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


def plain_patterns(
    assignment: Assignment,
    template: Template,
    globals_: Sequence[str],
    excludes: Sequence[str],
    *,
    kv_fp8: bool,
    convolutions: Sequence[str] = (),
) -> QuarkPatterns:
    """Return the patterns of an assignment written target by target, each with its blocks.

    Parameters
    ----------
    globals_
        Schemes that may be global, at least one: the one that leaves the fewest entries is.
    excludes
        Patterns that are written in any case.
    convolutions
        Paths of modules that Quark would give the global scheme too, and that stay native.
    kv_fp8
        Whether the KV cache is quantized, which needs entries of its own.

    """
    targets = find_targets(assignment, excludes)
    all_excludes = _excludes(targets, assignment, excludes)
    open_convolutions = [
        path for path in convolutions if not any(matches_path(pattern, path) for pattern in all_excludes)
    ]
    all_excludes = (*all_excludes, *(f"*{path}" for path in open_convolutions))
    return min(
        (_with_global(name, targets, all_excludes, assignment, template, kv_fp8=kv_fp8) for name in globals_),
        key=lambda patterns: len(patterns.layer_quant_config),
    )


def _with_global(
    name: str,
    targets: Sequence[Target],
    excludes: tuple[str, ...],
    assignment: Assignment,
    template: Template,
    *,
    kv_fp8: bool,
) -> QuarkPatterns:
    narrow: dict[str, str] = {}
    broad: dict[str, str] = {}
    for target in targets:
        single, rest = _entries(target, name)
        narrow.update(single)
        broad.update(rest)
    cached = kv_entries(assignment, template) if kv_fp8 else {}
    entries = {**narrow, **broad}
    if entries or any(scheme != name for scheme in cached.values()):
        entries = {**cached, **entries}
    patterns = QuarkPatterns(name, excludes, entries)
    return replace(patterns, layer_quant_config=_needed(patterns, assignment, frozenset(cached)))
