"""Chooses options and places replicas by CP-SAT: fewest devices or the lowest price first, then the least risk."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite

from ortools.sat.python import cp_model

from solver.capacity.problem import Placement, Problem
from solver.capacity.rows import Rows
from solver.capacity.verify import verify_placement
from solver.errors import LimitReachedError, VerificationError
from solver.optimize.cpsat import SolverSettings, new_solver

_GUARD = 1e-6


@dataclass(frozen=True, slots=True)
class Stage:
    """How far one objective is proven."""

    objective: str
    value: int
    bound: int

    @property
    def optimal(self) -> bool:
        """Whether nothing less is possible."""
        return self.value == self.bound


@dataclass(frozen=True, slots=True)
class Found:
    """A placement, and the proof of each objective in turn."""

    placement: Placement
    stages: tuple[Stage, ...]
    complete: bool = True
    """Whether all sets of models that may share a device were considered."""


def _solve(rows: Rows, settings: SolverSettings) -> tuple[str, cp_model.CpSolver]:
    solver = new_solver(settings)
    status = solver.status_name(solver.solve(rows.model)).lower()
    if status not in {"optimal", "feasible", "infeasible", "unknown"}:
        raise VerificationError(f"CP-SAT calls a model of placements {status}")
    return status, solver


def fits(problem: Problem, settings: SolverSettings) -> bool | None:
    """Return whether there is any placement; None if the time limit ended the search before that was known."""
    if not all(problem.options):
        return False
    rows = Rows(problem)
    status, solver = _solve(rows, settings)
    if status in {"optimal", "feasible"}:
        verify_placement(problem, rows.read(solver))
        return True
    return False if status == "infeasible" and rows.complete else None


def place(problem: Problem, settings: SolverSettings) -> Found | None:
    """Return the placement that is best in one objective after the other, or None if there is none.

    Raises
    ------
    LimitReachedError
        If the time limit ended the search before it had any.
    VerificationError
        If what was found does not hold in Python's integers.

    """
    if not all(problem.options):
        return None
    rows = Rows(problem)
    devices = rows.devices()
    first = (problem.minimized, rows.price() if problem.minimized == "price" else devices)
    last = [("devices", devices)] if problem.minimized == "price" else []
    best: Placement | None = None
    stages = []
    for name, expression in (first, ("risk", rows.risk()), *last, ("work", rows.work())):
        rows.model.minimize(expression)
        status, solver = _solve(rows, settings)
        if status == "infeasible" and best is None and rows.complete:
            return None
        if status not in {"optimal", "feasible"}:
            if best is None:
                raise LimitReachedError(
                    f"no placement was found within {settings.deterministic_seconds:g} s of deterministic time.",
                    mend="Allow more with `--time-limit`.",
                )
            break
        best = rows.read(solver)
        verify_placement(problem, best)
        value = round(solver.objective_value)
        bound = ceil(solver.best_objective_bound - _GUARD) if isfinite(solver.best_objective_bound) else 0
        stages.append(Stage(name, value, value if status == "optimal" else min(value, bound)))
        rows.model.add(expression <= value)
        rows.hint(solver)
    assert best is not None
    return Found(best, _final(problem, best, stages), rows.complete)


def _final(problem: Problem, placement: Placement, stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """Return the stages with what the last placement costs: one that was not proven may have become better."""
    costs = dict(zip(("devices", "price", "risk"), placement.costs(problem), strict=True))
    return tuple(Stage(stage.objective, costs.get(stage.objective, stage.value), stage.bound) for stage in stages)
