"""From counts to layers: which unit takes which scheme, in an order of our own."""

from dataclasses import dataclass

from solver.catalog import NATIVE
from solver.optimize.problem import Point
from solver.rules.units import Member, Partition


@dataclass(frozen=True, slots=True)
class Assignment:
    """The scheme of every layer of a model, by family and block."""

    schemes: dict[Member, str]

    @property
    def layers_by_scheme(self) -> dict[str, int]:
        """Number of layers under each scheme, the largest first."""
        counts: dict[str, int] = {}
        for member, scheme in self.schemes.items():
            counts[scheme] = counts.get(scheme, 0) + member.layers
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    @property
    def quantized_elements_by_scheme(self) -> dict[str, int]:
        """Number of weights under each scheme, the largest first; native layers are left out."""
        counts: dict[str, int] = {}
        for member, scheme in self.schemes.items():
            if scheme != NATIVE:
                counts[scheme] = counts.get(scheme, 0) + member.layers * member.family.weight_elements
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def in_order(self) -> "Assignment":
        """Return the same, ordered by the names of the layers: what is searched for does not hang on another order."""
        return Assignment(dict(sorted(self.schemes.items(), key=lambda item: _place(item[0]))))


def _place(member: Member) -> tuple[str, int]:
    return member.family.name, -1 if member.block is None else member.block


def assign(point: Point, partition: Partition) -> Assignment:
    """Return the scheme of every layer.

    Units of a class cost the same, so any of them may take any of its options: the least risky options go to
    the earliest blocks, which keeps each scheme's blocks together and patterns short.
    """
    schemes = dict.fromkeys(partition.native, NATIVE)
    for unit_class, taken in zip(point.problem.classes, point.counts, strict=True):
        ordered = sorted(zip(unit_class.options, taken, strict=True), key=lambda item: (item[0].risk, item[0].vector))
        names = [option.scheme for option, number in ordered for _ in range(number)]
        for unit, name in zip(unit_class.units, names, strict=True):
            schemes.update(dict.fromkeys(unit.members, name))
    return Assignment(schemes)
