"""Quark's reading of layer patterns: fnmatch over the whole module path, case-sensitive, `*` crosses dots."""

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache

from solver.intake.inventory import LayerFamily

_TELLS_APART = frozenset("0123456789?[")


@lru_cache(maxsize=2**16)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a glob as a regular expression; fnmatch's own cache is too small for one pattern a block."""
    return re.compile(translate(pattern))


def matches_path(pattern: str, path: str) -> bool:
    """Return whether a pattern matches one module path."""
    return _compiled(pattern).match(path) is not None


@lru_cache(maxsize=2**16)
def tells_experts_apart(pattern: str) -> bool:
    """Return whether a pattern may match some experts of a block and not others.

    What stands before `experts` in a pattern can only match what stands before it in a path, and the expert's index
    comes after it.
    """
    return bool(_TELLS_APART & set(pattern.rpartition("experts")[2]))


@lru_cache(maxsize=2**18)
def _matches_any_expert(pattern: str, path: str, experts: int) -> bool:
    """Return whether a pattern matches a path for any of its experts."""
    indices = range(experts) if tells_experts_apart(pattern) else (0,)
    return any(matches_path(pattern, path.replace("{expert}", str(index))) for index in indices)


def matches(pattern: str, family: LayerFamily, block: int | None) -> bool:
    """Return whether a pattern matches the layers of one family in one block, any expert of them."""
    path = family.path(block)
    return _matches_any_expert(pattern, path, family.experts) if family.experts else matches_path(pattern, path)


def first_match(patterns: Iterable[str], family: LayerFamily, block: int | None) -> str | None:
    """Return the first pattern that matches, or None."""
    path, experts = family.path(block), family.experts
    if experts:
        return next((pattern for pattern in patterns if _matches_any_expert(pattern, path, experts)), None)
    return next((pattern for pattern in patterns if matches_path(pattern, path)), None)
