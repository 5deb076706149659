"""Compares what a checkpoint holds with what transformers builds, and gives every difference a cause."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from solver.catalog.roles import Roles
from solver.catalog.tensors import StoredTensors
from solver.intake.inventory import Difference
from solver.intake.layers import expert_family, family_name, generic_name
from solver.intake.published import TIED_HEAD
from solver.intake.shares import BUFFERS, MTP, PACKED
from solver.intake.tally import Tally, sums, to_differences
from solver.intake.tensors import FLOATS, TensorInfo


@dataclass(frozen=True)
class BuiltModel:
    """What transformers builds of a checkpoint.

    Parameters
    ----------
    parameters
        Elements of each parameter; one that is shared counts once, under its first name.
    shared
        The further names of shared parameters, each with its first one.
    buffers
        Names of all buffers.
    loaded_as
        The parameter that each stored tensor is loaded into, by the name that a plain checkpoint gives it.
    blocks
        Number of decoder blocks.
    dtype_bytes
        Bytes of one element.

    """

    parameters: dict[str, int]
    shared: dict[str, str]
    buffers: frozenset[str]
    loaded_as: dict[str, str]
    blocks: int
    dtype_bytes: int


class _Comparison:
    """One comparison under way: each stored tensor and each parameter is tallied exactly once."""

    def __init__(self, built: BuiltModel, roles: Roles, facts: StoredTensors) -> None:
        self.built = built
        self.facts = facts
        # Experts by the thousand have the same names but for their numbers.
        self._cause_of = cache(facts.cause_of)
        self._kind_of = cache(lambda path: roles.of(path).kind)
        self.tallies: dict[str, Tally] = defaultdict(Tally)
        self.loads: dict[str, list[TensorInfo]] = defaultdict(list)
        self.placeless: list[TensorInfo] = []

    def place(self, tensors: Sequence[TensorInfo]) -> None:
        """Give each tensor its parameter, its cause, or neither."""
        again: dict[str, list[TensorInfo]] = defaultdict(list)
        for tensor in tensors:
            plain = self.facts.unpacked(tensor.name) or tensor.name
            target = self.built.loaded_as.get(plain, plain)
            if target in self.built.parameters:
                self.loads[target].append(tensor)
            elif target in self.built.shared:
                again[target].append(tensor)
            elif cause := self._cause(tensor.name, target):
                self.tallies[cause].add([tensor.name], *sums([tensor]))
            else:
                self.placeless.append(tensor)
        for name, found in again.items():
            first = self.built.shared[name]
            if first not in self.loads:
                self.loads[first] = found
            else:
                elements, size = sums(found)
                known = self.built.parameters[first] if elements is None else elements
                self.tallies[TIED_HEAD].add([tensor.name for tensor in found], known, size)

    def _cause(self, name: str, target: str) -> str | None:
        if target in self.built.buffers:
            return BUFFERS
        if self._kind_of(generic_name(name).rpartition(".")[0]) == "vision":
            return "vision part"
        block = family_name(name)[1]
        if block is not None and block >= self.built.blocks:
            return MTP
        return self._cause_of(generic_name(name))

    def compare(self) -> None:
        """Tally the parameters: how they are stored, or that they are not."""
        residue: dict[int | None, _Residue] = defaultdict(_Residue)
        for tensor in self.placeless:
            residue[family_name(tensor.name)[1]].extra.append(tensor)
        for name, count in self.built.parameters.items():
            block = family_name(name)[1]
            if name not in self.loads:
                residue[block].absent.append(name)
            elif not self._explained(name, count):
                residue[block].reshaped.append(name)
        for part in residue.values():
            self._settle(part)

    def _explained(self, name: str, count: int) -> bool:
        """Tally a parameter whose tensors are there; False if they hold another number of elements, unpacked."""
        found = self.loads[name]
        names = [tensor.name for tensor in found]
        elements, size = sums(found)
        if elements is None or size is None:
            self._join(found, None)
            return True
        difference = size - count * self.built.dtype_bytes
        if elements == count:
            self._join(found, 0)
            if difference:
                self.tallies["another type"].add(names, 0, difference)
            return True
        if all(tensor.dtype not in FLOATS for tensor in found):
            self.tallies[PACKED].add(names, elements - count, difference)
            return True
        return False

    def _join(self, found: Sequence[TensorInfo], difference: int | None) -> None:
        if len(found) > 1:
            apart = all(expert_family(tensor.name)[1] is not None for tensor in found)
            cause = "separate experts" if apart else "split on disk"
            self.tallies[cause].add([tensor.name for tensor in found], difference, difference)

    def _settle(self, part: "_Residue") -> None:
        """Tally what is left of one block: under other names if its elements add up, else one by one."""
        stored = [*part.extra, *(tensor for name in part.reshaped for tensor in self.loads[name])]
        absent = [*part.absent, *part.reshaped]
        count = sum(self.built.parameters[name] for name in absent)
        elements, size = sums(stored)
        if stored and absent and elements in {count, None}:
            difference = None if size is None else size - count * self.built.dtype_bytes
            self.tallies[_arrangement(stored, absent)].add(
                [tensor.name for tensor in stored], None if elements is None else 0, difference
            )
            return
        for tensor in part.extra:
            self.tallies["unexplained"].add([tensor.name], *sums([tensor]))
        for name in part.absent:
            missing = self.built.parameters[name]
            self.tallies["not in the checkpoint"].add([name], -missing, -missing * self.built.dtype_bytes)
        for name in part.reshaped:
            elements, size = sums(self.loads[name])
            count = self.built.parameters[name]
            self.tallies["another shape"].add(
                [tensor.name for tensor in self.loads[name]],
                None if elements is None else elements - count,
                None if size is None else size - count * self.built.dtype_bytes,
            )


@dataclass
class _Residue:
    """What of one block has no counterpart of its own name and size."""

    extra: list[TensorInfo] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    reshaped: list[str] = field(default_factory=list)


def _arrangement(stored: Sequence[TensorInfo], built: Sequence[str]) -> str:
    if any(expert_family(tensor.name)[1] is not None for tensor in stored):
        return "separate experts"
    if len(stored) == len(built):
        return "other names on disk"
    return "fused on disk" if len(stored) < len(built) else "split on disk"


def find_differences(
    tensors: Sequence[TensorInfo], built: BuiltModel, roles: Roles, facts: StoredTensors
) -> tuple[Difference, ...]:
    """Return why the stored tensors are not exactly the built parameters, the greatest cause first.

    Where all shapes are known, the elements of all causes add up to those stored minus those built, and the bytes to
    those stored minus the built elements at the bytes of their type.
    """
    comparison = _Comparison(built, roles, facts)
    comparison.place(tensors)
    comparison.compare()
    return to_differences(comparison.tallies, facts)
