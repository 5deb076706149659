"""Chooses options and places replicas by CP-SAT: fewest devices or the lowest price first, then the least risk.

Alike devices of a node, and alike nodes, are used in order. A replica's devices are any of one node, each
holds at most one shard of a model.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, isfinite

from ortools.sat.python import cp_model

from solver.capacity.problem import Option, Placement, Problem
from solver.capacity.speed import WHOLE
from solver.capacity.verify import verify_placement
from solver.errors import BadInputError, LimitReachedError, VerificationError
from solver.optimize.cpsat import SolverSettings, new_solver

_GUARD = 1e-6
_FLOAT_EXACT = 2**53


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


def _total(terms: list[tuple[cp_model.IntVar, int]]) -> cp_model.LinearExprT:
    return cp_model.LinearExpr.weighted_sum([variable for variable, _ in terms], [weight for _, weight in terms])


@dataclass
class _Model:
    """The rows of a problem."""

    problem: Problem
    model: cp_model.CpModel = field(default_factory=cp_model.CpModel)

    def __post_init__(self) -> None:
        problem, new = self.problem, self.model.new_bool_var
        self.taken = [
            [new(f"m{number}o{index}") for index in range(len(options))]
            for number, options in enumerate(problem.options)
        ]
        self.place = {
            (number, node.number, device): new(f"m{number}n{node.number}d{device}")
            for number in range(len(problem.options))
            for node in problem.nodes
            for device in range(node.devices)
        }
        self.used = {
            (node.number, device): new(f"n{node.number}d{device}")
            for node in problem.nodes
            for device in range(node.devices)
        }
        self.count: dict[tuple[int, int, int], cp_model.IntVar] = {}
        for number, options in enumerate(problem.options):
            self.model.add_exactly_one(self.taken[number])
            self._replicas(number, options)
        self._loads()
        self._order()
        self._aggregate()

    def _replicas(self, number: int, options: tuple[Option, ...]) -> None:
        """Add how many replicas each node has, and that enough of them stay whatever nodes are lost."""
        totals = []
        for node in self.problem.nodes:
            here = {option.tensor_parallel for option in options if option.kind == node.kind}
            for devices in sorted(here):
                most = node.devices // devices
                count = self.model.new_int_var(0, most, f"m{number}n{node.number}t{devices}")
                chosen = [
                    taken
                    for taken, option in zip(self.taken[number], options, strict=True)
                    if (option.kind, option.tensor_parallel) == (node.kind, devices)
                ]
                self.model.add(count <= most * sum(chosen))
                self.count[number, node.number, devices] = count
            counts = [(self.count[number, node.number, devices], devices) for devices in sorted(here)]
            held = [self.place[number, node.number, device] for device in range(node.devices)]
            self.model.add(sum(held) == (_total(counts) if counts else 0))
            totals.append(sum(count for count, _ in counts) if counts else 0)
        needed = _total([(taken, option.replicas) for taken, option in zip(self.taken[number], options, strict=True)])
        if not self.problem.survive:
            self.model.add(sum(totals) == needed)
            return
        # The nodes with the most replicas are the worst to lose: survive * level + what is above the level.
        largest = max(node.devices for node in self.problem.nodes)
        level = self.model.new_int_var(0, largest, f"m{number}level")
        above = [self.model.new_int_var(0, largest, f"m{number}n{node.number}above") for node in self.problem.nodes]
        for total, over in zip(totals, above, strict=True):
            self.model.add(over >= total - level)
        self.model.add(sum(totals) - self.problem.survive * level - sum(above) >= needed)

    def _loads(self) -> None:
        """Add that everything on a device fits its memory, and its time."""
        problem = self.problem
        sizes, times = [], []
        for number, options in enumerate(problem.options):
            pairs = list(zip(self.taken[number], options, strict=True))
            sizes.append((_total([(taken, option.size_bytes) for taken, option in pairs]), options))
            times.append((_total([(taken, option.busy) for taken, option in pairs]), options))
        for node in problem.nodes:
            for device in range(node.devices):
                used = self.used[node.number, device]
                for loads, limit in ((sizes, node.usable_bytes), (times, WHOLE)):
                    held = []
                    for number, (load, _) in enumerate(loads):
                        place = self.place[number, node.number, device]
                        part = self.model.new_int_var(0, limit, "")
                        self.model.add(part == load).only_enforce_if(place)
                        self.model.add(part == 0).only_enforce_if(place.negated())
                        held.append(part)
                    self.model.add(sum(held) <= limit * used)
                for number in range(len(problem.options)):
                    self.model.add_implication(self.place[number, node.number, device], used)

    def _order(self) -> None:
        """Add that alike devices and nodes are used in order: no placement is lost but for their names."""
        previous: dict[tuple[int, ...], cp_model.LinearExprT] = {}
        for node in self.problem.nodes:
            used = [self.used[node.number, device] for device in range(node.devices)]
            for first, second in pairwise(used):
                self.model.add_implication(second, first)
            total = sum(used)
            if node.alike in previous:
                self.model.add(previous[node.alike] >= total)
            previous[node.alike] = total

    def _aggregate(self) -> None:
        """Add what follows for all devices of a kind together: bounds are close where these rows are there."""
        problem = self.problem
        for kind in {node.kind for node in problem.nodes}:
            nodes = [node for node in problem.nodes if node.kind == kind]
            used = [(self.used[node.number, d], node) for node in nodes for d in range(node.devices)]
            parts = [
                (taken, option)
                for number, options in enumerate(problem.options)
                for taken, option in zip(self.taken[number], options, strict=True)
                if option.kind == kind
            ]
            if sum(node.devices * node.usable_bytes for node in nodes) >= _FLOAT_EXACT:
                raise BadInputError("the bytes of all nodes together exceed 2^53.", where="nodes", mend="Split it.")
            held = _total([(taken, option.shards * option.size_bytes) for taken, option in parts])
            self.model.add(held <= _total([(variable, node.usable_bytes) for variable, node in used]))
            busy = _total([(taken, option.shards * option.busy) for taken, option in parts])
            self.model.add(busy <= _total([(variable, WHOLE) for variable, _ in used]))

    def price(self) -> cp_model.LinearExprT:
        """Return the price of the nodes in use; their first devices are."""
        return _total([(self.used[node.number, 0], node.price) for node in self.problem.nodes])

    def risk(self) -> cp_model.LinearExprT:
        """Return the weighted risk."""
        terms = [
            (taken, weight * option.risk)
            for taken_of, options, weight in zip(self.taken, self.problem.options, self.problem.weights, strict=True)
            for taken, option in zip(taken_of, options, strict=True)
        ]
        return _total(terms)

    def work(self) -> cp_model.LinearExprT:
        """Return what decides between equals: the fewest shards, then the options that are listed first."""
        ranks = [(taken, rank) for taken_of in self.taken for rank, taken in enumerate(taken_of)]
        scale = sum(len(taken_of) for taken_of in self.taken) + 1
        shards = [(count, scale * devices) for (_, _, devices), count in self.count.items()]
        return _total([*shards, *ranks])

    def hint(self, solver: cp_model.CpSolver) -> None:
        """Begin the next solve with this solution."""
        del self.model.proto.solution_hint.vars[:]
        del self.model.proto.solution_hint.values[:]
        for index in range(len(self.model.proto.variables)):
            variable = self.model.get_int_var_from_proto_index(index)
            self.model.add_hint(variable, solver.value(variable))

    def read(self, solver: cp_model.CpSolver) -> Placement:
        """Return the placement of a solution, each model's devices dealt out in order."""
        chosen, replicas = [], []
        for number, options in enumerate(self.problem.options):
            index = next(index for index, taken in enumerate(self.taken[number]) if solver.value(taken))
            devices, placed = options[index].tensor_parallel, []
            for node in self.problem.nodes:
                held = [d for d in range(node.devices) if solver.value(self.place[number, node.number, d])]
                placed += [(node.number, tuple(held[at : at + devices])) for at in range(0, len(held), devices)]
            chosen.append(index)
            replicas.append(tuple(placed))
        return Placement(tuple(chosen), tuple(replicas))


