"""The fewest patterns that write a plan, chosen by CP-SAT among candidates.

A plan is a decision list: the first pattern that matches a layer decides it. Patterns lie on levels that are read one
after another; where two of one level match a layer, both are right or an earlier level has decided it. Every list can
be laid out on as many levels as patterns contradict each other in a row, of which there may be `LEVELS`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ortools.sat.python import cp_model

from solver.catalog import NATIVE
from solver.optimize.cpsat import SolverSettings, new_solver
from solver.plan.candidates import Candidate
from solver.plan.rows import Rows
from solver.rules.kv_entries import names_attention, names_pattern

LEVELS = 3
DETERMINISTIC_SECONDS = 0.3
MOST_WORK = 30_000
"""Candidates times layers that differ to them: beyond, a search would take longer than the plan itself."""
_PATTERN = 10**9
_LETTER = 10**4
"""What one more pattern and one more letter cost; the place in the alphabet adds to it."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Patterns in the order in which they are read."""

    global_scheme: str
    excludes: tuple[str, ...]
    entries: dict[str, str]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was found within the limits, and whether it is proven that there is nothing with fewer patterns."""

    selection: Selection | None
    proven: bool


@dataclass(frozen=True)
class Task:
    """What to write: layers, candidates, schemes that may be global, and the schemes of KV patterns that Quark sets."""

    rows: Rows
    candidates: Sequence[Candidate]
    globals: Sequence[str]
    kv: Mapping[str, str]
    """Scheme by KV pattern, of those that are quantized; empty without an fp8 cache."""

    @cached_property
    def classes(self) -> list[tuple[int, str]]:
        """One layer of each set that no candidate tells apart, with its scheme."""
        return list(_classes(self))


class _Model:
    """One boolean for each candidate on each level that it may lie on, and one for each global scheme."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.model = cp_model.CpModel()
        self.globals = {name: self.model.new_bool_var(name) for name in task.globals}
        self.model.add_exactly_one(self.globals.values())
        self.at: list[list[cp_model.IntVar]] = []
        for number, candidate in enumerate(task.candidates):
            levels = range(LEVELS) if candidate.wrong else range(1)
            self.at.append([self.model.new_bool_var(f"{number}@{level}") for level in levels])
        self.layers = [(number, c) for number, c in enumerate(task.candidates) if c.scheme != NATIVE]
        self._once()
        self._layers_are_right()
        self._cache_is_right()
        self._minimize()

    def _minimize(self) -> None:
        """Prefer fewer patterns, then shorter ones, then those that come first in the alphabet."""
        places = {c.pattern: place for place, c in enumerate(sorted(self.task.candidates, key=lambda c: c.pattern))}
        costs = [_PATTERN + _LETTER * c.rank[0] + places[c.pattern] for c in self.task.candidates]
        variables = [var for levels in self.at for var in levels]
        weights = [cost for cost, levels in zip(costs, self.at, strict=True) for _ in levels]
        self.model.minimize(cp_model.LinearExpr.weighted_sum(variables, weights))

    def _once(self) -> None:
        by_pattern: dict[str, list[cp_model.IntVar]] = {}
        for number, candidate in self.layers:
            by_pattern.setdefault(candidate.pattern, []).extend(self.at[number])
        for variables in by_pattern.values():
            if len(variables) > 1:
                self.model.add_at_most_one(variables)

    def _before(self, numbers: Sequence[int], level: int) -> list[cp_model.IntVar]:
        return [var for number in numbers for var in self.at[number][:level]]

    def _precede(self, wrong: int, right: Sequence[int]) -> None:
        """Require of each level that a candidate lies on that one which is right lies on an earlier one."""
        for level, variable in enumerate(self.at[wrong]):
            self.model.add_bool_or([variable.negated(), *self._before(right, level)])

    def _layers_are_right(self) -> None:
        for bits, scheme in self.task.classes:
            right = [n for n, c in enumerate(self.task.candidates) if c.scheme == scheme and c.right & bits]
            if scheme == NATIVE:
                self.model.add_bool_or([var for number in right for var in self.at[number]])
                continue
            chosen = [var for number in right for var in self.at[number]]
            self.model.add_bool_or([*chosen, *([self.globals[scheme]] if scheme in self.globals else [])])
            for number, candidate in self.layers:
                if candidate.wrong & bits:
                    self._precede(number, right)

    def _cache_is_right(self) -> None:
        patterns = list(self.task.kv)
        for place, (pattern, scheme) in enumerate(self.task.kv.items()):
            named = [(n, c.scheme) for n, c in self.layers if names_pattern(c.pattern, pattern)]
            others = [
                (n, c.scheme)
                for n, c in self.layers
                if not names_pattern(c.pattern, pattern) and names_attention(c.pattern, pattern)
            ]
            right_named = [n for n, name in named if name == scheme]
            right_others = [n for n, name in others if name == scheme]
            sure = [var for number in right_named for var in self.at[number]]
            for number, name in named:
                if name != scheme:
                    self._ordered(number, right_named)
            for number, name in others:
                if name != scheme:
                    self._ordered(number, right_others, sure)
            covered = [*sure, *(var for number in right_others for var in self.at[number])]
            # What no entry decides has what Quark wrote of an earlier KV pattern that it finds, else the global scheme.
            earlier = next((self.task.kv[p] for p in patterns[:place] if names_attention(p, pattern)), None)
            if earlier is None and scheme in self.globals:
                covered.append(self.globals[scheme])
            if earlier != scheme:
                self.model.add_bool_or(covered)

    def _ordered(self, wrong: int, right: Sequence[int], sure: Sequence[cp_model.IntVar] = ()) -> None:
        for level, variable in enumerate(self.at[wrong]):
            self.model.add_bool_or([variable.negated(), *sure, *self._before(right, level)])


