"""One case of the optimizer's bench: a problem, a budget, and what each solver makes of it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bench.baselines import BASELINES, Run, Solve
from bench.instances import Shape, analysis, build, drawn, limits, sampled
from solver.errors import LimitReachedError
from solver.optimize.cpsat import SolverSettings
from solver.optimize.merge import FrontTooLargeError, MergedFront
from solver.optimize.points import lexicographic
from solver.optimize.problem import Problem

MANY_UNITS = 2_000
"""Unequal units from which on the planner is to be ten times as fast as CBC."""

LEAD = 10
_LONGEST_SECONDS = 60.0
_QUICK_SECONDS = 0.5
_REPEATS = 3

Verdict = Literal["proven", "not proven", "worse", "better", "over the limit", "no plan"]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What another solver did with a case; `early_risk` is the risk that it had when the planner had its proof."""

    run: Run
    verdict: Verdict
    early_risk: int | None


@dataclass(frozen=True, slots=True)
class Case:
    """A problem at one budget, solved by all; `options` are those of its unequal units.

    `front_points` is None where the planner gives up merging, after `front_seconds`.
    """

    shape: str
    sensitivities: str
    units: int
    unequal_units: int
    options: int
    percent: int
    build_seconds: float
    front_points: int | None
    front_seconds: float
    ours: Run
    risk: int | None
    baselines: Mapping[str, Baseline]

    @property
    def label(self) -> str:
        """Model, sensitivities and budget."""
        return f"{self.shape} {self.sensitivities}, {self.percent} %"

    def gap(self, name: str) -> float | None:
        """Return how far above ours a baseline's risk was when we had the proof; None if it had no plan yet."""
        early = self.baselines[name].early_risk
        return None if early is None or self.risk is None else (early - self.risk) / max(1, self.risk)


def solve_ours(problem: Problem, limit: int, _seconds: float) -> Run:
    """Solve as the planner does for one budget: the least risk, then the least bytes at it, within its own limit."""
    start = time.perf_counter()
    try:
        point = lexicographic(problem, limit, ("risk", "bytes"), SolverSettings())
    except LimitReachedError:
        point = None
    taken = time.perf_counter() - start
    if point is None:
        return Run(0.0, taken, claims_optimum=False, counts=None)
    return Run(0.0, taken, claims_optimum=point.proof.status == "optimal", counts=point.counts)


def quickest(solve: Solve, problem: Problem, limit: int, seconds: float) -> Run:
    """Return the quickest of some runs; slow ones are run once."""
    best = solve(problem, limit, seconds)
    for _ in range(_REPEATS - 1):
        if best.seconds > _QUICK_SECONDS:
            break
        best = min(best, solve(problem, limit, seconds), key=lambda run: run.seconds)
    return best


def risk_within(problem: Problem, limit: int, run: Run) -> int | None:
    """Return the exact risk of a run's answer, or None if it has none within the limit."""
    if run.counts is None:
        return None
    size, risk, _ = problem.vector(run.counts)
    return risk if size <= limit else None


def judge(problem: Problem, limit: int, run: Run, proven: int | None) -> Verdict:
    """Return what a baseline's answer is in exact integers, beside the risk that the planner has proven."""
    if run.counts is None:
        return "no plan"
    risk = risk_within(problem, limit, run)
    if risk is None:
        return "over the limit"
    if proven is not None and risk < proven:
        return "better"
    if not run.claims_optimum:
        return "not proven"
    return "worse" if proven is not None and risk > proven else "proven"


def _early_risk(solve: Solve, problem: Problem, limit: int, run: Run, seconds: float) -> int | None:
    """Return the risk that a baseline has found after some seconds, its hand-off among them."""
    if run.seconds > seconds:
        if run.hand_off_seconds >= seconds:
            return None
        run = solve(problem, limit, seconds - run.hand_off_seconds)
    return risk_within(problem, limit, run)


def _compare(name: str, problem: Problem, limit: int, ours: Run, seconds: float) -> Baseline:
    """Run a baseline for long enough to tell whether the planner keeps its lead, and judge it."""
    many = name == "CBC" and len(problem.classes) >= MANY_UNITS
    needed = min(_LONGEST_SECONDS, ours.seconds * (LEAD if many else 1))
    run = quickest(BASELINES[name], problem, limit, max(seconds, needed))
    proven = risk_within(problem, limit, ours) if ours.claims_optimum else None
    early = _early_risk(BASELINES[name], problem, limit, run, ours.seconds)
    return Baseline(run, judge(problem, limit, run, proven), early)


def _front(problem: Problem) -> tuple[int | None, float]:
    """Return the points of the whole front, None if they are more than the planner merges, and the seconds."""
    start = time.perf_counter()
    try:
        points = len(MergedFront(problem, limits(problem, (100,))[100], most_work=SolverSettings().merge_work))
    except FrontTooLargeError:
        points = None
    return points, time.perf_counter() - start


def measure(shape: Shape, percents: Sequence[int], seconds: float, *, most_units: int | None = None) -> Iterator[Case]:
    """Yield the cases of one shape: both sensitivities at each budget, in percent from the smallest to the safest plan.

    A baseline may take `seconds`, or more where that decides whether the planner is ahead. `most_units` cuts the
    shape down.
    """
    found = analysis(shape.model)
    start = time.perf_counter()
    prior = build(shape, found)
    build_seconds = time.perf_counter() - start
    prior = prior if most_units is None else sampled(prior, most_units)
    for sensitivities, problem in (("prior", prior), ("drawn", drawn(prior))):
        front_points, front_seconds = _front(problem)
        for percent, limit in limits(problem, percents).items():
            ours = quickest(solve_ours, problem, limit, seconds)
            yield Case(
                shape=shape.name,
                sensitivities=sensitivities,
                units=sum(part.count for part in problem.classes),
                unequal_units=len(problem.classes),
                options=sum(len(part.options) for part in problem.classes),
                percent=percent,
                build_seconds=build_seconds,
                front_points=front_points,
                front_seconds=front_seconds,
                ours=ours,
                risk=risk_within(problem, limit, ours),
                baselines={name: _compare(name, problem, limit, ours, seconds) for name in BASELINES},
            )