def _solve(rows: _Model, settings: SolverSettings) -> tuple[str, cp_model.CpSolver]:
    solver = new_solver(settings)
    status = solver.status_name(solver.solve(rows.model)).lower()
    if status not in {"optimal", "feasible", "infeasible", "unknown"}:
        raise VerificationError(f"CP-SAT calls a model of placements {status}")
    return status, solver


def fits(problem: Problem, settings: SolverSettings) -> bool | None:
    """Return whether there is any placement; None if the time limit ended the search before that was known."""
    if not all(problem.options):
        return False
    rows = _Model(problem)
    status, solver = _solve(rows, settings)
    if status in {"optimal", "feasible"}:
        verify_placement(problem, rows.read(solver))
    return None if status == "unknown" else status != "infeasible"


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
    rows = _Model(problem)
    devices = sum(rows.used.values())
    first = (problem.minimized, rows.price() if problem.minimized == "price" else devices)
    last = [("devices", devices)] if problem.minimized == "price" else []
    best: Placement | None = None
    stages = []
    for name, expression in (first, ("risk", rows.risk()), *last, ("work", rows.work())):
        rows.model.minimize(expression)
        status, solver = _solve(rows, settings)
        if status == "infeasible" and best is None:
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
    return Found(best, tuple(stages))
