"""The front against enumeration, and the re-checks that guard it."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from solver.errors import VerificationError
from solver.optimize.cpsat import SolverSettings, minimize
from solver.optimize.front import exact_front
from solver.optimize.front_points import Front, hull_corners
from solver.optimize.merge import FrontTooLargeError, MergedFront
from solver.optimize.points import fastest, smallest_of_all, uniform_points
from solver.optimize.problem import Budget, Option, Point, Problem, Proof
from solver.optimize.supported import lower_hull, spread, supported_sizes
from solver.optimize.verify import verify_front, verify_point
from tests.optimize.instances import all_counts, problem, problems, unit_class

SETTINGS = SolverSettings()
UNBOUNDED = Budget(2**60)


def true_front(instance: Problem) -> set[tuple[int, int]]:
    """Return all (bytes, risk) that no assignment beats."""
    front: set[tuple[int, int]] = set()
    least = None
    for size, risk in sorted({instance.vector(counts)[:2] for counts in all_counts(instance)}):
        if least is None or risk < least:
            front.add((size, risk))
            least = risk
    return front


class TestExactFront:
    @given(problems())
    @settings(max_examples=200, deadline=None)
    def test_is_the_true_front_and_its_assignments_make_it(self, instance: Problem) -> None:
        front = exact_front([instance], UNBOUNDED, SETTINGS)
        assert front.complete
        assert [(point.total_bytes, point.risk) for point in front] == sorted(true_front(instance))
        assert all(instance.vector(point.counts) == point.vector for point in front)

    @given(problems())
    @settings(max_examples=100, deadline=None)
    def test_a_budget_cuts_the_front_and_nothing_else(self, instance: Problem) -> None:
        sizes = sorted(size for size, _ in true_front(instance))
        budget = Budget(sizes[len(sizes) // 2])
        front = exact_front([instance], budget, SETTINGS)
        within = sorted(point for point in true_front(instance) if point[0] <= budget.size_bytes)
        assert [(point.total_bytes, point.risk) for point in front] == within

    @given(problems())
    @settings(max_examples=60, deadline=None)
    def test_that_is_too_large_to_merge_is_sampled(self, instance: Problem) -> None:
        with pytest.raises(FrontTooLargeError):
            MergedFront(instance, 2**60, most_work=0)
        front = exact_front([instance], UNBOUNDED, replace(SETTINGS, merge_work=0))
        expected = true_front(instance)
        found = [(point.total_bytes, point.risk) for point in front]
        assert not front.complete
        assert set(found) <= expected
        assert (found[0], found[-1]) == (min(expected), max(expected))

    def test_a_point_claims_no_more_than_was_proven_of_it(self) -> None:
        instance = problem([unit_class("a", 2, [(10, 9, 0), (20, 3, 0)])])

        class Unfinished(MergedFront):
            """Points of a search that ended before it had a proof."""

            def proof(self, index: int) -> Proof:
                risk = int(self.risks[index])
                return Proof("feasible", "risk", risk, risk - 1)

        front = Front([(instance, Unfinished(instance, 2**60))], UNBOUNDED, complete=False)
        assert {(point.proof.status, point.proof.value - point.proof.bound) for point in front} == {("feasible", 1)}

    @given(problems())
    @settings(max_examples=60, deadline=None)
    def test_corners_are_the_lower_hull(self, instance: Problem) -> None:
        front = exact_front([instance], UNBOUNDED, SETTINGS)
        corners = [(front[index].total_bytes, front[index].risk) for index in hull_corners(front)]
        for point in front:
            for (left, high), (right, low) in pairwise(corners):
                if left <= point.total_bytes <= right:
                    chord = high * (right - point.total_bytes) + low * (point.total_bytes - left)
                    assert point.risk * (right - left) >= chord
        assert (corners[0][0], corners[-1][0]) == (front[0].total_bytes, front[-1].total_bytes)

    def test_an_impossible_budget_gives_no_point(self) -> None:
        instance = problem([unit_class("a", 1, [(10, 1, 0)])])
        assert len(exact_front([instance], Budget(9), SETTINGS)) == 0
        assert smallest_of_all([instance], SETTINGS).total_bytes == 10

    def test_the_scope_decides_whether_service_bytes_count(self) -> None:
        instance = replace(problem([unit_class("a", 1, [(10, 1, 0)])]), kv_cache_bytes=5)
        assert len(exact_front([instance], Budget(14), SETTINGS)) == 0
        assert len(exact_front([instance], Budget(10, "weights"), SETTINGS)) == 1

    def test_rows_merge_into_one_front(self) -> None:
        cheap = problem([unit_class("a", 1, [(10, 9, 0)])])
        safe = problem([unit_class("a", 1, [(20, 1, 0)])])
        beaten = problem([unit_class("a", 1, [(20, 9, 0)])])
        front = exact_front([beaten, safe, cheap], UNBOUNDED, SETTINGS)
        assert [(point.total_bytes, point.risk) for point in front] == [(10, 9), (20, 1)]


class TestSupportedSizes:
    @given(problems())
    @settings(max_examples=60, deadline=None)
    def test_at_a_supported_size_no_class_needs_to_be_split(self, instance: Problem) -> None:
        for size in supported_sizes(instance, 2**60):
            best = min(
                instance.vector(counts)[1] for counts in all_counts(instance) if instance.vector(counts)[0] <= size
            )
            whole = min(
                instance.vector(counts)[1]
                for counts in all_counts(instance)
                if instance.vector(counts)[0] <= size
                and all(max(taken) == part.count for part, taken in zip(instance.classes, counts, strict=True))
            )
            assert whole == best

    def test_the_hull_leaves_out_what_lies_above_it(self) -> None:
        low, above, high = Option("low", 0, 100, 0), Option("above", 50, 80, 0), Option("high", 100, 0, 0)
        assert lower_hull([high, above, low]) == [low, high]

    def test_spreading_keeps_both_ends(self) -> None:
        assert spread(list(range(100)), 4) == [0, 33, 66, 99]
        assert spread([1, 2], 4) == [1, 2]


class TestOtherPoints:
    @given(problems())
    @settings(max_examples=40, deadline=None)
    def test_the_fastest_reads_least(self, instance: Problem) -> None:
        point = fastest([instance], UNBOUNDED, SETTINGS)
        assert point is not None
        assert point.decode_ticks == min(instance.vector(counts)[2] for counts in all_counts(instance))

    def test_uniform_plans_are_all_tried_and_the_safest_is_first(self) -> None:
        instance = problem([unit_class("a", 2, [(10, 9, 0), (20, 3, 0)]), unit_class("b", 1, [(11, 9, 0), (21, 3, 0)])])
        assert [(point.total_bytes, point.risk) for point in uniform_points([instance], UNBOUNDED)] == [
            (61, 9),
            (31, 27),
        ]
        assert [point.total_bytes for point in uniform_points([instance], Budget(60))] == [31]


class TestVerification:
    @pytest.fixture
    def point(self) -> Point:
        instance = problem([unit_class("a", 2, [(10, 9, 0), (20, 3, 0)])])
        answer = minimize(instance, "risk", {"bytes": 30}, SETTINGS)
        assert answer is not None
        return Point(instance, answer.counts, instance.vector(answer.counts), answer.proof)

    def test_a_true_point_passes(self, point: Point) -> None:
        verify_point(point, Budget(30))

    def test_a_point_over_the_budget_fails(self, point: Point) -> None:
        with pytest.raises(VerificationError, match="budget"):
            verify_point(point, Budget(29))

    def test_a_point_with_other_costs_fails(self, point: Point) -> None:
        with pytest.raises(VerificationError, match="costs"):
            verify_point(replace(point, vector=(29, 12, 0)), Budget(30))

    @pytest.mark.parametrize("counts", [((2, 1),), ((3, -1),), ((1,),)])
    def test_a_point_that_gives_a_unit_no_option_or_two_fails(
        self, point: Point, counts: tuple[tuple[int, ...]]
    ) -> None:
        with pytest.raises(VerificationError):
            verify_point(replace(point, counts=counts), Budget(30))

    @pytest.mark.parametrize(
        ("totals", "risks"), [([1, 1], [2, 1]), ([1, 2], [1, 1]), ([2, 1], [2, 1]), ([1, 2, 3], [9, 4, 5])]
    )
    def test_a_front_with_a_beaten_point_fails(self, totals: list[int], risks: list[int]) -> None:
        with pytest.raises(VerificationError, match="no front"):
            verify_front(np.array(totals), np.array(risks))

    def test_a_front_that_falls_passes(self) -> None:
        verify_front(np.array([1, 2, 5]), np.array([9, 4, 1]))
