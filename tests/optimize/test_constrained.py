"""Fronts under side rules against enumeration: the complete ones, and those that are cut short."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from solver.optimize.cpsat import SolverSettings
from solver.optimize.front import exact_front
from solver.optimize.groups import GRANULARITIES, Granularity, separated
from solver.optimize.points import lexicographic, safest
from solver.optimize.problem import Budget, Counts, Problem
from solver.optimize.side_rules import SideRules
from tests.optimize.test_side_rules import all_plans, front_of, in_groups, models, quantizes, rule_for

SETTINGS = SolverSettings(points_between=10_000)


def kept(problem: Problem, rules: SideRules) -> list[Counts]:
    """Return all assignments that keep the rules, judged one by one."""
    form, apart = replace(rules, granularity="unit"), separated(problem)
    return [
        counts
        for plan, counts in all_plans(problem)
        if form.broken_by(apart, counts) is None
        and (quantizes(problem, plan) if rules.granularity == "unit" else in_groups(problem, plan, rules.granularity))
    ]


@st.composite
def rows(draw: st.DrawFn) -> list[Problem]:
    """Draw one model under one or two rows of settings, whose fixed parts differ."""
    first = draw(models())
    other = replace(first, fixed=(draw(st.integers(0, 2**31)), draw(st.integers(0, 500)), 3), kv_cache_bytes=1)
    return [first, other][: draw(st.integers(1, 2))]


def rules_for(problems: list[Problem], data: st.DataObject) -> SideRules:
    """Draw rules of every kind, some of them together."""
    granularity: Granularity = data.draw(st.sampled_from(GRANULARITIES))
    return SideRules(
        granularity,
        rule_for(problems[0], data) if data.draw(st.booleans()) else None,
        data.draw(st.sampled_from([None, 1, 2])),
        data.draw(st.sampled_from([None, 150, 300])),
    )


def true_front(problems: list[Problem], rules: SideRules, budget: Budget) -> list[tuple[int, int]]:
    costs = []
    for problem in problems:
        for counts in kept(problem, rules):
            size, risk, _ = separated(problem).vector(counts)
            costs.append((size + problem.service_bytes, risk))
    return front_of([cost for cost in costs if cost[0] <= budget.size_bytes])


class TestConstrainedFront:
    @settings(max_examples=80, deadline=None)
    @given(rows(), st.data())
    def test_is_every_plan_that_no_other_beats(self, problems: list[Problem], data: st.DataObject) -> None:
        rules, budget = rules_for(problems, data), Budget(data.draw(st.sampled_from([2**33, 2**60])))
        front = exact_front(problems, budget, SETTINGS, rules)
        assert front.complete
        assert [(point.total_bytes, point.risk) for point in front] == true_front(problems, rules, budget)
        assert {point.proof.status for point in front} <= {"optimal"}

    @settings(max_examples=40, deadline=None)
    @given(rows(), st.data())
    def test_that_is_cut_short_has_its_ends_and_says_so(self, problems: list[Problem], data: st.DataObject) -> None:
        rules, budget = rules_for(problems, data), Budget(2**60)
        front = exact_front(problems, budget, replace(SETTINGS, points_between=1), rules)
        expected = true_front(problems, rules, budget)
        found = [(point.total_bytes, point.risk) for point in front]
        assert set(found) <= set(expected)
        assert (found[:1], found[-1:]) == (expected[:1], expected[-1:])
        assert found == expected or not front.complete

    @settings(max_examples=40, deadline=None)
    @given(rows(), st.data())
    def test_that_no_merge_can_bound_is_sampled(self, problems: list[Problem], data: st.DataObject) -> None:
        rules, budget = rules_for(problems, data), Budget(2**60)
        if rules.plain:
            return
        front = exact_front(problems, budget, replace(SETTINGS, merge_work=0), rules)
        expected = true_front(problems, rules, budget)
        assert {(point.total_bytes, point.risk) for point in front} <= set(expected)
        assert bool(len(front)) == bool(expected)

    @settings(max_examples=40, deadline=None)
    @given(rows(), st.data())
    def test_ends_in_the_safest_point(self, problems: list[Problem], data: st.DataObject) -> None:
        rules, budget = rules_for(problems, data), Budget(data.draw(st.sampled_from([2**33, 2**60])))
        point = safest(problems, budget, SETTINGS, rules)
        found = None if point is None else point.risk
        least = min((risk for _, risk in true_front(problems, rules, budget)), default=None)
        assert found == least

    @settings(max_examples=40, deadline=None)
    @given(models(), st.data())
    def test_a_wrong_bound_would_be_seen(self, problem: Problem, data: st.DataObject) -> None:
        rules = replace(rules_for([problem], data), granularity="unit", most_ticks=300)
        free = lexicographic(problem, 2**60, ("risk",), SETTINGS, rules)
        if free is None:
            return
        bounded = lexicographic(problem, 2**60, ("risk",), SETTINGS, rules, bound=lambda *_: free.risk)
        assert bounded is not None
        assert bounded.risk == free.risk
        # Above what is there, a bound leaves nothing: it is a row of the model.
        assert lexicographic(problem, 2**60, ("risk",), SETTINGS, rules, bound=lambda *_: 10**9) is None
