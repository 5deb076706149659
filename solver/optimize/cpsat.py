"""Single solves by CP-SAT: counts of units by option, one objective, some limits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite
from typing import Literal

from ortools.sat.python import cp_model

from solver.errors import LimitReachedError, VerificationError
from solver.optimize.kept_fronts import KeptFronts
from solver.optimize.problem import Counts, Problem, Proof
from solver.optimize.progress import Progress, Watch
from solver.optimize.reductions import divided, offset
from solver.optimize.stopping import SearchInterrupted, solve

Objective = Literal["bytes", "risk", "time"]
OBJECTIVES: tuple[Objective, ...] = ("bytes", "risk", "time")

_BOUND_GUARD = 1e-6
_SCORE_STEPS = 10**6
"""Scores are rounded down to so many steps of their limit: small numbers propagate fast, and no assignment is lost."""
_FLOAT_EXACT = 2**53
"""The solver reports objectives as floats: a row may not sum beyond what they hold exactly."""


@dataclass(frozen=True, slots=True)
class SolverSettings:
    """What makes a run repeatable: one worker, a seed and deterministic time."""

    seed: int = 0
    deterministic_seconds: float = 30.0

    merge_work: int = 30_000_000
    """Points that the stages of one merge may have together (a 405B model's have 3 million); beyond, it is sampled."""

    points_between: int = 8
    """Points sought between the ends of a row whose front no merge gives."""

    watch: Watch | None = None
    """Told how far a search is."""

    fronts: KeptFronts | None = None
    """Where fronts are kept that other budgets share."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The best counts found for one objective, and how far that is proven."""

    counts: Counts
    proof: Proof


def _coefficients(problem: Problem, axis: int) -> list[list[int]]:
    return [[option.vector[axis] for option in unit_class.options] for unit_class in problem.classes]


@dataclass(frozen=True, slots=True)
class Known:
    """What the limits imply anyway, and what proofs are faster with: a price of bytes and a bound that is proven."""

    price: tuple[int, int]
    """p and q: the score of an option is p * bytes + q * its cost in `priced`."""
    priced: Objective
    bound: int | None
    """No assignment within the limits has less of the objective."""


class CountModel:
    """Integer counts by class and option, with linear rows over them."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._counts = [unit_class.count for unit_class in problem.classes]
        self.model = cp_model.CpModel()
        self.taken = [
            [self.model.new_int_var(0, unit_class.count, f"{number}:{option.scheme}") for option in unit_class.options]
            for number, unit_class in enumerate(problem.classes)
        ]
        for variables, count in zip(self.taken, self._counts, strict=True):
            self.model.add(sum(variables) == count)

    def row(self, objective: Objective) -> tuple[cp_model.LinearExpr, int, int]:
        """Return the reduced expression of one cost, its offset (fixed part included) and its divisor."""
        axis = OBJECTIVES.index(objective)
        rows, base = offset(_coefficients(self._problem, axis), self._counts)
        rows, divisor = divided(rows)
        if sum(max(row) * count for row, count in zip(rows, self._counts, strict=True)) >= _FLOAT_EXACT:
            raise OverflowError(f"the {objective} row sums beyond 2^53")
        terms = [variable for variables in self.taken for variable in variables]
        weights = [value for row in rows for value in row]
        return cp_model.LinearExpr.weighted_sum(terms, weights), base + self._problem.fixed[axis], divisor

    def limit(self, objective: Objective, at_most: int) -> bool:
        """Add `cost <= at_most`, and return whether that is possible at all."""
        expression, base, divisor = self.row(objective)
        left = (at_most - base) // divisor
        if left < 0:
            return False
        self.model.add(expression <= min(left, _FLOAT_EXACT))
        return True

    def at_least(self, objective: Objective, bound: int) -> None:
        """Add `cost >= bound`, which no assignment within the limits is below anyway."""
        expression, base, divisor = self.row(objective)
        self.model.add(expression >= max(0, -((base - bound) // divisor)))

    def imply(self, known: Known, objective: Objective, limits: Mapping[Objective, int]) -> None:
        """Add what is known, as rows that no assignment within the limits breaks."""
        axis, (p, q) = OBJECTIVES.index(known.priced), known.price
        scores = [
            [p * option.size_bytes + q * option.vector[axis] for option in part.options]
            for part in self._problem.classes
        ]
        rows, base = offset(scores, self._counts)
        fixed = self._problem.fixed
        left = p * (limits["bytes"] - fixed[0]) + q * (limits[known.priced] - fixed[axis]) - base
        step = left // _SCORE_STEPS + 1
        terms = [variable for variables in self.taken for variable in variables]
        weights = [min(score, left + step) // step for row in rows for score in row]
        self.model.add(cp_model.LinearExpr.weighted_sum(terms, weights) <= left // step)
        if known.bound is not None:
            self.at_least(objective, known.bound)


Shape = Callable[[CountModel], None]
"""Adds rows to a model."""


def new_solver(settings: SolverSettings) -> cp_model.CpSolver:
    """Return a solver with the parameters that every solve of this package has."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = settings.seed
    solver.parameters.max_deterministic_time = settings.deterministic_seconds
    solver.parameters.relative_gap_limit = 0.0
    solver.parameters.absolute_gap_limit = 0.0
    # CP-SAT's own handler stays installed after the solve and would end the process at the next interrupt.
    solver.parameters.catch_sigint_signal = False
    # Avoids a presolve that overflows on rows like ours (google/or-tools issue 5293), and is faster on them.
    solver.parameters.presolve_inclusion_work_limit = 0
    return solver


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a search ended: `optimal`, `feasible`, `infeasible` or `unknown`; what it found, and a bound on the rest."""

    status: str
    counts: Counts | None
    bound: int | None
    """No assignment within the limits has less; None if there is none, or nothing was proven."""
    interrupted: bool = False


class _Reporter(cp_model.CpSolverSolutionCallback):
    """Tells each better answer, with the bound of that moment."""

    def __init__(self, watch: Watch, objective: Objective, base: int, divisor: int) -> None:
        super().__init__()
        self._watch, self._objective, self._base, self._divisor = watch, objective, base, divisor

    def on_solution_callback(self) -> None:
        """Report the answer that was just found."""
        value = self._base + self._divisor * round(self.objective_value)
        bound = self._base + self._divisor * ceil(self.best_objective_bound - _BOUND_GUARD)
        self._watch(Progress(0, 0, Proof("feasible", self._objective, value, min(value, bound))))


def search(
    problem: Problem,
    objective: Objective,
    limits: Mapping[Objective, int],
    settings: SolverSettings,
    shapes: Sequence[Shape] = (),
    known: Known | None = None,
    bound: int | None = None,
) -> Outcome:
    """Search for the counts with the least `objective` within `limits`, however far that leads.

    Limits and bounds are exact and include the problem's fixed part; bytes are those of weights. `shapes` add rows of
    their own. What is `known` of the limits on the bytes and on what is priced shortens the search, and so does a
    `bound` that nothing within the limits is below. An interrupt ends it early.
    """
    model = CountModel(problem)
    if not all(model.limit(name, at_most) for name, at_most in limits.items()):
        return Outcome("infeasible", None, None)
    for shape in shapes:
        shape(model)
    if bound is not None:
        model.at_least(objective, bound)
    expression, base, divisor = model.row(objective)
    model.model.minimize(expression)
    solver = new_solver(settings)
    if known is not None:
        model.imply(known, objective, limits)
        # Sums over all options teach probing nothing about one of them, and it takes longer than all the rest.
        solver.parameters.cp_model_probing_level = 0
    reporter = None if settings.watch is None else _Reporter(settings.watch, objective, base, divisor)
    status, interrupted = solve(solver, model.model, reporter)
    if status not in {"optimal", "feasible", "infeasible", "unknown"}:
        raise VerificationError(f"CP-SAT calls a model of counts {status}")
    if status == "infeasible":
        return Outcome(status, None, None, interrupted)
    # Values are integers, so that a bound may be rounded up; the guard is for its being a float.
    reported = ceil(solver.best_objective_bound - _BOUND_GUARD) if isfinite(solver.best_objective_bound) else 0
    proven = base + divisor * max(0, reported)
    if status == "unknown":
        return Outcome(status, None, proven, interrupted)
    counts = tuple(tuple(int(solver.value(variable)) for variable in variables) for variables in model.taken)
    value = problem.vector(counts)[OBJECTIVES.index(objective)]
    return Outcome(status, counts, value if status == "optimal" else proven, interrupted)


def minimize(
    problem: Problem,
    objective: Objective,
    limits: Mapping[Objective, int],
    settings: SolverSettings,
    shapes: Sequence[Shape] = (),
    bound: int | None = None,
    start: Counts | None = None,
) -> Answer | None:
    """Return the counts with the least `objective` within `limits`, or None if no counts keep them.

    `start` are counts within them: the answer where the search is ended before it has another.

    Raises
    ------
    LimitReachedError
        If the time limit ended the search before it had an answer.
    SearchInterrupted
        If an interrupt ended it; it has the answer so far.
    VerificationError
        If CP-SAT finds that nothing keeps the limits, though the start does.

    """
    outcome = search(problem, objective, limits, settings, shapes, bound=bound)
    if start is not None and outcome.counts is None:
        if outcome.status == "infeasible":
            raise VerificationError(f"CP-SAT finds nothing within {dict(limits)}, where there is an assignment")
        outcome = replace(outcome, status="feasible", counts=start)
    answer = _answer(problem, objective, outcome)
    if outcome.interrupted:
        raise SearchInterrupted(answer)
    if outcome.status == "infeasible":
        return None
    if answer is None:
        raise limit_reached("no plan was found", settings)
    return answer


def limit_reached(what: str, settings: SolverSettings) -> LimitReachedError:
    """Return the error that the time limit ended a solve before something was known."""
    return LimitReachedError(
        f"{what} within {settings.deterministic_seconds:g} s of deterministic time.",
        mend="Allow more with `--time-limit`.",
    )


def _answer(problem: Problem, objective: Objective, outcome: Outcome) -> Answer | None:
    if outcome.counts is None or outcome.bound is None:
        return None
    value = problem.vector(outcome.counts)[OBJECTIVES.index(objective)]
    if outcome.bound > value:
        raise VerificationError(f"CP-SAT bounds the {objective} by {outcome.bound}, above the {value} of an assignment")
    status = "optimal" if outcome.bound == value else outcome.status
    return Answer(outcome.counts, Proof(status, objective, value, outcome.bound))
