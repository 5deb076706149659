"""The front of footprint and risk: exact points at chosen budgets, over all rows of settings."""

from collections.abc import Iterable, Sequence

from solver.catalog import NATIVE
from solver.optimize.cpsat import Objective, SolverSettings, minimize
from solver.optimize.problem import Budget, Point, Problem, Proof
from solver.optimize.supported import spread, supported_sizes
from solver.optimize.verify import verify_front, verify_point


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


def prune_rows(problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems without those that another row beats option by option.

    A row is beaten when another with the same cache, and no more bytes beside the weights, has the same classes and,
    for each of its options, the same scheme at no more risk. Of equal rows the first stays.
    """
    kept: list[Problem] = []
    for problem in problems:
        if any(_beats(other, problem) for other in kept):
            continue
        kept = [other for other in kept if not _beats(problem, other)] + [problem]
    return kept


def _beats(better: Problem, worse: Problem) -> bool:
    same_cache = better.settings.kv_cache_scheme == worse.settings.kv_cache_scheme
    if not same_cache or better.overhead_bytes > worse.overhead_bytes or len(better.classes) != len(worse.classes):
        return False
    for ours, theirs in zip(better.classes, worse.classes, strict=True):
        if ours.units != theirs.units:
            return False
        risks = {option.scheme: option.risk for option in ours.options}
        if any(risks.get(option.scheme, option.risk + 1) > option.risk for option in theirs.options):
            return False
    return True


def non_dominated(points: Iterable[Point]) -> list[Point]:
    """Return the points that no other beats in bytes and risk, by rising bytes; of equals the first."""
    front: list[Point] = []
    for point in sorted(points, key=lambda point: (point.total_bytes, point.risk)):
        if not front or point.risk < front[-1].risk:
            front.append(point)
    return front


def smallest_of_all(problems: Sequence[Problem], settings: SolverSettings) -> Point:
    """Return the point with the least bytes on one device, whatever the budget."""
    found = [lexicographic(problem, None, ("bytes", "risk"), settings) for problem in problems]
    return min((point for point in found if point is not None), key=lambda point: (point.total_bytes, point.risk))


def exact_front(
    problems: Sequence[Problem], budget: Budget, settings: SolverSettings, *, steps: int = 12
) -> list[Point]:
    """Return proven points of the front within the budget, by rising bytes.

    For each row: the least bytes, the least risk, and the least risk at the sizes of up to `steps` supported
    points between them. Each point is least in risk for its bytes and least in bytes for its risk, so none of its
    row beats it; merging the rows leaves those that none at all of the computed ones beats.
    """
    points: list[Point] = []
    for problem in problems:
        limit = budget.weights_limit(problem)
        smallest = lexicographic(problem, limit, ("bytes", "risk"), settings)
        safest = lexicographic(problem, limit, ("risk", "bytes"), settings)
        if smallest is None or safest is None:
            continue
        points.extend([smallest, safest])
        points.extend(
            point
            for size in spread(supported_sizes(problem, limit), steps)
            if (point := lexicographic(problem, size, ("risk", "bytes"), settings)) is not None
        )
    front = non_dominated(points)
    for point in front:
        verify_point(point, budget)
    verify_front(front)
    return front


def fastest(problems: Sequence[Problem], budget: Budget, settings: SolverSettings) -> Point | None:
    """Return the point that reads the least in one decoding step, then has the least risk, then bytes."""
    found = [
        point
        for problem in problems
        if (point := lexicographic(problem, budget.weights_limit(problem), ("read", "risk", "bytes"), settings))
        is not None
    ]
    best = min(found, key=lambda point: (point.read_bytes, point.risk, point.total_bytes), default=None)
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