def _classes(task: Task) -> Iterator[tuple[int, str]]:
    for scheme, bits in task.rows.by_scheme.items():
        parts = [bits] if bits else []
        for candidate in task.candidates:
            mask = candidate.right | candidate.wrong
            parts = [piece for part in parts for piece in (part & mask, part & ~mask) if piece]
        for part in parts:
            yield part & -part, scheme


def choose(task: Task, *, at_most: int | None = None, seconds: float | None = None) -> Chosen:
    """Return the fewest candidates that give every layer its scheme, whole words and short ones first.

    One worker and deterministic time make the answer the same on every machine.

    Parameters
    ----------
    at_most
        Patterns that there may be; None for any number.
    seconds
        Deterministic time that the search may take; `DETERMINISTIC_SECONDS` where None.

    """
    if len(task.candidates) * len(task.classes) > MOST_WORK:
        return Chosen(None, proven=False)
    model = _Model(task)
    if at_most is not None:
        model.model.add(sum(var for levels in model.at for var in levels) <= at_most)
    solver = new_solver(SolverSettings(deterministic_seconds=DETERMINISTIC_SECONDS if seconds is None else seconds))
    status = solver.status_name(solver.solve(model.model)).lower()
    if status not in {"optimal", "feasible"}:
        return Chosen(None, proven=status == "infeasible")
    chosen = sorted(
        (level, candidate.rank, candidate.scheme)
        for candidate, levels in zip(task.candidates, model.at, strict=True)
        for level, variable in enumerate(levels)
        if solver.boolean_value(variable)
    )
    selection = Selection(
        global_scheme=next(name for name, variable in model.globals.items() if solver.boolean_value(variable)),
        excludes=tuple(pattern for _, (_, pattern), scheme in chosen if scheme == NATIVE),
        entries={pattern: scheme for _, (_, pattern), scheme in chosen if scheme != NATIVE},
    )
    return Chosen(selection, proven=solver.best_objective_bound > _PATTERN * (len(chosen) - 1) + _PATTERN / 2)
