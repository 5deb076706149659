"""The layers that patterns decide, as rows: families with the scheme of each block."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from solver.catalog import NATIVE
from solver.intake.inventory import LayerFamily
from solver.plan.assignment import Assignment
from solver.rules.patterns import first_match, matches, matches_path
from solver.rules.readers import StackReader
from solver.rules.units import Member


@dataclass(frozen=True)
class Rows:
    """All layers that no given exclude covers, each with a bit of its own.

    Parameters
    ----------
    members
        Layers of one family in one block each; bit `n` is the n-th.
    schemes
        Their schemes.
    paths
        Modules beside them that Quark would give the global scheme too, and that stay native; their bits come last.

    """

    members: tuple[Member, ...]
    schemes: tuple[str, ...]
    paths: tuple[str, ...]

    @cached_property
    def bits(self) -> dict[LayerFamily, dict[int | None, int]]:
        """Bits by family and block."""
        found: dict[LayerFamily, dict[int | None, int]] = {}
        for number, member in enumerate(self.members):
            found.setdefault(member.family, {})[member.block] = 1 << number
        return found

    @cached_property
    def path_bits(self) -> dict[str, int]:
        """Bits of the modules beside the layers."""
        return {path: 1 << len(self.members) + number for number, path in enumerate(self.paths)}

    @cached_property
    def by_scheme(self) -> dict[str, int]:
        """Bits of all layers under each scheme, native included."""
        found = {NATIVE: sum(self.path_bits.values())}
        for number, scheme in enumerate(self.schemes):
            found[scheme] = found.get(scheme, 0) | 1 << number
        return found

    @property
    def native(self) -> int:
        """Bits of all that stays native."""
        return self.by_scheme[NATIVE]

    @property
    def quantized(self) -> int:
        """Bits of all that does not."""
        return ((1 << len(self.members) + len(self.paths)) - 1) & ~self.native

    def matched(self, pattern: str) -> int:
        """Return the bits of what a pattern matches in Quark."""
        found = 0
        for number, member in enumerate(self.members):
            if matches(pattern, member.family, member.block):
                found |= 1 << number
        return found | sum(bit for path, bit in self.path_bits.items() if matches_path(pattern, path))

    def read(self, reader: StackReader, pattern: str) -> int:
        """Return the bits of the layers that a stack takes a pattern to match."""
        found = 0
        for number, member in enumerate(self.members):
            if reader.only_global(member.family):
                found |= self.bits[member.family][member.block] & self.matched(pattern)
            elif reader.matches(pattern, member.family, member.block):
                found |= 1 << number
        return found


def rows_of(assignment: Assignment, excludes: Sequence[str], convolutions: Sequence[str]) -> Rows:
    """Return what is left to decide beside the given excludes."""
    left = {
        member: scheme
        for member, scheme in assignment.schemes.items()
        if member.family.quantizable and first_match(excludes, member.family, member.block) is None
    }
    paths = tuple(path for path in convolutions if not any(matches_path(pattern, path) for pattern in excludes))
    return Rows(tuple(left), tuple(left.values()), paths)
