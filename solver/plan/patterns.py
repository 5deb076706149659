"""From an assignment to the three fields that Quark reads: global scheme, excludes, layer patterns.

Precedence in Quark 0.13, vLLM 0.33 and SGLang: excluded layers are native; otherwise the first pattern that matches
decides; otherwise the global scheme. Patterns are written in the order of the alphabet, because an export keeps no
other. Every pattern holds a `*`: without one, vLLM takes a pattern to match a layer whose name it contains.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from solver.catalog import NATIVE, Catalog
from solver.catalog.template import Template
from solver.errors import BadInputError, VerificationError
from solver.plan.alphabet import spelled_in_order
from solver.plan.assignment import Assignment
from solver.plan.literal_patterns import literal_patterns
from solver.plan.plain_patterns import plain_patterns
from solver.plan.written import QuarkPatterns, verify_patterns
from solver.rules.patterns import first_match, matches
from solver.rules.readers import StackReader, readers_of

__all__ = ["QuarkPatterns", "to_patterns", "verify_patterns"]

MOST_PLAIN = 24
"""Plain patterns of which fewer are looked for: more of them take longer than a plan may."""


def _global_candidates(assignment: Assignment, catalog: Catalog, readers: Sequence[StackReader]) -> list[str]:
    """Return the schemes that may be global, most weights first.

    Some schemes as global ones spoil the weights of others (nvfp4 shares scales within q/k/v and gate/up). A stack that
    reads the global scheme alone for some layers leaves no other, where they have one.

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
    read = {
        scheme
        for member, scheme in assignment.schemes.items()
        if scheme != NATIVE and any(reader.only_global(member.family) for reader in readers)
    }
    return list(read) if len(read) == 1 and read <= set(found) else found


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
    """Return the scheme of each KV pattern whose layers are quantized, in the order of the template."""
    found: dict[str, str] = {}
    for pattern in template.kv_layers:
        of_layers = (s for m, s in assignment.schemes.items() if s != NATIVE and matches(pattern, m.family, m.block))
        scheme = next(of_layers, None)
        if scheme is not None:
            found[pattern] = scheme
    return found


@dataclass(frozen=True)
class _Job:
    """An assignment to write, with the excludes that are written in any case; `kv_layers` are empty without a cache."""

    assignment: Assignment
    template: Template
    given: tuple[str, ...]
    kv_layers: tuple[str, ...]
    convolutions: Sequence[str]

    def write(self, globals_: Sequence[str], readers: Sequence[StackReader]) -> QuarkPatterns | None:
        """Return the fewest patterns that are found and that all readers take for the assignment, if there are any."""
        plain = plain_patterns(
            self.assignment,
            self.template,
            globals_,
            self.given,
            kv_fp8=bool(self.kv_layers),
            convolutions=self.convolutions,
        )
        spelled = spelled_in_order(plain, self.assignment.schemes)
        exact = self.is_exact(spelled, readers)
        count = plain.beside(self.given)
        if exact and count <= self._least(plain):
            return replace(spelled, fewest=True)
        found = self._fewer(plain, globals_, readers, count - 1 if exact else None) if count <= MOST_PLAIN else None
        if found is not None:
            found = spelled_in_order(found, self.assignment.schemes)
            if self.is_exact(found, readers):
                return found
        return spelled if exact else None

    def spell_out(self, globals_: Sequence[str], readers: Sequence[StackReader]) -> QuarkPatterns | None:
        """Return one pattern for each layer, if all readers take these for the assignment under a global scheme."""
        for name in globals_:
            literal = literal_patterns(
                self.assignment,
                self.template,
                name,
                self.given,
                kv_fp8=bool(self.kv_layers),
                convolutions=self.convolutions,
            )
            spelled = spelled_in_order(literal, self.assignment.schemes)
            if self.is_exact(spelled, readers):
                return spelled
        return None

    def is_exact(self, patterns: QuarkPatterns, readers: Sequence[StackReader]) -> bool:
        """Return whether Quark and all readers take patterns for the assignment."""
        try:
            verify_patterns(patterns, self.assignment, self.kv_layers, readers)
        except VerificationError:
            return False
        return True

    def _least(self, plain: QuarkPatterns) -> int:
        """Return how many patterns it takes in any case: one a further scheme, and one if more is to be excluded."""
        further = len(self.assignment.quantized_elements_by_scheme) - 1
        return further + (len(plain.exclude_layers) > len(self.given))

    def _fewer(
        self, plain: QuarkPatterns, globals_: Sequence[str], readers: Sequence[StackReader], at_most: int | None
    ) -> QuarkPatterns | None:
        """Return fewer patterns than the plain ones, or these if it is proven that there are none; None if not."""
        from solver.plan.candidates import candidates_of, find_candidates
        from solver.plan.fewest import Task, choose
        from solver.plan.rows import rows_of

        kv = _kv_schemes(self.assignment, self.template) if self.kv_layers else {}
        rows = rows_of(self.assignment, self.given, self.convolutions)
        more = candidates_of(rows, readers, {**plain.layer_quant_config, **kv}, plain.exclude_layers)
        chosen = choose(Task(rows, find_candidates(rows, readers, more), globals_, kv), at_most=at_most)
        if chosen.selection is None:
            return replace(plain, fewest=True) if chosen.proven and at_most is not None else None
        selection = chosen.selection
        excludes = (*self.given, *selection.excludes)
        return QuarkPatterns(selection.global_scheme, excludes, selection.entries, chosen.proven)


def to_patterns(
    assignment: Assignment,
    template: Template,
    catalog: Catalog,
    excludes: Sequence[str],
    *,
    kv_fp8: bool,
    convolutions: Sequence[str] = (),
    at_most: int | None = None,
) -> QuarkPatterns:
    """Return the fewest patterns that select an assignment, as Quark and the serving stacks read them.

    What is written target by target stays if no fewer patterns do. Where no patterns mean the same to every stack, it
    is Quark's reading that holds. Where neither is exact, each layer is written by its own name.

    Parameters
    ----------
    excludes
        Patterns of layers that stay native, the template's own among them: passing any to Quark replaces its
        defaults, so that all are always written.
    convolutions
        Paths of modules that Quark would give the global scheme too, and that stay native.
    kv_fp8
        Whether the KV cache is quantized, which ties layers and needs entries of its own.
    at_most
        Patterns beside the excludes that the user takes; more than that are not written for a stack's sake.

    Raises
    ------
    BadInputError
        If nothing is quantized: there is no such Quark plan.
    VerificationError
        If the patterns do not select exactly the assignment.

    """
    if not assignment.quantized_elements_by_scheme:
        raise BadInputError("no layer is quantized, and so there is nothing for Quark to do.")
    kv_excludes = _kv_excludes(assignment, template, excludes) if kv_fp8 else []
    kv_layers = template.kv_layers if kv_fp8 else ()
    assignment = assignment.in_order()
    job = _Job(assignment, template, (*excludes, *kv_excludes), kv_layers, convolutions)
    readers = readers_of(catalog, template.model_type)
    found = job.write(_global_candidates(assignment, catalog, readers), readers)
    if found is None or (at_most is not None and found.beside(excludes) > at_most):
        found = job.write(_global_candidates(assignment, catalog, ()), ())
    for stacks in (readers, ()):
        if found is None:
            found = job.spell_out(_global_candidates(assignment, catalog, stacks), stacks)
    if found is None:
        raise VerificationError("no patterns of this planner's select what is planned")
    return found
