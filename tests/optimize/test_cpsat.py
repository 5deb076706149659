"""CP-SAT against enumeration, on integers as large and as odd as real ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import LimitReachedError
from solver.optimize.cpsat import OBJECTIVES, Known, Objective, SolverSettings, minimize, search
from solver.optimize.problem import Problem
from tests.optimize.instances import all_counts, problem, problems, unit_class

SETTINGS = SolverSettings()


class TestMinimize:
    @given(problems(), st.sampled_from(OBJECTIVES), st.floats(0, 1))
    @settings(max_examples=300, deadline=None)
    def test_equals_enumeration_within_a_byte_limit(self, instance: Problem, objective: Objective, part: float) -> None:
        vectors = [instance.vector(counts) for counts in all_counts(instance)]
        sizes = [vector[0] for vector in vectors]
        limit = min(sizes) - 1 + round(part * (max(sizes) - min(sizes) + 1))
        axis = OBJECTIVES.index(objective)
        expected = min((vector[axis] for vector in vectors if vector[0] <= limit), default=None)
        answer = minimize(instance, objective, {"bytes": limit}, SETTINGS)
        if expected is None:
            assert answer is None
        else:
            assert answer is not None
            assert instance.vector(answer.counts)[0] <= limit
            assert answer.proof.value == answer.proof.bound == expected
            assert answer.proof.status == "optimal"
            assert answer.proof.gap == 0

    def test_a_limit_that_is_met_exactly_is_kept(self) -> None:
        instance = problem([unit_class("a", 2, [(2**31 + 1, 5, 0), (2**32 + 3, 1, 0)])])
        exact = 2**31 + 1 + 2**32 + 3
        answer = minimize(instance, "risk", {"bytes": exact}, SETTINGS)
        assert answer is not None
        assert answer.proof.value == 6
        tighter = minimize(instance, "risk", {"bytes": exact - 1}, SETTINGS)
        assert tighter is not None
        assert tighter.proof.value == 10

    def test_the_fixed_part_counts_in_limits_and_values(self) -> None:
        instance = problem([unit_class("a", 1, [(10, 5, 0), (20, 1, 0)])], fixed=(100, 7, 0))
        answer = minimize(instance, "risk", {"bytes": 119}, SETTINGS)
        assert answer is not None
        assert answer.proof.value == 12

    def test_no_time_is_a_limit_and_not_infeasible(self) -> None:
        hard = problem(
            [
                unit_class(f"p{n}", 3, [(7919 * (n + 3) + 31 * k * k, 10**6 - 9973 * k * (n + 1), 0) for k in range(6)])
                for n in range(40)
            ]
        )
        with pytest.raises(LimitReachedError):
            minimize(hard, "risk", {"bytes": 32_000_000}, SolverSettings(deterministic_seconds=1e-9))

    def test_rows_beyond_exact_floats_are_refused(self) -> None:
        instance = problem([unit_class("a", 1, [(1, 0, 0), (2**53 + 2, 1, 0), (3, 2, 0)])])
        with pytest.raises(OverflowError):
            minimize(instance, "bytes", {}, SETTINGS)


class TestKnown:
    @given(
        problems(),
        st.floats(0, 1),
        st.sampled_from([(1, 1), (0, 1), (3, 2), (2**40 + 1, 3), (1, 2**50)]),
        st.sampled_from(["bytes", "risk"]),
    )
    @settings(max_examples=200, deadline=None)
    def test_rows_that_limits_imply_lose_nothing(
        self, instance: Problem, part: float, price: tuple[int, int], objective: Objective
    ) -> None:
        vectors = sorted(instance.vector(counts) for counts in all_counts(instance))
        # An assignment's own costs as limits: that one is within them, with nothing to spare in the score.
        size, risk, _ = vectors[round(part * (len(vectors) - 1))]
        limits: dict[Objective, int] = {"bytes": size, "risk": risk}
        axis = OBJECTIVES.index(objective)
        expected = min(vector[axis] for vector in vectors if vector[0] <= size and vector[1] <= risk)
        outcome = search(instance, objective, limits, SETTINGS, known=Known(price, "risk", expected))
        assert (outcome.status, outcome.bound) == ("optimal", expected)
        assert outcome.counts is not None
        assert instance.vector(outcome.counts)[axis] == expected
