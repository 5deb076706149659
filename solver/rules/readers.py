"""By which names, and through which patterns, the serving stacks look layers up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from solver.catalog import Catalog
from solver.catalog.backend import Backend
from solver.catalog.reader import Rename, Unloaded
from solver.intake.inventory import LayerFamily
from solver.rules.patterns import matches_path

_EXPERT = ".{expert}"


@dataclass(frozen=True, slots=True)
class StackReader:
    """The reader of one stack, for models of one type."""

    stack: str
    renames: tuple[Rename, ...] = ()
    global_leaves: frozenset[str] = frozenset()
    unloaded: tuple[Unloaded, ...] = ()

    def name(self, family: LayerFamily) -> str:
        """Return the path by which the stack looks a family up; `{block}` stays."""
        path = family.name.split(_EXPERT)[0] if family.experts else family.name
        for rename in self.renames:
            path = path.replace(rename.part, rename.read_as, 1)
        return path

    def pattern(self, pattern: str) -> str:
        """Return a pattern as the stack rewrites it."""
        for rename in self.renames:
            if rename.renames_entries == "anywhere":
                pattern = pattern.replace(rename.part, rename.read_as, 1)
        return pattern

    def matches(self, pattern: str, family: LayerFamily, block: int | None) -> bool:
        """Return whether the stack takes a pattern to match the layers of one family in one block."""
        return matches_path(self.pattern(pattern), _numbered(self.name(family), block))

    def first_match(self, patterns: Iterable[str], family: LayerFamily, block: int | None) -> str | None:
        """Return the first pattern that the stack takes to match, or None."""
        path = _numbered(self.name(family), block)
        return next((pattern for pattern in patterns if matches_path(self.pattern(pattern), path)), None)

    def scheme_of(self, entries: Mapping[str, str], global_scheme: str, family: LayerFamily, block: int | None) -> str:
        """Return the scheme that the stack reads for layers that are not excluded."""
        if self.only_global(family):
            return global_scheme
        pattern = self.first_match(entries, family, block)
        return global_scheme if pattern is None else entries[pattern]

    def only_global(self, family: LayerFamily) -> bool:
        """Return whether the stack gives a family the global scheme, whatever the patterns say."""
        return not family.experts and family.name.rsplit(".", 1)[-1] in self.global_leaves

    def knows_excluded(self, family: LayerFamily) -> bool:
        """Return whether the stack finds the layers of a family among the excluded names."""
        return not any(rename.part in family.name for rename in self.renames if rename.renames_entries == "none")


def _numbered(path: str, block: int | None) -> str:
    return path if block is None else path.replace("{block}", str(block))


def reader_of(backend: Backend, model_type: str) -> StackReader:
    """Return how a stack reads models of one type; one that nothing is known of reads as Quark does."""
    if backend.reader is None:
        return StackReader(backend.name)
    return StackReader(
        backend.name,
        tuple(item for item in backend.reader.renames if model_type in item.model_types),
        frozenset(
            leaf for item in backend.reader.global_only if model_type in item.model_types for leaf in item.leaves
        ),
        tuple(item for item in backend.reader.unloaded if model_type in item.model_types),
    )


def readers_of(catalog: Catalog, model_type: str) -> tuple[StackReader, ...]:
    """Return the readers of all stacks that load Quark's exports by patterns, as they read models of one type."""
    return tuple(reader_of(backend, model_type) for backend in catalog.backends if backend.reader is not None)
