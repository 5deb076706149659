"""Why nothing can be chosen: the fewest demands that clash, found by CP-SAT with one assumption for each demand."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from solver.errors import VerificationError
from solver.optimize.cpsat import SolverSettings, limit_reached, new_solver
from solver.optimize.stopping import solve

BUDGET = "budget-holds"
FUSED = "fused-groups-share-scheme"
TIED = "kv-layers-share-scheme"
RUNS = "algorithm-runs-with-all-schemes"
SOMETHING = "something-is-quantized"


@dataclass(frozen=True, slots=True)
class Choice:
    """One scheme for one layer: what it takes on a device, and the demands of which each alone closes it."""

    scheme: str
    size_bytes: int
    closed_by: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Member:
    """One layer of a group; `tied_by` the KV pattern that also matches others, if one does."""

    choices: tuple[Choice, ...]
    tied_by: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that the stack loads as one module, and how many such groups there are.

    `dequantized` gives the bytes that emulating a scheme takes besides, for those that are open and emulated.
    """

    members: tuple[Member, ...]
    count: int
    dequantized: tuple[tuple[str, int], ...] = ()

    def too_large(self, row: "Row") -> frozenset[str]:
        """Return the schemes whose emulation takes more than a row has room for."""
        return frozenset(name for name, size in self.dequantized if size > row.dequantized_bytes)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of settings: the bytes that it brings, what closes it, the schemes that it breaks, whether it ties.

    `dequantized_bytes` are those of the largest module that may be emulated under it; its bytes hold them.
    """

    size_bytes: int
    closed_by: frozenset[str] = frozenset()
    broken: frozenset[str] = frozenset()
    ties: bool = False
    dequantized_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Clash:
    """Everything that could be chosen if no demand were made, and the demands."""

    demands: tuple[str, ...]
    groups: tuple[Group, ...]
    rows: tuple[Row, ...]
    budget_bytes: int
    native: str


class _Model:
    """Counts of groups by scheme under demands that are literals."""

    def __init__(self, clash: Clash, settings: SolverSettings) -> None:
        self._settings = settings
        self._model = cp_model.CpModel()
        self._demands = {name: self._model.new_bool_var(name) for name in clash.demands}
        self._rows = self._settings_table(clash)
        self._tied: dict[str, dict[str, cp_model.IntVar]] = {}
        for member in (member for group in clash.groups for member in group.members if member.tied_by is not None):
            schemes = self._tied.setdefault(str(member.tied_by), {})
            for choice in member.choices:
                if choice.scheme not in schemes:
                    schemes[choice.scheme] = self._model.new_bool_var(f"all {member.tied_by} have {choice.scheme}")
        for schemes in self._tied.values():
            self._model.add_exactly_one(schemes.values())
        size: list[cp_model.LinearExprT] = [
            row.size_bytes * var for row, var in zip(clash.rows, self._rows, strict=True)
        ]
        quantized: list[cp_model.LinearExprT] = []
        for number, group in enumerate(clash.groups):
            taken = [
                self._member(clash, group, member, f"{number}.{place}") for place, member in enumerate(group.members)
            ]
            self._fuse(group, taken)
            for member, counts in zip(group.members, taken, strict=True):
                size += [choice.size_bytes * counts[choice.scheme] for choice in member.choices]
                quantized += [count for name, count in counts.items() if name != clash.native]
        self._demand(BUDGET, self._model.add(sum(size) <= clash.budget_bytes))
        self._demand(SOMETHING, self._model.add(sum(quantized) >= 1))

    def _settings_table(self, clash: Clash) -> list[cp_model.IntVar]:
        """Return one literal for each row of the table of settings, with the demands that close it as columns."""
        closing = sorted({name for row in clash.rows for name in row.closed_by})
        number = self._model.new_int_var(0, len(clash.rows) - 1, "row")
        flags = [self._model.new_bool_var(f"closed by {name}") for name in closing]
        self._model.add_allowed_assignments(
            [number, *flags], [(i, *(name in row.closed_by for name in closing)) for i, row in enumerate(clash.rows)]
        )
        for name, flag in zip(closing, flags, strict=True):
            self._demand(name, self._model.add(flag == 0))
        rows = [self._model.new_bool_var(f"row {i}") for i in range(len(clash.rows))]
        for i, row in enumerate(rows):
            self._model.add(number == i).only_enforce_if(row)
        self._model.add_exactly_one(rows)
        return rows

    def _demand(self, name: str, constraint: cp_model.Constraint, *others: cp_model.IntVar) -> None:
        if name in self._demands:
            constraint.only_enforce_if(self._demands[name], *others)

    def _member(self, clash: Clash, group: Group, member: Member, name: str) -> dict[str, cp_model.IntVar]:
        """Return how many groups give this member each scheme."""
        counts = {c.scheme: self._model.new_int_var(0, group.count, f"{name}.{c.scheme}") for c in member.choices}
        self._model.add(sum(counts.values()) == group.count)
        for choice in member.choices:
            count = counts[choice.scheme]
            for demand in choice.closed_by:
                self._demand(demand, self._model.add(count == 0))
            for row, chosen in zip(clash.rows, self._rows, strict=True):
                if choice.scheme in group.too_large(row):
                    self._model.add(count == 0).only_enforce_if(chosen)
                if choice.scheme in row.broken:
                    self._demand(RUNS, self._model.add(count == 0), chosen)
                if row.ties and member.tied_by is not None:
                    same = self._model.add(count == group.count * self._tied[member.tied_by][choice.scheme])
                    self._demand(TIED, same, chosen)
        return counts

    def _fuse(self, group: Group, taken: Sequence[dict[str, cp_model.IntVar]]) -> None:
        first = taken[0]
        for other in taken[1:]:
            for name in {*first, *other}:
                self._demand(FUSED, self._model.add(first.get(name, 0) == other.get(name, 0)))

    def possible(self, demands: Collection[str]) -> bool:
        """Return whether something can be chosen under these demands."""
        self._model.clear_assumptions()
        self._model.add_assumptions([self._demands[name] for name in sorted(demands)])
        solver = new_solver(self._settings)
        # Rows under a literal are else no part of the relaxation, which alone sees that a budget is too small.
        solver.parameters.linearization_level = 2
        # Rows that hold each other are merged here: one byte too few else takes ten times as long to refute. The trap
        # for OR-Tools has rows under literals, with this at its default.
        solver.parameters.ClearField("presolve_inclusion_work_limit")
        status, interrupted = solve(solver, self._model)
        if interrupted:
            raise KeyboardInterrupt
        if status == "unknown":
            raise limit_reached("what clashes was not found", self._settings)
        if status not in {"optimal", "feasible", "infeasible"}:
            raise VerificationError(f"the search for what clashes ended as {status}")
        return status != "infeasible"


def minimal_core(clash: Clash, settings: SolverSettings) -> tuple[str, ...]:
    """Return the demands of a smallest set that clashes, in the order of `clash.demands`; empty if nothing does.

    Demands are given up in the order in which they stand, each for good if the rest clashes without it: what stands
    first is what one would rather not be told.

    Raises
    ------
    LimitReachedError
        If the time limit ended a solve before it was known.
    VerificationError
        If the set does not clash, or does so without one of its members.

    """
    model = _Model(clash, settings)
    core = set(clash.demands)
    if model.possible(core):
        return ()
    for name in clash.demands:
        if not model.possible(core - {name}):
            core.discard(name)
    if model.possible(core) or not all(model.possible(core - {name}) for name in core):
        raise VerificationError(f"{sorted(core)} is no minimal set of demands that clash")
    return tuple(name for name in clash.demands if name in core)
