"""The least point within a limit on bytes, one objective after the other, where units share nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter

from solver.optimize.cpsat import OBJECTIVES, Answer, Objective, SolverSettings
from solver.optimize.fixing import Fixing
from solver.optimize.least import least
from solver.optimize.problem import Counts, Point, Problem, Proof
from solver.optimize.stopping import SearchInterrupted

_FEW_CLASSES = 32
"""Up to here CP-SAT is done sooner than a merge that would give it a better start."""

_EFFORTS = ((0, 0.05), (1000, 5.0), (4000, None))
"""Units that a merge may change before the search, and what that may then take of the deterministic seconds."""


def _unlimited(problem: Problem, order: Sequence[Objective]) -> Counts:
    """Return what is least in the order if nothing is limited: each class has the best of its own options."""
    wanted = itemgetter(*(OBJECTIVES.index(objective) for objective in order))
    counts = []
    for part in problem.classes:
        vectors = [option.vector for option in part.options]
        best = vectors.index(min(vectors, key=wanted))
        counts.append((*(0,) * best, part.count, *(0,) * (len(vectors) - best - 1)))
    return tuple(counts)


def _first(fixing: Fixing, limits: Mapping[Objective, int], settings: SolverSettings) -> Answer:
    """Return what is least in the objective that the problem was fixed for, with little effort first."""
    few = len(fixing.problem.classes) <= _FEW_CLASSES
    for units, seconds in _EFFORTS if few else _EFFORTS[1:]:
        if units:
            fixing.fill(units)
        part = settings.deterministic_seconds if seconds is None else min(seconds, settings.deterministic_seconds)
        answer = least(fixing, fixing.start, fixing.objective, limits, replace(settings, deterministic_seconds=part))
        if answer.proof.status == "optimal":
            break
    return answer


def least_in_order(
    problem: Problem, weights_limit: int | None, order: Sequence[Objective], settings: SolverSettings
) -> Point | None:
    """Return the point that is least in the first objective, then in the next ones, within the limit.

    `weights_limit` bounds the bytes of weights on one device; None is no limit. None if nothing fits. The proof
    is that of the first objective, or of the first stage that could not be proven. Each stage may take the time limit;
    one that it ends leaves the point unproven, and so does an interrupt.

    Raises
    ------
    SearchInterrupted
        At an interrupt; it has the point so far.
    """
    counts = _unlimited(problem, order)
    vector = problem.vector(counts)
    if weights_limit is None or vector[0] <= weights_limit:
        value = vector[OBJECTIVES.index(order[0])]
        return Point(problem, counts, vector, Proof("optimal", order[0], value, value))
    if problem.vector(_unlimited(problem, ("bytes",)))[0] > weights_limit:
        return None
    answers: list[Answer] = []
    try:
        _stages(Fixing(problem, order[0], weights_limit), weights_limit, order, settings, answers)
    except KeyboardInterrupt as interrupt:
        raise stopped_at(problem, answers, interrupt) from None
    return point_of(problem, answers)


def _stages(
    fixing: Fixing, weights_limit: int, order: Sequence[Objective], settings: SolverSettings, answers: list[Answer]
) -> None:
    """Append the answer of each stage."""
    limits: dict[Objective, int] = {"bytes": weights_limit}
    answers.append(_first(fixing, limits, settings))
    for before, objective in pairwise(order):
        limits[before] = answers[-1].proof.value
        answers.append(least(fixing, answers[-1].counts, objective, limits, settings))


def point_of(problem: Problem, answers: Sequence[Answer]) -> Point:
    """Return the point of the last answer; its proof is that of the first stage that is not proven, or the first."""
    counts, proofs = answers[-1].counts, [answer.proof for answer in answers]
    proof = next((proof for proof in proofs if proof.status != "optimal"), proofs[0])
    return Point(problem, counts, problem.vector(counts), proof)


def stopped_at(problem: Problem, answers: Sequence[Answer], interrupt: KeyboardInterrupt) -> SearchInterrupted:
    """Return an interrupt with the point so far: of the stages that are done, and of the one that it ended."""
    stop = SearchInterrupted.of(interrupt)
    found = [*answers, *([] if stop.answer is None else [stop.answer])]
    stop.point = point_of(problem, found) if found else None
    return stop
