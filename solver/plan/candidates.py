"""Patterns that a plan may be written with, each with the layers that it decides."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from solver.catalog import NATIVE
from solver.intake.inventory import LayerFamily
from solver.plan.globs import digit_globs, number_globs
from solver.plan.row_globs import BLOCK, row_globs
from solver.plan.rows import Rows
from solver.rules.patterns import matches, matches_path
from solver.rules.readers import StackReader

_PARTIAL = 10
"""Letters that a pattern may be longer for naming whole words: `*mlp.experts*` is preferred to `*.experts*`."""

_RowSet = dict[LayerFamily, dict[int | None, int]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pattern with a scheme: native makes it an exclude. `right` are layers with that scheme, `wrong` all others."""

    pattern: str
    scheme: str
    right: int
    wrong: int

    @property
    def rank(self) -> tuple[int, str]:
        """Patterns of whole words come first, then shorter ones, then the alphabet."""
        return _rank(self.pattern)


def _rank(pattern: str) -> tuple[int, str]:
    rough = any(mark in pattern for mark in ("*_", "_*", "*."))
    return len(pattern) + _PARTIAL * rough, pattern


class _Named(NamedTuple):
    """A glob, the families that it matches in Quark, and those for which some stack reads it otherwise."""

    glob: str
    families: frozenset[LayerFamily]
    misread: frozenset[LayerFamily]


@lru_cache(maxsize=16)
def _named(families: tuple[LayerFamily, ...], readers: tuple[StackReader, ...]) -> tuple[_Named, ...]:
    """Return the globs that match any of some families in its first block; all plans of a model share them."""
    firsts = [(family, (family.block_indices or (None,))[0]) for family in families]
    found = []
    for glob in row_globs(families):
        matched, misread = set(), set()
        for family, block in firsts:
            pattern = glob if block is None else glob.replace(BLOCK, str(block))
            meant = matches(pattern, family, block)
            if meant:
                matched.add(family)
            if any(not r.only_global(family) and r.matches(pattern, family, block) != meant for r in readers):
                misread.add(family)
        if matched:
            found.append(_Named(glob, frozenset(matched), frozenset(misread)))
    return tuple(found)


def _row_sets(rows: Rows, readers: Sequence[StackReader], families: frozenset[LayerFamily]) -> dict[str, _RowSet]:
    """Return the shortest glob for each set of families that one glob names; readers must agree on `families`."""
    best: dict[tuple[bool, frozenset[LayerFamily]], str] = {}
    for glob, named, misread in _named(tuple(rows.bits), tuple(readers)):
        key = (BLOCK in glob, named)
        if not misread & families and (key not in best or _rank(glob) < _rank(best[key])):
            best[key] = glob
    return {glob: {f: rows.bits[f] for f in rows.bits if f in named} for (_, named), glob in best.items()}


def _block_sets(row_set: _RowSet, rows: Rows, scheme: str) -> Iterator[frozenset[int]]:
    """Yield sets of blocks: those where all layers have a scheme, those where some have it, and what lies between."""
    bits: dict[int, int] = {}
    for blocks in row_set.values():
        for block, bit in blocks.items():
            if block is not None:
                bits[block] = bits.get(block, 0) | bit
    wanted = rows.by_scheme[scheme]
    whole = {block for block, bit in bits.items() if bit & ~wanted == 0}
    some = {block for block, bit in bits.items() if bit & wanted}
    for found in (whole, some):
        if found:
            yield frozenset(found)
            yield frozenset(block for block in bits if min(found) <= block <= max(found))


def _numbers(row_set: _RowSet, rows: Rows, scheme: str) -> dict[str, frozenset[int]]:
    """Return globs of block numbers, each with the blocks that it matches."""
    known = frozenset(block for blocks in row_set.values() for block in blocks if block is not None)
    globs: dict[str, None] = {}
    for blocks in dict.fromkeys(_block_sets(row_set, rows, scheme)):
        globs.update(dict.fromkeys((*number_globs(blocks), *digit_globs(blocks, known))))
    return {glob: numbers for glob, numbers in ((g, _matched(g, known)) for g in globs) if numbers}


