"""Budgets of problems too large to enumerate, and what is claimed where time ends a proof."""

import math
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from solver.errors import VerificationError
from solver.optimize import fill
from solver.optimize.cpsat import Objective, SolverSettings
from solver.optimize.fixing import Fixing
from solver.optimize.least import least
from solver.optimize.points import lexicographic
from solver.optimize.problem import Problem
from solver.optimize.relaxation import Relaxation, Table, find_break
from tests.optimize.instances import all_counts, large, nasty, problem, problems, unit_class, within
from tests.optimize.oracles import highs

SETTINGS = SolverSettings()
BUDGETS = (0.1, 0.35, 0.7)


def limit_of(instance: Problem, part: float) -> tuple[int, list[tuple[int, int, int]]]:
    """Return a limit that some assignments keep, and all assignments that do."""
    vectors = [instance.vector(counts) for counts in all_counts(instance)]
    sizes = sorted({vector[0] for vector in vectors})
    limit = sizes[round(part * (len(sizes) - 1))]
    return limit, [vector for vector in vectors if vector[0] <= limit]


class TestRelaxation:
    @given(problems(), st.integers(0, 2**70), st.integers(1, 2**70))
    @example(problem([unit_class("part", 1, [(3, 0, 0)])]), 0, 2**63)
    @example(problem([unit_class("part", 1, [(0, 3, 0)])]), 2**63, 1)
    @settings(max_examples=100, deadline=None)
    def test_bounds_hold_at_any_price(self, instance: Problem, p: int, q: int) -> None:
        relaxation = Relaxation(Table(instance, 1), (p, q))
        for counts in all_counts(instance):
            size, risk, _ = instance.vector(counts)
            assert relaxation.least_value(size) <= risk
            assert (relaxation.least_bytes(risk) or 0) <= size

    @given(problems(), st.floats(0, 1))
    @settings(max_examples=100, deadline=None)
    def test_the_break_keeps_the_limit_and_one_more_unit_of_its_step_would_not(
        self, instance: Problem, part: float
    ) -> None:
        limit, _ = limit_of(instance, part)
        table = Table(instance, 1)
        found = find_break(table, limit)
        assert found is not None
        size = table.vector(found.taken)[0]
        assert size <= limit
        relaxation = Relaxation(table, found.price)
        if found.price[0]:
            # The limit lies in the step: the assignment is the cheapest at its price, and so is a larger one.
            assert relaxation.score(table.vector(found.taken)) == relaxation.floor
            step = [
                o.size_bytes - other.size_bytes
                for c in instance.classes
                for o in c.options
                for other in c.options
                if (other.risk - o.risk) * found.price[1] == (o.size_bytes - other.size_bytes) * found.price[0] > 0
            ]
            assert size + max(step) > limit

    def test_sums_beyond_64_bits_are_refused(self) -> None:
        with pytest.raises(OverflowError):
            Table(problem([unit_class("a", 3, [(2**61, 1, 0)])]), 1)


