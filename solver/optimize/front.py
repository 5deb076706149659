"""The exact front over all rows of settings: every point, or proven ones where there are too many."""

from collections.abc import Callable, Sequence

from solver.errors import VerificationError
from solver.optimize.constrained import Boxes
from solver.optimize.cpsat import SolverSettings
from solver.optimize.found_points import found_front
from solver.optimize.front_points import Front, Row
from solver.optimize.merge import FrontTooLargeError, MergedFront
from solver.optimize.merged_row import MergedRow, merged_rows, merges_alone, relaxed
from solver.optimize.points import lexicographic
from solver.optimize.problem import Budget, Problem
from solver.optimize.progress import Progress
from solver.optimize.rivals import Rival, Rivals
from solver.optimize.sampled import sample
from solver.optimize.side_rules import NO_RULES, SideRules
from solver.optimize.stopping import Stops

_SAMPLES = 12
"""Totals between the ends of a front that is too large to be merged; under side rules, settings say how many."""

_Merge = Callable[[Problem], Sequence[Row]]


def _merged(problems: Sequence[Problem], budget: Budget, settings: SolverSettings, merge: _Merge) -> Front:
    """Return the front that merges give; an interrupt leaves the rows that are done."""
    rows: list[tuple[Problem, Row]] = []
    for number, problem in enumerate(problems):
        try:
            if settings.watch is not None:
                settings.watch(Progress(number, len(problems)))
            rows.extend((problem, row) for row in merge(problem))
        except KeyboardInterrupt:
            # Rows that are done have proven points; without any there is nothing to show.
            if not any(len(done.sizes) for _, done in rows):
                raise
            return Front(rows, budget, complete=False, stops=Stops(interrupted=True))
    return Front(rows, budget, complete=True)


def _sampled(problems: Sequence[Problem], budget: Budget, settings: SolverSettings, rules: SideRules) -> Front:
    rivals = Rivals([Rival(each, budget.weights_limit(each)) for each in problems], settings, rules)
    between = _SAMPLES if rules.plain else settings.points_between
    return found_front(lambda points, stops: sample(points, stops, rivals, between), problems, budget)


def _constrained(problems: Sequence[Problem], budget: Budget, settings: SolverSettings, rules: SideRules) -> Front:
    rows: list[Rival] = []

    def merge(problem: Problem) -> list[MergedRow]:
        limit = budget.weights_limit(problem)
        merged = merged_rows(problem, limit, settings, relaxed(rules))
        rows.extend(Rival(problem, limit, row) for row in merged)
        return merged

    boxes = Boxes(Rivals(rows, settings, rules), _merged(problems, budget, settings, merge), rules)
    return found_front(lambda points, stops: boxes.search(points, stops, settings.points_between), problems, budget)


def _plain(problem: Problem, limit: int, settings: SolverSettings) -> list[Row]:
    """Return the front of a problem without side rules, or the part within a limit of one that is kept."""
    if settings.fronts is not None:
        return [settings.fronts.within(problem, limit, most_work=settings.merge_work)]
    return [MergedFront(problem, limit, most_work=settings.merge_work)]


def _front(problems: Sequence[Problem], budget: Budget, settings: SolverSettings, rules: SideRules) -> Front:
    try:
        if rules.plain:
            return _merged(problems, budget, settings, lambda each: _plain(each, budget.weights_limit(each), settings))
        if merges_alone(rules):
            return _merged(
                problems, budget, settings, lambda each: merged_rows(each, budget.weights_limit(each), settings, rules)
            )
        return _constrained(problems, budget, settings, rules)
    except FrontTooLargeError:
        return _sampled(problems, budget, settings, rules)


def exact_front(
    problems: Sequence[Problem], budget: Budget, settings: SolverSettings, rules: SideRules = NO_RULES
) -> Front:
    """Return the front within the budget: all of its points where they can be had, else proven ones.

    Under side rules the problems need all options; dominated ones may be what a rule leaves. An interrupt ends the
    search, and the time limit ends single solves: what is found by then is returned, marked.

    Raises
    ------
    KeyboardInterrupt
        If nothing was found before an interrupt.
    LimitReachedError
        If the time limit ended all solves before they had anything.
    VerificationError
        If CP-SAT finds another least risk than the merge, or a point fails its re-check.

    """
    front = _front([rules.apart(problem) for problem in problems], budget, settings, rules)
    if len(front) and front.complete:
        # Other points have their proof from what this asks.
        front.stops.made(lambda: _verify_least_risk(front, budget, settings, rules), None)
        front.complete = not front.stops.cut_short
    return front


def _verify_least_risk(front: Front, budget: Budget, settings: SolverSettings, rules: SideRules) -> None:
    """Check the end of a front by another method."""
    problem, risk = front.problem_of(len(front) - 1), int(front.risks[-1])
    found = lexicographic(problem, budget.weights_limit(problem), ("risk",), settings, rules)
    if found is None or found.proof.bound > risk or found.proof.value < risk:
        raise VerificationError(f"CP-SAT bounds the risk by {found and found.proof}, the front by {risk}")
    # Its assignment, which takes a run of the merge, is needed for side rules alone.
    if not rules.plain and (broken := rules.broken_by(problem, front[-1].counts)) is not None:
        raise VerificationError(f"a point of the front has {broken}")
