"""Names of modules as checkpoints and their lists spell them, brought to one spelling."""

from functools import cached_property

from solver.catalog.base import Profile


class CheckpointNames(Profile):
    """Prefixes that lead to the language model, and segments that mean the same."""

    source: str
    prefixes: tuple[str, ...]
    segments: dict[str, str]

    @cached_property
    def _longest_first(self) -> tuple[str, ...]:
        return tuple(sorted(self.prefixes, key=len, reverse=True))

    def canonical(self, name: str) -> str:
        """Return a module path or a glob without its leading prefix, each segment in its one spelling."""
        for prefix in self._longest_first:
            if name.startswith(prefix):
                name = name.removeprefix(prefix)
                break
        return ".".join(self.segments.get(segment, segment) for segment in name.split("."))
