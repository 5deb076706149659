"""Proven single points over all rows of settings: the smallest, the fastest, those with one scheme everywhere."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from solver.errors import VerificationError
from solver.optimize.cpsat import Answer, Objective, Shape, SolverSettings, minimize
from solver.optimize.grouped import Grouped
from solver.optimize.in_order import least_in_order, point_of
from solver.optimize.problem import Budget, Point, Problem, Proof
from solver.optimize.ruled import shaped_by
from solver.optimize.side_rules import NO_RULES, SideRules, uniform_counts
from solver.optimize.stopping import SearchInterrupted
from solver.optimize.verify import verify_point

Bound = Callable[[Objective, Mapping[Objective, int]], int | None]
"""What nothing within some limits is below in an objective, if that is known."""


def lexicographic(
    problem: Problem,
    weights_limit: int | None,
    order: Sequence[Objective],
    settings: SolverSettings,
    rules: SideRules = NO_RULES,
    also: Shape | None = None,
    bound: Bound | None = None,
) -> Point | None:
    """Return the point that is least in the first objective, then in the next ones, within the limit.

    `weights_limit` bounds the bytes of weights on one device; None is no limit. None if nothing fits or keeps the
    rules; `also` adds rows of its own; a `bound` shortens the search; blocks as groups need a `separated` problem. The
    proof is that of the first objective, or of the first stage that could not be proven.

    Raises
    ------
    SearchInterrupted
        At an interrupt; it has the point so far.
    """
    if rules.plain and also is None:
        return least_in_order(problem, weights_limit, order, settings)
    limits: dict[Objective, int] = {} if weights_limit is None else {"bytes": weights_limit}
    if rules.most_ticks is not None:
        limits["time"] = rules.most_ticks - problem.cache_ticks
    problem = rules.apart(problem)
    try:
        found = _least_shaped(problem, limits, order, settings, rules, () if also is None else (also,), bound)
    except SearchInterrupted as stop:
        if stop.point is not None:
            _keeps(rules, stop.point)
        raise
    if found is not None:
        _keeps(rules, found)
    return found


def _keeps(rules: SideRules, point: Point) -> None:
    if (broken := rules.broken_by(point.problem, point.counts)) is not None:
        raise VerificationError(f"the optimizer's answer has {broken}")


def _least_shaped(
    problem: Problem,
    limits: dict[Objective, int],
    order: Sequence[Objective],
    settings: SolverSettings,
    rules: SideRules,
    also: tuple[Shape, ...],
    bound: Bound | None,
) -> Point | None:
    """Return what is least under rules: over the groups alone where no rule asks for more than they say."""
    if rules.granularity == "unit" or rules.overrides is not None or also:
        return _least(problem, limits, order, settings, (shaped_by(problem, rules), *also), bound)
    others = replace(rules, granularity="unit")
    grouped = Grouped(problem, rules.granularity, dominated=not others.plain)
    if not grouped.possible:
        return None
    try:
        point = lexicographic(grouped.problem, limits.get("bytes"), order, settings, others, bound=bound)
    except SearchInterrupted as stop:
        stop.point = None if stop.point is None else _of_groups(grouped, problem, stop.point)
        raise
    return None if point is None else _of_groups(grouped, problem, point)


def _of_groups(grouped: Grouped, problem: Problem, point: Point) -> Point:
    return Point(problem, grouped.expanded(point.counts), point.vector, point.proof)


def _least(
    problem: Problem,
    limits: dict[Objective, int],
    order: Sequence[Objective],
    settings: SolverSettings,
    shapes: Sequence[Shape],
    bound: Bound | None,
) -> Point | None:
    """Return what is least in one objective after the other."""
    limits, answers = dict(limits), list[Answer]()
    try:
        for objective in order:
            least = None if bound is None else bound(objective, limits)
            found = minimize(problem, objective, limits, settings, shapes, least)
            if found is None:
                break
            answers.append(found)
            limits[objective] = min(found.proof.value, limits.get(objective, found.proof.value))
    except SearchInterrupted as stop:
        answers += [] if stop.answer is None else [stop.answer]
        stop.point = point_of(problem, answers) if answers else None
        raise
    return point_of(problem, answers) if answers else None


def safest(
    problems: Sequence[Problem], budget: Budget, settings: SolverSettings, rules: SideRules = NO_RULES
) -> Point | None:
    """Return the point with the least risk, then with the least bytes of weights; None if nothing keeps the rules.

    Rows whose units could not even each for itself have as little risk as a plan that is found are left out.
    """
    best: Point | None = None
    for least, problem in sorted(((_least_risk(each), each) for each in problems), key=itemgetter(0)):
        if best is not None and least > best.risk:
            break
        point = lexicographic(problem, budget.weights_limit(problem), ("risk", "bytes"), settings, rules)
        if point is not None and (best is None or (point.risk, point.total_bytes) < (best.risk, best.total_bytes)):
            best = point
    if best is not None:
        verify_point(best, budget)
    return best


def _least_risk(problem: Problem) -> int:
    """Return the risk where each unit has its safest option."""
    return problem.fixed[1] + sum(part.count * min(option.risk for option in part.options) for part in problem.classes)


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
