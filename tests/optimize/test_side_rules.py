"""Side rules against enumeration: every assignment of small problems is tried, and judged by its units alone."""

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.catalog import NATIVE
from solver.intake.inventory import LayerFamily
from solver.intake.record import BlockRange
from solver.optimize.cpsat import SolverSettings
from solver.optimize.different import Difference, least_risky_different
from solver.optimize.front import exact_front
from solver.optimize.groups import GRANULARITIES, Granularity, separated
from solver.optimize.points import fastest, lexicographic, uniform_points
from solver.optimize.problem import Budget, Counts, Option, Problem, UnitClass
from solver.optimize.reductions import reduced
from solver.optimize.side_rules import NO_RULES, Overrides, SideRules, count_overrides, line_of
from solver.rules.settings import Settings
from solver.rules.units import Member, Unit

PLAIN, CACHED = Settings((), None), Settings((), "fp8")
ROLES = ("q", "o", "down")
NAMES = ("a", "b", NATIVE)
SETTINGS = SolverSettings()


def a_unit(role: str, block: int) -> Unit:
    family = LayerFamily(
        name=f"model.layers.{{block}}.{role}_proj",
        role=role,
        in_features=64,
        out_features=64,
        blocks=(BlockRange(first=0, last=9),),
    )
    return Unit(f"block {block} {role}", (Member(family, block),))


@st.composite
def models(draw: st.DrawFn) -> Problem:
    """Draw up to three roles in two blocks; what a role lacks is drawn too, and blocks may cost the same."""
    classes: list[UnitClass] = []
    for role in ROLES[: draw(st.integers(1, 3))]:
        names = draw(st.sets(st.sampled_from(NAMES), min_size=1))
        alike = draw(st.booleans())
        costs = [
            tuple(
                Option(name, 2 * draw(st.integers(1, 2**31)) + 1, draw(st.integers(0, 999)), draw(st.integers(0, 99)))
                for name in sorted(names)
            )
            for _ in range(1 if alike else 2)
        ]
        units = [a_unit(role, block) for block in (0, 1)]
        if alike:
            classes.append(UnitClass(tuple(units), costs[0]))
        else:
            classes.extend(UnitClass((unit,), options) for unit, options in zip(units, costs, strict=True))
    row = draw(st.sampled_from([PLAIN, CACHED]))
    return Problem(row, tuple(classes), (draw(st.integers(0, 9)), 0, 0), 5, 7, avoids_native=draw(st.booleans()))


Plan = dict[Unit, str]


def all_plans(problem: Problem) -> Iterator[tuple[Plan, Counts]]:
    """Yield every scheme for every unit, with its counts in the separated problem."""
    parts = separated(problem).classes
    for chosen in product(*(range(len(part.options)) for part in parts)):
        plan = {part.units[0]: part.options[place].scheme for part, place in zip(parts, chosen, strict=True)}
        counts = tuple(
            tuple(int(place == number) for number in range(len(part.options)))
            for part, place in zip(parts, chosen, strict=True)
        )
        yield plan, counts


def may_have(problem: Problem) -> dict[Unit, set[str]]:
    return {unit: {option.scheme for option in part.options} for part in problem.classes for unit in part.units}


def in_groups(problem: Problem, plan: Plan, granularity: Granularity) -> bool:
    """Judge whether each group has one scheme wherever it may be had, and native elsewhere."""
    open_to = may_have(problem)
    keys = {"uniform": lambda unit: 0, "block": lambda unit: unit.first_block}
    key = keys.get(granularity, lambda unit: unit.members[0].family.role)
    free = [unit for unit in plan if len(open_to[unit]) > 1]
    for group in {key(unit) for unit in free}:
        units = [unit for unit in free if key(unit) == group]
        names = set().union(*(open_to[unit] for unit in units)) - ({NATIVE} if problem.avoids_native else set())
        if not any(all(plan[u] == (name if name in open_to[u] else NATIVE) for u in units) for name in names):
            return False
    return True


def quantizes(problem: Problem, plan: Plan) -> bool:
    open_to = may_have(problem)
    return not problem.avoids_native or all(name != NATIVE or len(open_to[unit]) == 1 for unit, name in plan.items())


