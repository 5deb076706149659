"""From an assignment to the three fields that Quark reads: global scheme, excludes, layer patterns.

Precedence in Quark 0.13 and vLLM 0.33: excluded layers are native; otherwise the first pattern that matches
decides; otherwise the global scheme. Every pattern holds a `*`: without one, vLLM takes a pattern to match a layer
whose name it contains.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from solver.catalog import NATIVE, Catalog
from solver.catalog.template import Template
from solver.errors import BadInputError, VerificationError
from solver.plan.assignment import Assignment
from solver.plan.globs import number_globs
from solver.plan.targets import Target, find_targets
from solver.rules.patterns import first_match, matches, matches_path
from solver.rules.units import Member


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
    targets: Sequence[Target], assignment: Assignment, template: Template, given: Sequence[str], *, kv: bool
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
    assignment: Assignment,
    template: Template,
    catalog: Catalog,
    excludes: Sequence[str],
    *,
    kv_fp8: bool,
    convolutions: Sequence[str] = (),
) -> QuarkPatterns:
    """Return the patterns of an assignment, with as few entries as the global scheme can save.

    Parameters
    ----------
    excludes
        Patterns of layers that stay native, the template's own among them: passing any to Quark replaces its
        defaults, so that all are always written.
    convolutions
        Paths of modules that Quark would give the global scheme too, and that stay native.
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
    targets = find_targets(assignment, excludes)
    all_excludes = _excludes(targets, assignment, template, excludes, kv=kv_fp8)
    open_convolutions = [
        path for path in convolutions if not any(matches_path(pattern, path) for pattern in all_excludes)
    ]
    all_excludes = (*all_excludes, *(f"*{path}" for path in open_convolutions))
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
        raise VerificationError(
            "every scheme of the plan would spoil another as global one (rule global-scheme-spoils-none)"
        )
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
