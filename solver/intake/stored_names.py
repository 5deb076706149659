"""Looks modules up in the lists of a quantization configuration, whose names are those of the checkpoint."""

import re
from collections import defaultdict
from collections.abc import Iterable
from fnmatch import translate
from typing import Generic, TypeVar

from solver.catalog.checkpoint_names import CheckpointNames

T = TypeVar("T")

_REGEX = "re:"
_BLOCK = re.compile(r"layers\.(\d+)(?:\.|$)")


def _ancestors(name: str) -> list[str]:
    """Return a module path and all modules that hold it, itself first."""
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(len(parts), 0, -1)]


class NameTable(Generic[T]):
    """Values by pattern: a module's name, a glob, or `re:` and a regular expression.

    A pattern also covers what lies inside the modules that it names. A name that does not begin at the blocks
    (`gate`, `visual`) may stand anywhere in a path. Names go before globs, globs before regular expressions; globs
    are sorted by block, so that lists of thousands of entries stay quick.

    Raises
    ------
    ValueError
        If a regular expression cannot be read.

    """

    def __init__(self, entries: Iterable[tuple[str, T]], names: CheckpointNames) -> None:
        self._names = names
        self._exact: dict[str, T] = {}
        self._last_segments: set[str] = set()
        self._globs: dict[str, list[tuple[re.Pattern[str], T]]] = defaultdict(list)
        self._regexes: list[tuple[re.Pattern[str], T]] = []
        for entry, value in entries:
            self._add(entry, value)

    def _add(self, entry: str, value: T) -> None:
        if entry.startswith(_REGEX):
            try:
                self._regexes.append((re.compile(entry.removeprefix(_REGEX)), value))
            except re.error as error:
                raise ValueError(f"{entry!r} is no regular expression: {error}") from error
            return
        name = self._names.canonical(entry)
        if any(sign in name for sign in "*?["):
            block = _BLOCK.match(name)
            self._globs[block[1] if block else ""].append((re.compile(translate(name)), value))
        else:
            self._exact.setdefault(name, value)
            if not name.startswith("layers."):
                self._last_segments.add(name.rsplit(".", 1)[-1])

    def find(self, path: str) -> T | None:
        """Return the value of the first pattern that covers a module, or None."""
        name = self._names.canonical(path)
        ancestors = _ancestors(name)
        exact = self._exact_for(ancestors)
        if exact is not None:
            return exact
        for pattern, value in self._globs_for(name):
            if any(pattern.fullmatch(ancestor) for ancestor in ancestors):
                return value
        spellings = (path, name, f"model.{name}")
        for pattern, value in self._regexes:
            if any(pattern.match(spelling) for spelling in spellings):
                return value
        return None

    def _exact_for(self, ancestors: list[str]) -> T | None:
        for ancestor in ancestors if self._exact else ():
            if ancestor in self._exact:
                return self._exact[ancestor]
            if ancestor.rsplit(".", 1)[-1] in self._last_segments:
                for ending in _endings(ancestor):
                    if ending in self._exact and not ending.startswith("layers."):
                        return self._exact[ending]
        return None

    def _globs_for(self, name: str) -> list[tuple[re.Pattern[str], T]]:
        block = _BLOCK.match(name)
        general = self._globs.get("", [])
        return [*self._globs.get(block[1], []), *general] if block else general


def _endings(name: str) -> Iterable[str]:
    """Yield what a path ends in, the longest first, without the whole path."""
    while "." in name:
        name = name.split(".", 1)[1]
        yield name
