"""What the layers of a transformer do, recognized by their module path."""

import re
from fnmatch import translate
from functools import cached_property
from typing import Literal

from pydantic import Field

from solver.catalog.base import Profile

Parallel = Literal["column", "row", "replicated"]
Live = Literal["attention", "mlp", "experts"]
RoleKind = Literal["dense", "experts", "router", "head", "embedding", "vision", "other"]


class Role(Profile):
    """One role: the paths that have it, and how tensor parallelism cuts its weight."""

    name: str
    patterns: tuple[str, ...]
    kind: RoleKind
    parallel: Parallel
    decode_share: Literal["always", "active_experts", "never"] = "always"
    live: Live | None = Field(default=None, description="the part of a block whose results are in memory together")
    parts: int = Field(default=1, gt=0, description="projections of the same size that the weight holds")


class CutParameters(Profile):
    """Parameters outside the layers that tensor parallelism cuts; their names as in the checkpoint."""

    patterns: tuple[str, ...]
    source: str


class Roles(Profile):
    """All roles, in the order in which their patterns are tried."""

    source: str
    roles: tuple[Role, ...]
    cut_parameters: CutParameters | None = None

    def of(self, path: str) -> Role:
        """Return the role of a module path (or of a family name with its placeholders)."""
        found = self._by_path.get(path)
        if found is None:
            # A model has tens of thousands of paths and few that differ in more than their numbers.
            found = self._by_path[path] = next(role for pattern, role in self._compiled if pattern.match(path))
        return found

    def named(self, name: str) -> Role:
        """Return the role called `name`."""
        return self._by_name[name]

    def cuts(self, parameter: str) -> bool:
        """Return whether tensor parallelism cuts a parameter outside the layers, by its name."""
        return any(pattern.match(parameter) for pattern in self._cut)

    @cached_property
    def _cut(self) -> list[re.Pattern[str]]:
        patterns = () if self.cut_parameters is None else self.cut_parameters.patterns
        return [re.compile(translate(pattern)) for pattern in patterns]

    @cached_property
    def _compiled(self) -> list[tuple[re.Pattern[str], Role]]:
        return [(re.compile("|".join(map(translate, role.patterns))), role) for role in self.roles]

    @cached_property
    def _by_path(self) -> dict[str, Role]:
        return {}

    @cached_property
    def _by_name(self) -> dict[str, Role]:
        return {role.name: role for role in self.roles}
