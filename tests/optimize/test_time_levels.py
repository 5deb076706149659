"""Plans by decoding time against enumeration: none is as good in bytes, risk and time, and better in one of them."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from solver.optimize.cpsat import SolverSettings
from solver.optimize.front import exact_front
from solver.optimize.points import fastest
from solver.optimize.problem import Budget, Point, Problem
from solver.optimize.reductions import reduced
from solver.optimize.side_rules import NO_RULES, SideRules
from solver.optimize.stopping import Stops
from solver.optimize.time_levels import least_risky_within, limits_between, time_levels
from tests.optimize.instances import all_counts, problem, problems, unit_class

SETTINGS = SolverSettings()
Costs = tuple[int, int, int]


@st.composite
def rows(draw: st.DrawFn) -> list[Problem]:
    """Draw one problem under two rows of settings."""
    first = draw(problems())
    return [first, replace(first, fixed=(first.fixed[0] // 2, 10**5, 1), kv_cache_bytes=7, cache_ticks=5)]


def costs_of(point: Point) -> Costs:
    return point.total_bytes, point.risk, point.decode_ticks


def all_costs(instances: list[Problem], budget: Budget) -> list[Costs]:
    found = []
    for instance in instances:
        for counts in all_counts(instance):
            size, risk, ticks = instance.vector(counts)
            found.append((size + instance.service_bytes, risk, ticks + instance.cache_ticks))
    return [cost for cost in found if cost[0] <= budget.size_bytes]


def middle(instances: list[Problem]) -> Budget:
    sizes = sorted(cost[0] for cost in all_costs(instances, Budget(2**60)))
    return Budget(sizes[len(sizes) // 2])


class TestLevels:
    @given(rows(), st.integers(1, 4))
    @settings(max_examples=40, deadline=None)
    def test_no_plan_is_as_good_in_all_and_better_in_one(self, instances: list[Problem], count: int) -> None:
        budget = middle(instances)
        quickest = fastest(instances, budget, SETTINGS)
        safest = exact_front(list(map(reduced, instances)), budget, SETTINGS)[-1]
        assert quickest is not None
        limits = limits_between(quickest.decode_ticks, safest.decode_ticks, count)
        levels = time_levels(instances, budget, SETTINGS, NO_RULES, limits, Stops())
        assert [level.most_ticks for level in levels] == limits
        everything = all_costs(instances, budget)
        for point in (quickest, *(level.point for level in levels)):
            ours = costs_of(point)
            assert ours in everything
            assert point.proof.status == "optimal"
            assert not any(
                all(theirs <= own for theirs, own in zip(cost, ours, strict=True)) and cost != ours
                for cost in everything
            )
        for level in levels:
            within = [cost for cost in everything if cost[2] <= level.most_ticks]
            assert level.point.risk == min(cost[1] for cost in within)

    @given(rows())
    @settings(max_examples=20, deadline=None)
    def test_a_plan_of_the_front_is_beaten_in_all_three_by_none(self, instances: list[Problem]) -> None:
        budget = middle(instances)
        everything = all_costs(instances, budget)
        for point in exact_front(list(map(reduced, instances)), budget, SETTINGS):
            ours = costs_of(point)
            assert not any(all(theirs < own for theirs, own in zip(cost, ours, strict=True)) for cost in everything)

    @given(problems())
    @settings(max_examples=20, deadline=None)
    def test_keep_the_rules_that_there_are(self, instance: Problem) -> None:
        budget = Budget(2**60)
        times = sorted({cost[2] for cost in all_costs([instance], budget)})
        rules = SideRules(most_ticks=times[len(times) // 2])
        point = least_risky_within([instance], budget, SETTINGS, rules, times[-1])
        assert point is not None
        kept = [cost[1] for cost in all_costs([instance], budget) if cost[2] <= times[len(times) // 2]]
        assert point.risk == min(kept)

    def test_under_the_shortest_time_there_is_no_plan(self) -> None:
        instance = problem([unit_class("a", 1, [(1, 9, 5), (4, 1, 9)])])
        levels = time_levels([instance], Budget(9), SETTINGS, NO_RULES, [4, 5, 9], Stops())
        assert [(level.most_ticks, level.point.risk) for level in levels] == [(5, 9), (9, 1)]


def test_limits_lie_between_the_ends_and_differ() -> None:
    assert limits_between(10, 50, 3) == [20, 30, 40]
    assert limits_between(10, 12, 5) == [11]
    assert limits_between(10, 10, 5) == []