class TestProofs:
    @given(
        problems(), st.floats(0, 1), st.sampled_from([("risk", "bytes"), ("time", "risk", "bytes"), ("bytes", "risk")])
    )
    @settings(max_examples=200, deadline=None)
    def test_every_stage_is_the_least(self, instance: Problem, part: float, order: tuple[Objective, ...]) -> None:
        limit, vectors = limit_of(instance, part)
        axes = [("bytes", "risk", "time").index(name) for name in order]
        point = lexicographic(instance, limit, order, SETTINGS)
        assert point is not None
        assert instance.vector(point.counts) == point.vector
        assert [point.vector[axis] for axis in axes] == min([vector[axis] for axis in axes] for vector in vectors)
        assert (point.proof.status, point.proof.gap) == ("optimal", 0)

    @given(problems(), st.floats(0, 1))
    @settings(max_examples=100, deadline=None)
    def test_without_time_no_more_is_claimed_than_is_true(self, instance: Problem, part: float) -> None:
        limit, vectors = limit_of(instance, part)
        point = lexicographic(instance, limit, ("risk", "bytes"), SolverSettings(deterministic_seconds=1e-9))
        assert point is not None
        assert point.weights_bytes <= limit
        least_risk = min(vector[1] for vector in vectors)
        if point.proof.objective == "risk":
            assert point.proof.bound <= least_risk <= point.proof.value == point.risk
        else:
            assert point.risk == least_risk
            assert point.proof.bound <= min(vector[0] for vector in vectors if vector[1] == least_risk)

    def test_what_time_ends_is_feasible_with_the_bound_of_the_relaxation(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fill, "_STATES", 4)
        instance = large(300, shapes=5)
        limit = within(instance, 0.7)
        point = lexicographic(instance, limit, ("risk", "bytes"), SolverSettings(deterministic_seconds=1e-9))
        proven = lexicographic(instance, limit, ("risk", "bytes"), SETTINGS)
        assert point is not None
        assert proven is not None
        assert proven.proof.status == "optimal"
        assert point.proof.status == "feasible"
        assert point.proof.bound <= proven.risk <= point.proof.value
        assert 0 < point.proof.gap < 0.05

    @given(problems(), st.floats(0, 1))
    @settings(max_examples=100, deadline=None)
    def test_a_merge_that_claims_a_proof_has_the_least(self, instance: Problem, part: float) -> None:
        limit, vectors = limit_of(instance, part)
        fixing = Fixing(instance, "risk", limit)
        fixing.fill(1000)
        if fixing.proven:
            assert instance.vector(fixing.start)[1] == min(vector[1] for vector in vectors)

    def test_a_merge_proves_in_integers_what_floats_do_not_tell_apart(self) -> None:
        proven = 0
        for seed in range(100):
            small = nasty(seed)
            # Single steps decide between risks that floats round to the same.
            classes = [
                unit_class(
                    f"part{number}",
                    part.count,
                    [(o.size_bytes, (o.risk % 100 << 48) + o.decode_ticks % 9, o.decode_ticks) for o in part.options],
                )
                for number, part in enumerate(small.classes)
            ]
            instance = problem(classes, small.fixed)
            limit, vectors = limit_of(instance, 0.4)
            fixing = Fixing(instance, "risk", limit)
            fixing.fill(1000)
            if fixing.proven:
                least_risk = min(vector[1] for vector in vectors)
                assert instance.vector(fixing.start)[1] == least_risk
                proven += least_risk >= 2**53
        assert proven > 50

    def test_a_merge_that_is_cut_claims_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        instance = large(300)
        limit = within(instance, 0.1)
        fixing = Fixing(instance, "risk", limit)
        fixing.fill(1000)
        assert fixing.proven
        fixing.fill(4)
        assert not fixing.proven
        monkeypatch.setattr(fill, "_STATES", 4)
        fixing.fill(1000)
        assert not fixing.proven

    def test_a_wrong_proof_is_found_out(self) -> None:
        instance = problem([unit_class("a", 2, [(1, 9, 0), (3, 5, 0)]), unit_class("b", 1, [(1, 7, 0), (4, 1, 0)])])
        fixing = Fixing(instance, "risk", 6)
        fixing.start = ((2, 0), (1, 0))
        fixing.proven = True
        with pytest.raises(VerificationError, match="none is proven to be"):
            least(fixing, fixing.start, "risk", {"bytes": 6}, SETTINGS)


class TestLarge:
    @pytest.mark.parametrize(
        "part", [pytest.param(0.1, marks=pytest.mark.slow), 0.35, pytest.param(0.7, marks=pytest.mark.slow)]
    )
    @pytest.mark.parametrize("shapes", [None, 7])
    def test_3000_units_agree_with_highs(self, shapes: int | None, part: float) -> None:
        instance = large(3000, shapes=shapes)
        limit = within(instance, part)
        point = lexicographic(instance, limit, ("risk", "bytes"), SETTINGS)
        assert point is not None
        assert point.weights_bytes <= limit
        assert point.proof.status == "optimal"
        other = highs(instance, limit)
        assert other is not None
        bound, counts = other
        # Its fractions of 1e-6 of a unit are worth about as much of a unit's risk.
        assert bound <= point.risk <= bound + math.ceil(1e-6 * point.risk)
        if instance.vector(counts)[0] <= limit:
            assert point.risk <= instance.vector(counts)[1]

    def test_two_runs_are_the_same(self) -> None:
        instance = large(1000)
        limit = within(instance, 0.35)
        points = [lexicographic(instance, limit, ("risk", "bytes"), SETTINGS) for _ in range(2)]
        assert points[0] == points[1]

    @pytest.mark.slow
    @pytest.mark.parametrize("part", BUDGETS)
    @pytest.mark.parametrize("shapes", [None, 7])
    def test_70000_units_are_proven_within_a_gigabyte_and_a_minute(self, shapes: int | None, part: float) -> None:
        run = f"""
import resource, time
from tests.optimize.instances import large, within
from solver.optimize.cpsat import SolverSettings
from solver.optimize.points import lexicographic
instance = large(70_000, shapes={shapes})
start = time.process_time()
point = lexicographic(instance, within(instance, {part}), ("risk", "bytes"), SolverSettings())
print(point.proof.status, time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""
        done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True)
        status, seconds, gibibytes = done.stdout.split()
        assert status == "optimal"
        assert float(seconds) < 60
        assert float(gibibytes) < 1

    @pytest.mark.slow
    def test_is_faster_than_cp_sat_alone_from_1000_units_on(self) -> None:
        import time

        from solver.optimize.cpsat import minimize

        instance = large(1000)
        limit = within(instance, 0.35)
        start = time.process_time()
        point = lexicographic(instance, limit, ("risk", "bytes"), SETTINGS)
        middle = time.process_time()
        answer = minimize(instance, "risk", {"bytes": limit}, SETTINGS)
        end = time.process_time()
        assert point is not None
        assert answer is not None
        assert answer.proof.value == point.risk
        assert middle - start < (end - middle) / 2
