"""The time limit ends single solves: what others have found stands, with a bound on what is not known."""

import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from solver.errors import LimitReachedError
from solver.optimize.cpsat import SolverSettings, minimize
from solver.optimize.different import Difference, least_risky_different
from solver.optimize.front import exact_front
from solver.optimize.points import fastest, lexicographic, safest
from solver.optimize.problem import Budget, Point, Problem
from solver.optimize.progress import Progress
from solver.optimize.side_rules import SideRules
from solver.optimize.stopping import Stops
from solver.optimize.time_levels import time_levels
from tests.optimize.instances import all_counts, large, nasty, problem, unit_class, within

NONE, LITTLE, SOME, ALL = (SolverSettings(deterministic_seconds=seconds) for seconds in (1e-9, 1e-7, 1e-4, 30.0))
"""No solve gets anywhere; presolve alone has an answer for `EASY`; a stage of `FLAT` is done; all is proven."""

ANY = SideRules(most_ticks=2**60)
"""A rule that forbids nothing, so that CP-SAT is asked."""

EASY = problem([unit_class("a", 2, [(1, 9 * 10**15, 5 * 10**9), (5, 3 * 10**15, 4 * 10**9), (2**50, 0, 0)])])
"""Its last option does not fit, so that nothing is known of it without a solve and it is the first to be solved."""
HARD = large(40, seed=1)
FLAT = replace(
    HARD,
    classes=tuple(
        replace(part, options=tuple(replace(option, decode_ticks=0) for option in part.options))
        for part in HARD.classes
    ),
)
HALF = Budget(within(HARD, 0.5))


def true_front(instance: Problem, most_ticks: int) -> list[tuple[int, int]]:
    """Return the bytes and risk of all assignments that keep a time and that none beats."""
    costs = sorted(v[:2] for v in map(instance.vector, all_counts(instance)) if v[2] <= most_ticks)
    return [cost for place, cost in enumerate(costs) if all(cost[1] < other[1] for other in costs[:place])]


def proven(point: Point | None) -> tuple[int, int]:
    assert point is not None
    return point.proof.bound, point.proof.value


class TestSolve:
    def test_that_finds_nothing_is_an_error(self) -> None:
        with pytest.raises(LimitReachedError):
            minimize(HARD, "risk", {"bytes": HALF.size_bytes}, NONE)

    def test_that_finds_nothing_keeps_what_it_started_from_with_a_bound(self) -> None:
        start = tuple((1, *(0,) * (len(part.options) - 1)) for part in HARD.classes)
        answer = minimize(HARD, "risk", {"bytes": HALF.size_bytes}, NONE, start=start)
        least = lexicographic(HARD, HALF.size_bytes, ("risk",), ALL)
        assert answer is not None
        assert least is not None
        assert (answer.counts, answer.proof.status) == (start, "feasible")
        assert answer.proof.bound <= least.risk <= answer.proof.value

    def test_of_a_later_stage_leaves_the_first_one_proven(self) -> None:
        with pytest.raises(LimitReachedError):
            lexicographic(FLAT, HALF.size_bytes, ("risk",), SOME, ANY)
        point = lexicographic(FLAT, HALF.size_bytes, ("time", "risk"), SOME, ANY)
        least = lexicographic(FLAT, HALF.size_bytes, ("risk",), ALL)
        assert point is not None
        assert least is not None
        assert (point.decode_ticks, point.proof.objective, point.proof.status) == (0, "risk", "feasible")
        assert point.proof.bound <= least.risk <= point.risk


class TestRows:
    """One row is solved, and the time limit leaves the other unknown."""

    def test_the_safest_of_those_that_are_known_has_a_bound_on_the_other(self) -> None:
        bound, value = proven(safest([EASY, HARD], HALF, LITTLE, ANY))
        least = safest([EASY, HARD], HALF, ALL, ANY)
        assert least is not None
        assert bound <= least.risk < value == 6 * 10**15

    def test_the_fastest_of_those_that_are_known_has_a_bound_on_the_other(self) -> None:
        bound, value = proven(fastest([EASY, HARD], HALF, LITTLE, ANY))
        least = fastest([EASY, HARD], HALF, ALL, ANY)
        assert least is not None
        assert bound <= least.decode_ticks < value == 8 * 10**9

    def test_without_any_it_is_an_error(self) -> None:
        with pytest.raises(LimitReachedError):
            fastest([EASY, HARD], HALF, NONE, ANY)
        with pytest.raises(LimitReachedError):
            least_risky_different([EASY, HARD], HALF, NONE, ANY, Difference(0.25, ({},)))


