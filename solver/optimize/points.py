"""Proven single points over all rows of settings: the smallest, the fastest, those with one scheme everywhere."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from solver.errors import VerificationError
from solver.optimize.best import best_of_rows, least_cost
from solver.optimize.cpsat import Answer, Objective, Shape, SolverSettings, minimize
from solver.optimize.grouped import Grouped
from solver.optimize.in_order import least_in_order, point_of, stopped_at
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
    """Return what is least in one objective after the other; a stage that finds nothing keeps what the last had."""
    limits, answers = dict(limits), list[Answer]()
    try:
        for objective in order:
            least = None if bound is None else bound(objective, limits)
            start = answers[-1].counts if answers else None
            found = minimize(problem, objective, limits, settings, shapes, least, start)
            if found is None:
                break
            answers.append(found)
            limits[objective] = min(found.proof.value, limits.get(objective, found.proof.value))
    except KeyboardInterrupt as interrupt:
        raise stopped_at(problem, answers, interrupt) from None
    return point_of(problem, answers) if answers else None


def safest(
    problems: Sequence[Problem], budget: Budget, settings: SolverSettings, rules: SideRules = NO_RULES
) -> Point | None:
    """Return the point with the least risk, then with the least bytes of weights; None if nothing keeps the rules.

    Rows whose units could not even each for itself have as little risk as a plan that is found are left out.

    Raises
    ------
    LimitReachedError, SearchInterrupted
        See `best_of_rows`.
    """
    return least_of_rows(problems, budget, ("risk", "bytes"), settings, rules)


def smallest_of_all(problems: Sequence[Problem], settings: SolverSettings) -> Point:
    """Return the point with the least bytes on one device, whatever the budget."""
    found = [lexicographic(problem, None, ("bytes", "risk"), settings) for problem in problems]
    return min((point for point in found if point is not None), key=lambda point: (point.total_bytes, point.risk))


def fastest(
    problems: Sequence[Problem], budget: Budget, settings: SolverSettings, rules: SideRules = NO_RULES
) -> Point | None:
    """Return the point with the shortest decoding step, then with the least risk, then bytes.

    Raises
    ------
    LimitReachedError, SearchInterrupted
        See `best_of_rows`.
    """
    return least_of_rows(problems, budget, ("time", "risk", "bytes"), settings, rules)


def least_of_rows(
    problems: Sequence[Problem],
    budget: Budget,
    order: Sequence[Objective],
    settings: SolverSettings,
    rules: SideRules,
    also: Callable[[Problem], Shape] | None = None,
) -> Point | None:
    """Return the point of all rows that is least in one objective after the other within the budget, re-checked.

    None if nothing fits or keeps the rules; `also` gives rows that are added to the model of a problem.

    Raises
    ------
    LimitReachedError, SearchInterrupted
        See `best_of_rows`.
    """

    def search(problem: Problem) -> Point | None:
        shape = None if also is None else also(problem)
        return lexicographic(problem, budget.weights_limit(problem), order, settings, rules, also=shape)

    bounds = sorted(((least_cost(each, order[0]), each) for each in problems), key=itemgetter(0))
    try:
        best = best_of_rows(bounds, search, order)
    except SearchInterrupted as stop:
        if stop.point is not None:
            verify_point(stop.point, budget)
        raise
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
