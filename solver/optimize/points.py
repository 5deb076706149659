"""Proven single points over all rows of settings: the smallest, the fastest, those with one scheme everywhere."""

from collections.abc import Sequence
from operator import itemgetter

from solver.catalog import NATIVE
from solver.optimize.cpsat import OBJECTIVES, Objective, SolverSettings
from solver.optimize.fixing import Fixing
from solver.optimize.least import least
from solver.optimize.problem import Budget, Counts, Point, Problem, Proof
from solver.optimize.verify import verify_point


def _unlimited(problem: Problem, order: Sequence[Objective]) -> Counts:
    """Return what is least in the order if nothing is limited: each class has the best of its own options."""
    wanted = itemgetter(*(OBJECTIVES.index(objective) for objective in order))
    counts = []
    for part in problem.classes:
        vectors = [option.vector for option in part.options]
        best = vectors.index(min(vectors, key=wanted))
        counts.append((*(0,) * best, part.count, *(0,) * (len(vectors) - best - 1)))
    return tuple(counts)


def lexicographic(
    problem: Problem, weights_limit: int | None, order: Sequence[Objective], settings: SolverSettings
) -> Point | None:
    """Return the point that is least in the first objective, then in the next ones, within the limit.

    `weights_limit` bounds the bytes of weights on one device; None is no limit. None if nothing fits. The proof
    is that of the first objective, or of the first stage that could not be proven. Each stage may take the time limit;
    one that it ends leaves the point unproven.
    """
    counts = _unlimited(problem, order)
    vector = problem.vector(counts)
    if weights_limit is None or vector[0] <= weights_limit:
        value = vector[OBJECTIVES.index(order[0])]
        return Point(problem, counts, vector, Proof("optimal", order[0], value, value))
    if problem.vector(_unlimited(problem, ("bytes",)))[0] > weights_limit:
        return None
    fixing = Fixing(problem, order[0], weights_limit)
    limits: dict[Objective, int] = {"bytes": weights_limit}
    counts, proofs = fixing.start, []
    for objective in order:
        answer = least(fixing, counts, objective, limits, settings)
        counts, limits[objective] = answer.counts, answer.proof.value
        proofs.append(answer.proof)
    proof = next((proof for proof in proofs if proof.status != "optimal"), proofs[0])
    return Point(problem, counts, problem.vector(counts), proof)


def smallest_of_all(problems: Sequence[Problem], settings: SolverSettings) -> Point:
    """Return the point with the least bytes on one device, whatever the budget."""
    found = [lexicographic(problem, None, ("bytes", "risk"), settings) for problem in problems]
    return min((point for point in found if point is not None), key=lambda point: (point.total_bytes, point.risk))


def fastest(problems: Sequence[Problem], budget: Budget, settings: SolverSettings) -> Point | None:
    """Return the point with the shortest decoding step, then with the least risk, then bytes."""
    found = [
        point
        for problem in problems
        if (point := lexicographic(problem, budget.weights_limit(problem), ("time", "risk", "bytes"), settings))
        is not None
    ]
    best = min(found, key=lambda point: (point.decode_ticks, point.risk, point.total_bytes), default=None)
    if best is not None:
        verify_point(best, budget)
    return best


def uniform_points(problems: Sequence[Problem], budget: Budget) -> list[Point]:
    """Return the plans with one scheme wherever it may be and native elsewhere, best first.

    All of them are enumerated: the first is proven to be the least risky uniform plan within the budget.
    """
    points = []
    for problem in problems:
        for scheme in sorted({option.scheme for part in problem.classes for option in part.options} - {NATIVE}):
            counts = []
            for part in problem.classes:
                names = [option.scheme for option in part.options]
                chosen = scheme if scheme in names else NATIVE
                if chosen not in names:
                    break
                counts.append(tuple(part.count if name == chosen else 0 for name in names))
            else:
                vector = problem.vector(tuple(counts))
                proof = Proof("optimal", "risk", vector[1], vector[1])
                point = Point(problem, tuple(counts), vector, proof)
                if point.weights_bytes <= budget.weights_limit(problem):
                    verify_point(point, budget)
                    points.append(point)
    return sorted(points, key=lambda point: (point.risk, point.total_bytes))
