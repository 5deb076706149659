"""Globs that name families of layers, by leaf, by container and by leaves spelled alike, with a place for blocks."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from solver.intake.inventory import LayerFamily

BLOCK = "{block}"
_EXPERT = ".{expert}"
_MOST_SPELLED = 5
"""Leaves that differ in one letter, of which all subsets are spelled together: more are left out."""


def _cut(family: LayerFamily) -> tuple[str, str]:
    """Return what stands before the block and after it; without blocks all of it comes after."""
    name = family.name.split(_EXPERT)[0] if family.experts else family.name
    head, block, tail = name.partition(BLOCK)
    return (head.rstrip("."), tail.lstrip(".")) if block else ("", name)


def spelled_together(names: Sequence[str]) -> str | None:
    """Return one glob for names that differ in a single letter: q_proj and k_proj are `[kq]_proj`; else None."""
    differing = {index for index, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1}
    if len({len(name) for name in names}) > 1 or len(differing) != 1:
        return None
    (index,) = differing
    letters = "".join(sorted(name[index] for name in names))
    return f"{names[0][:index]}[{letters}]{names[0][index + 1 :]}"


def _spelled(leaves: Sequence[str]) -> Iterator[str]:
    """Yield globs for sets of leaves that differ in one letter."""
    alike: dict[tuple[int, str], list[str]] = defaultdict(list)
    for leaf in dict.fromkeys(leaves):
        for index in range(len(leaf)):
            alike[index, f"{leaf[:index]}{leaf[index + 1 :]}"].append(leaf)
    for names in alike.values():
        if 1 < len(names) <= _MOST_SPELLED:
            for size in range(2, len(names) + 1):
                for chosen in combinations(sorted(names), size):
                    glob = spelled_together(chosen)
                    if glob is not None:
                        yield glob


def _of_tail(tail: str, *, experts: bool) -> Iterator[tuple[str, bool]]:
    """Yield texts that match a tail, each with whether it must stand right after the block."""
    segments = tail.split(".")
    for start in range(len(segments)):
        rest = ".".join(segments[start:])
        yield (f"{rest}*" if experts else rest), start == 0
        for end in range(start + 1, len(segments)):
            yield f"{'.'.join(segments[start:end])}.*", start == 0
    if experts:
        yield f".{segments[-1]}*", False
        return
    words = segments[-1].split("_")
    for index in range(1, len(words)):
        yield f"_{'_'.join(words[index:])}", False
        yield ".".join([*segments[:-1], f"{'_'.join(words[:index])}_*"]), True


def _texts(families: Sequence[LayerFamily]) -> dict[tuple[str, bool], None]:
    """Return all texts for tails, the alike spelled together among them.

    None of them matches an embedding: Quark would quantize one that a layer pattern names.
    """
    found: dict[tuple[str, bool], None] = {}
    leaves: dict[str, list[str]] = defaultdict(list)
    for family in families:
        head, tail = _cut(family)
        if not head:
            found[tail, True] = None
            continue
        found.update(dict.fromkeys(_of_tail(tail, experts=family.experts > 0)))
        if not family.experts:
            parent, _, leaf = tail.rpartition(".")
            leaves[parent].append(leaf)
    for parent, names in leaves.items():
        for glob in _spelled(names):
            found[f"{parent}.{glob}".lstrip("."), True] = None
            found[glob, False] = None
    return found


def row_globs(families: Sequence[LayerFamily]) -> list[str]:
    """Return globs for sets of families; those with `{block}` may be given a glob of block numbers there.

    Where names are the same under several heads (a decoder and a vision tower), each head's own words tell them apart.
    """
    heads = {head: list(dict.fromkeys(head.split("."))) for head in dict.fromkeys(_cut(f)[0] for f in families)}
    anchors = {""}
    if len(heads) > 1:
        anchors |= {f"{word}*" for words in heads.values() for word in words[:-1]}
    places = {f"*{anchor}{words[-1]}.{BLOCK}." for head, words in heads.items() if head for anchor in anchors}
    globs: dict[str, None] = {}
    globs.update(dict.fromkeys(f"{place}*" for place in sorted(places)))
    for text, at_start in _texts(families):
        tail = text if at_start else f"*{text}"
        for anchor in sorted(anchors):
            globs[f"*{anchor}{text}"] = None
        for place in sorted(places):
            globs[f"{place}{tail}"] = None
    return list(globs)
