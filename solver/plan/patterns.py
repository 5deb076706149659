"""From an assignment to the three fields that Quark reads: global scheme, excludes, layer patterns.

Precedence in Quark 0.13, vLLM 0.33 and SGLang: excluded layers are native; otherwise the first pattern that matches
decides; otherwise the global scheme. Every pattern holds a `*`: without one, vLLM takes a pattern to match a layer
whose name it contains.
"""

from collections.abc import Sequence
from dataclasses import replace

from solver.catalog import NATIVE, Catalog
from solver.catalog.template import Template
from solver.errors import BadInputError, VerificationError
from solver.plan.assignment import Assignment
from solver.plan.plain_patterns import plain_patterns
from solver.plan.written import QuarkPatterns, verify_patterns
from solver.rules.patterns import first_match, matches
from solver.rules.readers import StackReader, readers_of

__all__ = ["QuarkPatterns", "to_patterns", "verify_patterns"]

MOST_PLAIN = 24
"""Plain patterns of which fewer are looked for: more of them take longer than a plan may."""


def _global_candidates(assignment: Assignment, catalog: Catalog) -> list[str]:
    """Return the schemes that may be global, most weights first.

    Some schemes as global ones spoil the weights of others (nvfp4 shares scales within q/k/v and gate/up).

    Raises
    ------
    VerificationError
        If there is none.

    """
    ordered = list(assignment.quantized_elements_by_scheme)
    families = {catalog.schemes.get(name).family for name in ordered}
    found = [name for name in ordered if not families & set(catalog.schemes.get(name).spoils_as_global)]
    if not found:
        raise VerificationError(
            "every scheme of the plan would spoil another as global one (rule global-scheme-spoils-none)"
        )
    return found


def _kv_excludes(assignment: Assignment, template: Template, given: Sequence[str]) -> list[str]:
    """Return excludes of KV patterns whose layers stay native.

    A KV pattern as a whole keeps its scales when it is excluded; a part of it would lose the others' weights. It is
    spelled with a dot before the leaf: an exclude that matches the KV pattern itself takes the cache's entry out of the
    export, and vLLM and SGLang then refuse the checkpoint.
    """
    found = []
    for pattern in template.kv_layers:
        members = [m for m in assignment.schemes if m.family.quantizable and matches(pattern, m.family, m.block)]
        native = [m for m in members if assignment.schemes[m] == NATIVE]
        if all(first_match(given, m.family, m.block) is not None for m in native):
            continue
        dotted = f"*.{pattern.removeprefix('*')}"
        same = all(matches(dotted, m.family, m.block) for m in members)
        found.append(dotted if same else pattern)
    return found


def _kv_schemes(assignment: Assignment, template: Template) -> dict[str, str]:
    """Return the scheme of each KV pattern whose layers are quantized."""
    found: dict[str, str] = {}
    for member, scheme in assignment.schemes.items():
        if scheme != NATIVE:
            found |= {p: scheme for p in template.kv_layers if matches(p, member.family, member.block)}
    return found


def _fewest(
    plain: QuarkPatterns,
    assignment: Assignment,
    globals_: Sequence[str],
    given: Sequence[str],
    kv: dict[str, str],
    convolutions: Sequence[str],
    readers: Sequence[StackReader],
    *,
    at_most: int | None,
) -> QuarkPatterns | None:
    """Return fewer patterns than the plain ones, or these if it is proven that there are none; None if not."""
    from solver.plan.candidates import candidates_of, find_candidates
    from solver.plan.fewest import Task, choose
    from solver.plan.rows import rows_of

    rows = rows_of(assignment, given, convolutions)
    more = candidates_of(rows, readers, {**plain.layer_quant_config, **kv}, plain.exclude_layers)
    chosen = choose(Task(rows, find_candidates(rows, readers, more), globals_, kv), at_most=at_most)
    if chosen.selection is None:
        return replace(plain, fewest=True) if chosen.proven and at_most is not None else None
    selection = chosen.selection
    return QuarkPatterns(selection.global_scheme, (*given, *selection.excludes), selection.entries, chosen.proven)


def to_patterns(
    assignment: Assignment,
    template: Template,
    catalog: Catalog,
    excludes: Sequence[str],
    *,
    kv_fp8: bool,
    convolutions: Sequence[str] = (),
) -> QuarkPatterns:
    """Return the fewest patterns that select an assignment, as Quark and the serving stacks read them.

    What is written target by target stays if no fewer patterns do; where a stack would read that otherwise, others are
    looked for, and if there are none it is Quark's reading that holds.

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
    globals_ = _global_candidates(assignment, catalog)
    given = (*excludes, *(_kv_excludes(assignment, template, excludes) if kv_fp8 else ()))
    kv_layers = template.kv_layers if kv_fp8 else ()
    readers = readers_of(catalog, template.model_type)
    plain = plain_patterns(assignment, template, globals_, given, kv_fp8=kv_fp8, convolutions=convolutions)
    read_alike = _is_exact(plain, assignment, kv_layers, readers)
    count = len(plain.layer_quant_config) + len(plain.exclude_layers) - len(given)
    if read_alike and count <= _least(assignment, given, plain):
        return replace(plain, fewest=True)
    kv = _kv_schemes(assignment, template) if kv_fp8 else {}
    at_most = count - 1 if read_alike else None
    found = (
        _fewest(plain, assignment, globals_, given, kv, convolutions, readers, at_most=at_most)
        if count <= MOST_PLAIN
        else None
    )
    if found is not None and _is_exact(found, assignment, kv_layers, readers):
        return found
    verify_patterns(plain, assignment, kv_layers)
    return plain


def _is_exact(
    patterns: QuarkPatterns, assignment: Assignment, kv_layers: Sequence[str], readers: Sequence[StackReader]
) -> bool:
    try:
        verify_patterns(patterns, assignment, kv_layers, readers)
    except VerificationError:
        return False
    return True


def _least(assignment: Assignment, given: Sequence[str], plain: QuarkPatterns) -> int:
    """Return how many patterns it takes in any case: one for each further scheme, and one if more is to be excluded."""
    further = len(assignment.quantized_elements_by_scheme) - 1
    return further + (len(plain.exclude_layers) > len(given))
