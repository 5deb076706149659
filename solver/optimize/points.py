"""Proven single points over all rows of settings: the smallest, the fastest, those with one scheme everywhere."""

from collections.abc import Sequence

from solver.catalog import NATIVE
from solver.optimize.cpsat import Objective, SolverSettings, minimize
from solver.optimize.problem import Budget, Point, Problem, Proof
from solver.optimize.verify import verify_point


def lexicographic(
    problem: Problem, weights_limit: int | None, order: Sequence[Objective], settings: SolverSettings
) -> Point | None:
    """Return the point that is least in the first objective, then in the next ones, within the limit.

    `weights_limit` bounds the bytes of weights on one device; None is no limit. None if nothing fits. The proof
    is that of the first objective, or of the first stage that could not be proven.
    """
    limits: dict[Objective, int] = {} if weights_limit is None else {"bytes": weights_limit}
    answer, proof = None, None
    for objective in order:
        found = minimize(problem, objective, limits, settings)
        if found is None:
            break
        answer = found
        limits[objective] = min(found.proof.value, limits.get(objective, found.proof.value))
        if proof is None or (proof.status == "optimal" and found.proof.status != "optimal"):
            proof = found.proof
    if answer is None or proof is None:
        return None
    return Point(problem, answer.counts, problem.vector(answer.counts), proof)


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
