"""Sums of differences by their cause."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from solver.catalog.tensors import StoredTensors
from solver.intake.inventory import Difference
from solver.intake.tensors import TensorInfo

_SAMPLE = 3


@dataclass
class Tally:
    """The sum of all differences of one cause, stored minus built."""

    elements: int | None = 0
    bytes: int | None = 0
    names: list[str] = field(default_factory=list)

    def add(self, names: Iterable[str], elements: int | None, size: int | None) -> None:
        """Add what some tensors differ by; None is not known, and makes the sum so."""
        self.names.extend(names)
        self.elements = None if self.elements is None or elements is None else self.elements + elements
        self.bytes = None if self.bytes is None or size is None else self.bytes + size


def sums(tensors: Sequence[TensorInfo]) -> tuple[int | None, int | None]:
    """Return the elements and bytes of tensors, None if a shape is not known."""
    if any(tensor.shape is None for tensor in tensors):
        return None, None
    return sum(tensor.elements or 0 for tensor in tensors), sum(tensor.size_bytes or 0 for tensor in tensors)


def to_differences(tallies: Mapping[str, Tally], facts: StoredTensors) -> tuple[Difference, ...]:
    """Return tallies as records, the greatest first."""
    found = [
        Difference(
            cause=cause,
            meaning=facts.meaning(cause),
            elements=tally.elements,
            bytes=tally.bytes,
            tensors=len(tally.names),
            names=tuple(sorted(tally.names)[:_SAMPLE]),
        )
        for cause, tally in tallies.items()
    ]
    return tuple(sorted(found, key=lambda item: (-abs(item.elements or 0), -abs(item.bytes or 0), item.cause)))
