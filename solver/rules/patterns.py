"""Quark's reading of layer patterns: fnmatch over the whole module path, case-sensitive, `*` crosses dots."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from solver.intake.inventory import LayerFamily

_TELLS_EXPERTS_APART = frozenset("0123456789?[")


def matches(pattern: str, family: LayerFamily, block: int | None) -> bool:
    """Return whether a pattern matches the layers of one family in one block, any expert of them."""
    if not family.experts:
        return fnmatchcase(family.path(block), pattern)
    # Most patterns cannot tell experts apart: one stands for all.
    experts = range(family.experts) if _TELLS_EXPERTS_APART & set(pattern) else (0,)
    return any(fnmatchcase(family.path(block, expert), pattern) for expert in experts)


def first_match(patterns: Iterable[str], family: LayerFamily, block: int | None) -> str | None:
    """Return the first pattern that matches, or None."""
    return next((pattern for pattern in patterns if matches(pattern, family, block)), None)
