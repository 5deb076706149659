"""Proven single points over all rows of settings: the smallest, the fastest, those with one scheme everywhere."""

from collections.abc import Sequence
from dataclasses import replace

from solver.errors import VerificationError
from solver.optimize.cpsat import Objective, Shape, SolverSettings, minimize
from solver.optimize.grouped import Grouped
from solver.optimize.in_order import least_in_order
from solver.optimize.problem import Budget, Counts, Point, Problem, Proof
from solver.optimize.ruled import shaped_by
from solver.optimize.side_rules import NO_RULES, SideRules, uniform_counts
from solver.optimize.verify import verify_point


def lexicographic(
    problem: Problem,
    weights_limit: int | None,
    order: Sequence[Objective],
    settings: SolverSettings,
    rules: SideRules = NO_RULES,
    also: Shape | None = None,
) -> Point | None:
    """Return the point that is least in the first objective, then in the next ones, within the limit.

    `weights_limit` bounds the bytes of weights on one device; None is no limit. None if nothing fits or keeps the
    rules; `also` adds rows of its own; blocks as groups need a `separated` problem. The proof
    is that of the first objective, or of the first stage that could not be proven.
    """
    if rules.plain and also is None:
        return least_in_order(problem, weights_limit, order, settings)
    limits: dict[Objective, int] = {} if weights_limit is None else {"bytes": weights_limit}
    if rules.most_ticks is not None:
        limits["time"] = rules.most_ticks - problem.cache_ticks
    problem = rules.apart(problem)
    found = _least_shaped(problem, limits, order, settings, rules, () if also is None else (also,))
    if found is None:
        return None
    counts, proof = found
    if (broken := rules.broken_by(problem, counts)) is not None:
        raise VerificationError(f"the optimizer's answer has {broken}")
    return Point(problem, counts, problem.vector(counts), proof)


def _least_shaped(
    problem: Problem,
    limits: dict[Objective, int],
    order: Sequence[Objective],
    settings: SolverSettings,
    rules: SideRules,
    also: tuple[Shape, ...],
) -> tuple[Counts, Proof] | None:
    """Return what is least under rules: over the groups alone where no rule asks for more than they say."""
    if rules.granularity == "unit" or rules.overrides is not None or also:
        return _least(problem, limits, order, settings, (shaped_by(problem, rules), *also))
    others = replace(rules, granularity="unit")
    grouped = Grouped(problem, rules.granularity, dominated=not others.plain)
    if not grouped.possible:
        return None
    point = lexicographic(grouped.problem, limits.get("bytes"), order, settings, others)
    return None if point is None else (grouped.expanded(point.counts), point.proof)


def _least(
    problem: Problem,
    limits: dict[Objective, int],
    order: Sequence[Objective],
    settings: SolverSettings,
    shapes: Sequence[Shape],
) -> tuple[Counts, Proof] | None:
    """Return the counts that are least in one objective after the other, and the proof of the first unproven stage."""
    limits, answer, proof = dict(limits), None, None
    for objective in order:
        found = minimize(problem, objective, limits, settings, shapes)
        if found is None:
            break
        answer = found
        limits[objective] = min(found.proof.value, limits.get(objective, found.proof.value))
        if proof is None or (proof.status == "optimal" and found.proof.status != "optimal"):
            proof = found.proof
    return None if answer is None or proof is None else (answer.counts, proof)


def smallest_of_all(problems: Sequence[Problem], settings: SolverSettings) -> Point:
    """Return the point with the least bytes on one device, whatever the budget."""
    found = [lexicographic(problem, None, ("bytes", "risk"), settings) for problem in problems]
    return min((point for point in found if point is not None), key=lambda point: (point.total_bytes, point.risk))


def fastest(
    problems: Sequence[Problem], budget: Budget, settings: SolverSettings, rules: SideRules = NO_RULES
) -> Point | None:
    """Return the point with the shortest decoding step, then with the least risk, then bytes."""
    found = [
        point
        for problem in problems
        if (point := lexicographic(problem, budget.weights_limit(problem), ("time", "risk", "bytes"), settings, rules))
        is not None
    ]
    best = min(found, key=lambda point: (point.decode_ticks, point.risk, point.total_bytes), default=None)
    if best is not None:
        verify_point(best, budget)
    return best


def uniform_points(problems: Sequence[Problem], budget: Budget, rules: SideRules = NO_RULES) -> list[Point]:
    """Return the plans with one scheme wherever it may be and native elsewhere, best first.

    Problems with all options, also those that others dominate. All plans are enumerated: the first is proven to be the
    least risky uniform plan within the budget.
    """
    points = []
    form = replace(rules, granularity="unit")
    for problem in problems:
        for counts in uniform_counts(problem):
            vector = problem.vector(counts)
            point = Point(problem, counts, vector, Proof("optimal", "risk", vector[1], vector[1]))
            if point.weights_bytes <= budget.weights_limit(problem) and form.broken_by(problem, counts) is None:
                verify_point(point, budget)
                points.append(point)
    return sorted(points, key=lambda point: (point.risk, point.total_bytes))