def _matched(glob: str, numbers: Iterable[int]) -> frozenset[int]:
    return frozenset(number for number in numbers if fnmatchcase(str(number), glob))


def _all_of(rows: Rows, readers: Sequence[StackReader], schemes: Iterable[str]) -> Iterator[Candidate]:
    """Yield all candidates, layer patterns first."""
    quantized = frozenset(m.family for m, scheme in zip(rows.members, rows.schemes, strict=True) if scheme != NATIVE)
    read = _row_sets(rows, readers, quantized)
    for scheme in schemes:
        row_sets = _row_sets(rows, readers, frozenset()) if scheme == NATIVE else read
        for glob, row_set in row_sets.items():
            if BLOCK not in glob:
                yield _candidate(glob, scheme, sum(bit for blocks in row_set.values() for bit in blocks.values()), rows)
                continue
            for number, blocks in _numbers(row_set, rows, scheme).items():
                bits = sum(bit for found in row_set.values() for block, bit in found.items() if block in blocks)
                yield _candidate(glob.replace(BLOCK, number), scheme, bits, rows)


def _candidate(pattern: str, scheme: str, bits: int, rows: Rows) -> Candidate:
    if scheme == NATIVE:
        bits |= sum(bit for path, bit in rows.path_bits.items() if matches_path(pattern, path))
        return Candidate(pattern, scheme, bits & rows.native, bits & rows.quantized)
    bits &= rows.quantized
    right = bits & rows.by_scheme[scheme]
    return Candidate(pattern, scheme, right, bits & ~right)


def find_candidates(rows: Rows, readers: Sequence[StackReader], more: Iterable[Candidate] = ()) -> list[Candidate]:
    """Return the candidates that may be of use, in a fixed order.

    A candidate goes if another of its scheme decides no fewer layers rightly and no more wrongly, and is no longer.
    Excludes decide nothing wrongly, and every reader takes a layer pattern to match the same layers.
    """
    best: dict[tuple[str, int, int], Candidate] = {}
    for candidate in (*_all_of(rows, readers, rows.by_scheme), *_of_paths(rows), *more):
        key = (candidate.scheme, candidate.right, candidate.wrong)
        useful = candidate.right and not (candidate.scheme == NATIVE and candidate.wrong)
        if useful and (key not in best or candidate.rank < best[key].rank):
            best[key] = candidate
    return [
        item for scheme in rows.by_scheme for item in _undominated([c for c in best.values() if c.scheme == scheme])
    ]


def _of_paths(rows: Rows) -> Iterator[Candidate]:
    for path, bit in rows.path_bits.items():
        yield Candidate(f"*{path}", NATIVE, bit, rows.matched(f"*{path}") & rows.quantized)


def _undominated(candidates: Sequence[Candidate]) -> list[Candidate]:
    kept: list[Candidate] = []
    for one in sorted(candidates, key=lambda c: c.rank):
        if not any(one.right & ~other.right == 0 and other.wrong & ~one.wrong == 0 for other in kept):
            kept.append(one)
    return kept


def candidates_of(
    rows: Rows, readers: Sequence[StackReader], entries: Mapping[str, str], excludes: Iterable[str]
) -> list[Candidate]:
    """Return given patterns as candidates, those left out that readers do not take to match the same layers."""
    found = []
    for pattern, scheme in entries.items():
        bits = rows.matched(pattern) & rows.quantized
        if all(rows.read(reader, pattern) & rows.quantized == bits for reader in readers):
            found.append(
                Candidate(pattern, scheme, bits & rows.by_scheme.get(scheme, 0), bits & ~rows.by_scheme.get(scheme, 0))
            )
    for pattern in excludes:
        bits = rows.matched(pattern)
        found.append(Candidate(pattern, NATIVE, bits & rows.native, bits & rows.quantized))
    return found