class TestTimeLevels:
    def test_one_that_is_not_reached_is_left_out(self) -> None:
        stops = Stops()
        levels = time_levels([FLAT], HALF, LITTLE, ANY, [5, 9], stops)
        assert (levels, stops.limited, stops.interrupted) == ([], True, False)

    def test_others_stand_with_their_gap(self) -> None:
        stops = Stops()
        levels = time_levels([EASY, HARD], HALF, LITTLE, ANY, [8 * 10**9, 10**10], stops)
        assert [level.point.risk for level in levels] == [6 * 10**15] * 2
        assert stops.limited

    def test_without_a_limit_nothing_is_noted(self) -> None:
        stops = Stops()
        assert len(time_levels([EASY], HALF, ALL, ANY, [9 * 10**9], stops)) == 1
        assert not stops.cut_short


SEEDS = range(40)


class TestFront:
    @pytest.mark.parametrize("seed", SEEDS)
    def test_under_a_rule_keeps_what_the_merge_has_proven(self, seed: int) -> None:
        instance = nasty(seed)
        most = sorted(instance.vector(counts)[2] for counts in all_counts(instance))
        rules, budget = SideRules(most_ticks=most[len(most) // 2]), Budget(2**60)
        whole = true_front(instance, most[len(most) // 2])
        try:
            front = exact_front([instance], budget, NONE, rules)
        except LimitReachedError:
            # Where the merge has a point that keeps the rule, it is there.
            free = exact_front([instance], budget, ALL)
            assert all(point.decode_ticks > most[len(most) // 2] for point in free)
            return
        assert [(point.total_bytes, point.risk) for point in front if point.proof.status == "optimal"]
        assert {(point.total_bytes, point.risk) for point in front} <= set(whole)
        assert (front.limited, front.interrupted) == (not front.complete, False)

    def test_some_of_these_fronts_are_cut_short_and_some_have_nothing(self) -> None:
        ends = set()
        for seed in SEEDS:
            instance = nasty(seed)
            most = sorted(instance.vector(counts)[2] for counts in all_counts(instance))
            try:
                front = exact_front([instance], Budget(2**60), NONE, SideRules(most_ticks=most[len(most) // 2]))
                ends.add((front.limited, front.complete))
            except LimitReachedError:
                ends.add(None)
        assert ends >= {(True, False), None}

    def test_that_is_sampled_has_the_rows_that_are_known(self) -> None:
        front = exact_front([EASY, HARD], HALF, replace(LITTLE, merge_work=0), ANY)
        assert {point.problem for point in front} == {EASY}
        assert (front.limited, front.interrupted, front.complete) == (True, False, False)

    def test_that_is_sampled_and_has_nothing_is_an_error(self) -> None:
        with pytest.raises(LimitReachedError):
            exact_front([EASY, HARD], HALF, replace(NONE, merge_work=0), ANY)


@pytest.fixture
def interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _low_risk(progress: Progress) -> bool:
    proof = progress.incumbent
    return proof is not None and proof.objective == "risk" and proof.value < 10**15


@pytest.mark.usefixtures("interrupts")
class TestInterruptIsAlike:
    """An interrupt comes when a search tells how far it is."""

    def test_in_the_merges_under_a_rule_leaves_the_rows_that_are_done(self) -> None:
        def watch(progress: Progress) -> None:
            if progress.rows_done == 1:
                signal.raise_signal(signal.SIGINT)

        front = exact_front([EASY, replace(EASY, fixed=(1, 1, 1))], HALF, replace(ALL, watch=watch), ANY)
        assert [point.vector[:2] for point in front] == [(2, 18 * 10**15), (6, 12 * 10**15), (10, 6 * 10**15)]
        assert (front.interrupted, front.complete) == (True, False)

    def test_in_the_row_after_one_that_is_solved_leaves_that_one_with_a_bound(self) -> None:
        def watch(progress: Progress) -> None:
            if _low_risk(progress):
                signal.raise_signal(signal.SIGINT)

        settings = replace(ALL, watch=watch)
        stops = Stops()
        point = stops.point(lambda: safest([EASY, HARD], HALF, settings, ANY))
        assert (stops.interrupted, stops.limited) == (True, False)
        assert point is not None
        least = safest([EASY, HARD], HALF, ALL, ANY)
        assert least is not None
        assert point.proof.bound <= least.risk <= point.risk

    def test_between_levels_leaves_those_that_are_found(self) -> None:
        def watch(progress: Progress) -> None:
            if _low_risk(progress):
                signal.raise_signal(signal.SIGINT)

        stops = Stops()
        small = problem([unit_class("a", 2, [(1, 9 * 10**15, 5), (5, 3 * 10**15, 4), (9, 10**14, 9)])])
        levels = time_levels([small], HALF, replace(ALL, watch=watch), ANY, [8, 9, 20, 30], stops)
        assert [level.most_ticks for level in levels][:2] == [8, 9]
        assert len(levels) <= 3
        assert stops.interrupted
