"""Five ways to the least risk within a budget agree: enumeration, the merge, CP-SAT, fixing, and HiGHS."""

from collections.abc import Iterator

import pytest

from solver.optimize.core import BUDGET, Choice, Clash, Group, Member, Row, minimal_core
from solver.optimize.cpsat import SolverSettings, minimize
from solver.optimize.merge import MergedFront
from solver.optimize.points import lexicographic
from solver.optimize.problem import Counts, Problem
from tests.optimize.instances import TOTALS, nasty
from tests.optimize.oracles import FEASIBILITY, enumerated, highs

SETTINGS = SolverSettings()
BLOCK = 125
"""Instances of one test, so that workers share them."""


def budgets(vectors: list[tuple[int, int, int]], seed: int) -> Iterator[int]:
    """Yield bytes that something takes exactly, one byte less, and less than anything."""
    sizes = sorted({vector[0] for vector in vectors})
    for part in (3, 7):
        exact = sizes[len(sizes) * part // 10]
        yield exact - (seed // 4 + part) % 2
    if seed % 8 == 0:
        yield sizes[0] - 1


def check(seed: int) -> int:
    """Check one instance, and return at how many budgets HiGHS has not the best.

    All others must agree with enumeration everywhere.
    """
    instance = nasty(seed)
    vectors = enumerated(instance)
    missed = 0
    for limit in budgets(vectors, seed):
        expected = min(((risk, size) for size, risk, _ in vectors if size <= limit), default=None)
        point = lexicographic(instance, limit, ("risk", "bytes"), SETTINGS)
        answer = minimize(instance, "risk", {"bytes": limit}, SETTINGS)
        front = MergedFront(instance, limit)
        other = highs(instance, limit)
        if expected is None:
            assert point is None
            assert answer is None
            assert other is None
            assert len(front) == 0
            continue
        assert point is not None
        assert answer is not None
        assert (point.risk, point.weights_bytes) == expected
        assert (point.proof.status, point.proof.bound) == ("optimal", expected[0])
        assert instance.vector(answer.counts)[0] <= limit
        assert (answer.proof.value, answer.proof.status) == (expected[0], "optimal")
        assert (int(front.risks[-1]), int(front.sizes[-1])) == expected
        missed += not is_best(other, instance, limit, vectors)
    # Sums up to 2^32 are exact enough for it.
    assert not missed or seed % len(TOTALS) == TOTALS.index(2**43)
    return missed


def is_best(
    found: tuple[int, Counts] | None, instance: Problem, limit: int, vectors: list[tuple[int, int, int]]
) -> bool:
    """Return whether HiGHS has the least risk within the bytes that it takes: the limit, or a bit above it."""
    if found is None:
        return False
    size, risk, _ = instance.vector(found[1])
    assert size <= limit + FEASIBILITY * limit
    return risk == min(risk for other, risk, _ in vectors if other <= max(size, limit))


def check_block(first: int) -> None:
    # See `highs`: 17 of 42,000 budgets, never more than two of a block.
    assert sum(check(seed) for seed in range(first, first + BLOCK)) <= 2


@pytest.mark.parametrize("first", range(0, 1000, BLOCK))
def test_all_ways_agree(first: int) -> None:
    check_block(first)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 21_000, BLOCK))
def test_all_ways_agree_on_many(first: int) -> None:
    check_block(first)


def clash(instance: Problem, budget: int) -> Clash:
    """Return the problem as one whose budget is a row under a literal."""
    groups = tuple(
        Group((Member(tuple(Choice(option.scheme, option.size_bytes) for option in part.options)),), part.count)
        for part in instance.classes
    )
    return Clash((BUDGET,), groups, (Row(instance.fixed[0]),), budget, "native")


@pytest.mark.parametrize("first", range(0, 200, 100))
def test_a_budget_under_a_literal_clashes_below_the_smallest_assignment_alone(first: int) -> None:
    for seed in range(first, first + 100):
        instance = nasty(seed)
        smallest = min(vector[0] for vector in enumerated(instance))
        assert minimal_core(clash(instance, smallest), SETTINGS) == ()
        assert minimal_core(clash(instance, smallest - 1), SETTINGS) == (BUDGET,)