def overrides_of(plan: Plan, rule: Overrides, *, cached: bool) -> int:
    """Count patterns: each line may be given one scheme at once, and each unit beside it takes its own."""
    lines = {line_of(unit) for unit in plan}
    found = []
    for whole in sorted(set(plan.values()) - {NATIVE}):
        if rule.spoils.get(whole, frozenset()) & set(plan.values()):
            continue
        total = 0
        for line in lines:
            names = [name for unit, name in plan.items() if line_of(unit) == line]
            ways = []
            for own in set(names):
                beside = sum(name != own for name in names)
                if own != NATIVE or beside == 0:
                    ways.append(rule.entries[line] * (beside + (own != whole)))
            if whole not in names and NATIVE in names:
                ways.append(rule.entries[line] * len(names))
            ways.append(rule.entries[line] * sum(name != whole for name in names) if whole in names else ways[0])
            total += min(ways)
        found.append(total + (rule.cache_entries if cached and total else 0))
    nothing = sum(rule.entries[line] for line in lines) + (rule.cache_entries if cached else 0)
    return min(found, default=rule.limit + 1 if set(plan.values()) - {NATIVE} else nothing)


def front_of(costs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    points: list[tuple[int, int]] = []
    for size, risk in sorted(costs):
        if not points or risk < points[-1][1]:
            points.append((size, risk))
    return points


BUDGET = Budget(2**60)


class TestGranularity:
    @pytest.mark.parametrize("granularity", GRANULARITIES[:-1])
    @settings(max_examples=60, deadline=None)
    @given(problem=models())
    def test_gives_the_front_of_all_plans_of_that_kind(self, granularity: Granularity, problem: Problem) -> None:
        costs = [
            separated(problem).vector(counts)[:2]
            for plan, counts in all_plans(problem)
            if in_groups(problem, plan, granularity)
        ]
        front = exact_front([problem], BUDGET, SETTINGS, SideRules(granularity))
        assert front.complete
        assert [(point.weights_bytes, point.risk) for point in front] == front_of(costs)

    @settings(max_examples=40, deadline=None)
    @given(models())
    def test_uniform_plans_are_all_with_one_scheme(self, problem: Problem) -> None:
        found = {point.vector for point in uniform_points([problem], BUDGET)}
        plans = list(all_plans(problem))
        kept = {
            separated(problem).vector(counts)
            for plan, counts in plans
            if in_groups(problem, plan, "uniform") and len(set(plan.values()) - {NATIVE}) == 1
        }
        assert found == kept

    def test_a_dominated_option_may_be_what_a_group_takes(self) -> None:
        # Alone the first unit would have `b`, which is better in everything; only `a` is open to both.
        first = (Option("a", 9, 9, 9), Option("b", 1, 1, 1))
        problem = Problem(
            PLAIN,
            (
                UnitClass((a_unit("q", 0),), first),
                UnitClass((a_unit("q", 1),), (Option("a", 3, 3, 3), Option("c", 1, 9, 1))),
            ),
            (0, 0, 0),
            0,
            0,
        )
        [point] = exact_front([problem], BUDGET, SETTINGS, SideRules("role"))
        assert (point.weights_bytes, point.risk) == (12, 12)
        assert [option.scheme for option in reduced(problem).classes[0].options] == ["b"]


class TestOverrides:
    @settings(max_examples=150, deadline=None)
    @given(models(), st.data())
    def test_are_counted_as_patterns_are(self, problem: Problem, data: st.DataObject) -> None:
        rule = rule_for(problem, data)
        for plan, counts in all_plans(problem):
            cached = problem.settings.kv_cache_scheme is not None
            assert count_overrides(separated(problem), counts, rule) == overrides_of(plan, rule, cached=cached)

    @settings(max_examples=60, deadline=None)
    @given(models(), st.data())
    def test_are_limited_exactly(self, problem: Problem, data: st.DataObject) -> None:
        rule = rule_for(problem, data)
        cached = problem.settings.kv_cache_scheme is not None
        risks = [
            separated(problem).vector(counts)[1]
            for plan, counts in all_plans(problem)
            if quantizes(problem, plan) and overrides_of(plan, rule, cached=cached) <= rule.limit
        ]
        rules = SideRules(overrides=rule)
        point = lexicographic(problem, None, ("risk",), SETTINGS, rules)
        assert (None if point is None else point.risk) == min(risks, default=None)


def rule_for(problem: Problem, data: st.DataObject) -> Overrides:
    lines = {line_of(part.units[0]) for part in problem.classes}
    entries = {line: data.draw(st.integers(1, 2)) for line in sorted(lines)}
    spoils = data.draw(st.sampled_from([{}, {"a": frozenset({"b"})}, {"b": frozenset({"a"})}]))
    return Overrides(data.draw(st.integers(0, 5)), entries, data.draw(st.integers(0, 2)), spoils)


class TestOtherLimits:
    @settings(max_examples=60, deadline=None)
    @given(models(), st.integers(1, 2))
    def test_on_schemes_leave_the_best_of_what_is_left(self, problem: Problem, most: int) -> None:
        risks = [
            separated(problem).vector(counts)[1]
            for plan, counts in all_plans(problem)
            if quantizes(problem, plan) and len(set(plan.values()) - {NATIVE}) <= most
        ]
        point = lexicographic(problem, None, ("risk",), SETTINGS, SideRules(max_schemes=most))
        assert (None if point is None else point.risk) == min(risks, default=None)

    @settings(max_examples=60, deadline=None)
    @given(models(), st.integers(0, 300))
    def test_on_time_count_the_reading_of_the_cache(self, problem: Problem, ticks: int) -> None:
        risks = [
            separated(problem).vector(counts)[1]
            for plan, counts in all_plans(problem)
            if quantizes(problem, plan) and separated(problem).vector(counts)[2] + problem.cache_ticks <= ticks
        ]
        point = lexicographic(problem, None, ("risk",), SETTINGS, SideRules(most_ticks=ticks))
        assert (None if point is None else point.risk) == min(risks, default=None)

    @settings(max_examples=40, deadline=None)
    @given(models())
    def test_hold_for_the_fastest_too(self, problem: Problem) -> None:
        rules = SideRules(max_schemes=1)
        times = [
            separated(problem).vector(counts)[2]
            for plan, counts in all_plans(problem)
            if quantizes(problem, plan) and len(set(plan.values()) - {NATIVE}) <= 1
        ]
        point = fastest([problem], BUDGET, SETTINGS, rules)
        assert (None if point is None else point.vector[2]) == min(times, default=None)

    @settings(max_examples=40, deadline=None)
    @given(models())
    def test_fronts_under_rules_are_made_of_plans_that_keep_them(self, problem: Problem) -> None:
        rules = SideRules("role", max_schemes=1)
        front = exact_front([problem], BUDGET, SETTINGS, rules)
        kept = {
            separated(problem).vector(counts)[:2]
            for plan, counts in all_plans(problem)
            if in_groups(problem, plan, "role") and len(set(plan.values()) - {NATIVE}) <= 1
        }
        assert {(point.weights_bytes, point.risk) for point in front} <= set(front_of(list(kept)))
        assert bool(len(front)) == bool(kept)


class TestDifferent:
    @settings(max_examples=60, deadline=None)
    @given(models(), st.sampled_from([0.25, 0.5, 1.0]))
    def test_plans_have_other_schemes_for_that_share(self, problem: Problem, share: float) -> None:
        plans = [
            (plan, separated(problem).vector(counts)[1])
            for plan, counts in all_plans(problem)
            if in_groups(problem, plan, "role")
        ]
        if not plans:
            return
        first = min(plans, key=lambda item: item[1])[0]
        units = len(first)
        taken = {unit.members[0]: name for unit, name in first.items()}
        risks = [
            risk for plan, risk in plans if sum(plan[unit] != first[unit] for unit in plan) >= share * units - 1e-9
        ]
        point = least_risky_different([problem], BUDGET, SETTINGS, NO_RULES, Difference(share, (taken,)))
        assert (None if point is None else point.risk) == min(risks, default=None)
