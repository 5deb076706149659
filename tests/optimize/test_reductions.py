"""Each reduction alone: the optimum is the same with and without it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.optimize.cpsat import SolverSettings
from solver.optimize.fixing import Fixing
from solver.optimize.front import exact_front
from solver.optimize.problem import Budget, Option, Problem, Vector
from solver.optimize.reductions import (
    Reduced,
    count_identical,
    divided,
    drop_dominated,
    offset,
    prune_rows,
    reduced,
    without_dominated,
)
from solver.rules.settings import Settings
from tests.optimize.instances import all_counts, problem, problems, unit_class


def true_front(instance: Problem) -> set[Vector]:
    """Return all costs that no assignment beats in bytes, risk and time."""
    front: list[Vector] = []
    for vector in sorted({instance.vector(counts) for counts in all_counts(instance)}):
        if not any(all(map(int.__le__, other, vector)) for other in front):
            front.append(vector)
    return set(front)


def keeps_costs(whole: Problem, reduced: Reduced) -> bool:
    """Return whether every assignment of the reduced problem is one of the whole at the same costs."""
    return all(
        whole.vector(expanded) == reduced.problem.vector(counts)
        and all(
            sum(taken) == part.count and min(taken) >= 0 for part, taken in zip(whole.classes, expanded, strict=True)
        )
        for counts in all_counts(reduced.problem)
        for expanded in [reduced.expand(counts)]
    )


@st.composite
def repeated(draw: st.DrawFn) -> Problem:
    """Draw a problem of which some classes are there twice."""
    instance = draw(problems())
    twice = draw(st.lists(st.sampled_from(instance.classes), min_size=1, max_size=2))
    return replace(instance, classes=(*twice, *instance.classes)[:4])


ROWS = st.lists(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=4), min_size=1, max_size=4)


class TestRows:
    @given(ROWS, st.data())
    def test_offset_and_divisor_give_every_cost_back(self, rows: list[list[int]], data: st.DataObject) -> None:
        units = [data.draw(st.integers(1, 5)) for _ in rows]
        shifted, base = offset(rows, units)
        small, divisor = divided(shifted)
        assert all(min(row) == 0 for row in small)
        places = [
            [data.draw(st.integers(0, len(row) - 1)) for _ in range(count)]
            for row, count in zip(rows, units, strict=True)
        ]
        cost = sum(row[place] for row, taken in zip(rows, places, strict=True) for place in taken)
        assert cost == base + divisor * sum(
            row[place] for row, taken in zip(small, places, strict=True) for place in taken
        )

    @given(ROWS)
    def test_after_division_nothing_divides_all(self, rows: list[list[int]]) -> None:
        small, _ = divided(rows)
        assert divided(small)[1] == 1

    def test_rows_of_zeros_are_divided_by_one(self) -> None:
        assert divided([[0, 0], [0]]) == ([[0, 0], [0]], 1)


class TestDropDominated:
    @given(problems())
    @settings(max_examples=100, deadline=None)
    def test_keeps_the_front(self, instance: Problem) -> None:
        smaller = drop_dominated(instance)
        assert true_front(smaller.problem) == true_front(instance)
        assert keeps_costs(instance, smaller)


class TestCountIdentical:
    @given(repeated())
    @settings(max_examples=50, deadline=None)
    def test_keeps_all_costs(self, instance: Problem) -> None:
        reduced = count_identical(instance)
        costs = {instance.vector(counts) for counts in all_counts(instance)}
        assert {reduced.problem.vector(counts) for counts in all_counts(reduced.problem)} == costs
        assert keeps_costs(instance, reduced)
        assert len({tuple(o.vector for o in part.options) for part in reduced.problem.classes}) == len(
            reduced.problem.classes
        )

    def test_the_first_class_gets_the_first_options(self) -> None:
        options = [(1, 9, 0), (2, 5, 0)]
        reduced = count_identical(problem([unit_class("a", 2, options), unit_class("b", 3, options)]))
        assert [part.count for part in reduced.problem.classes] == [5]
        assert reduced.expand(((3, 2),)) == ((2, 0), (1, 2))


class TestFixing:
    @given(problems(), st.sampled_from(["risk", "time"]), st.floats(0, 1), st.floats(0, 1.2))
    @settings(max_examples=150, deadline=None)
    def test_the_core_has_all_that_is_within_the_limits(
        self, instance: Problem, objective: str, part: float, share: float
    ) -> None:
        axis = 1 if objective == "risk" else 2
        vectors = {instance.vector(counts) for counts in all_counts(instance)}
        sizes = sorted({vector[0] for vector in vectors})
        fixing = Fixing(instance, objective, sizes[round(part * (len(sizes) - 1))])  # type: ignore[arg-type]
        # The limits need not be those that the price was found for.
        most_bytes = round(share * sizes[-1])
        most_value = sorted(vector[axis] for vector in vectors)[len(vectors) // 2]
        core = fixing.core({"bytes": most_bytes, objective: most_value})  # type: ignore[dict-item]
        inside = {vector for vector in vectors if vector[0] <= most_bytes and vector[axis] <= most_value}
        if core is None:
            assert not inside
        else:
            assert inside <= {core.problem.vector(counts) for counts in all_counts(core.problem)}
            assert keeps_costs(instance, core)

    def test_limits_that_leave_nothing_leave_no_core(self) -> None:
        instance = problem([unit_class("a", 2, [(1, 9, 0), (3, 5, 0)])])
        fixing = Fixing(instance, "risk", 4)
        assert fixing.core({"bytes": 4, "risk": 13}) is None

    def test_nothing_so_small_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="as small as 1 bytes"):
            Fixing(problem([unit_class("a", 2, [(1, 9, 0)])]), "risk", 1)


class TestDominance:
    def test_an_option_that_is_only_fast_is_kept(self) -> None:
        slow, fast = Option("slow", 10, 1, 9), Option("fast", 10, 2, 1)
        assert set(without_dominated([slow, fast])) == {slow, fast}

    def test_of_equal_options_the_first_by_name_stays(self) -> None:
        assert [option.scheme for option in without_dominated([Option("b", 1, 1, 1), Option("a", 1, 1, 1)])] == ["a"]


@st.composite
def rows(draw: st.DrawFn) -> list[Problem]:
    """Draw problems of a few rows of settings that differ in some costs, with classes that reductions may join."""
    plain = draw(problems())
    again = [replace(part, units=unit_class("part0", 4, [(0, 0, 0)]).units[3:]) for part in plain.classes[:1]]
    plain = replace(plain, classes=(*plain.classes, *again)[:4])
    drawn = [plain]
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(plain.classes) - 1))
        changed = [
            Option(o.scheme, *(value + draw(st.integers(-2, 2)) * draw(st.booleans()) for value in o.vector))
            for o in plain.classes[place].options
        ]
        part = replace(plain.classes[place], options=tuple(changed[: draw(st.integers(1, len(changed)))]))
        drawn.append(
            replace(
                plain,
                classes=(*plain.classes[:place], part, *plain.classes[place + 1 :]),
                fixed=(plain.fixed[0] + draw(st.integers(0, 2)), draw(st.integers(0, 2)), 0),
                overhead_bytes=draw(st.integers(0, 2)),
            )
        )
    return drawn


class TestPlainFront:
    @given(rows(), st.floats(0, 1))
    @settings(max_examples=100, deadline=None)
    def test_is_the_same_with_and_without_reductions(self, whole: list[Problem], part: float) -> None:
        costs = [
            (each.vector(counts)[0] + each.service_bytes, each.vector(counts)[1])
            for each in whole
            for counts in all_counts(each)
        ]
        limit = sorted(total for total, _ in costs)[round(part * (len(costs) - 1))]
        expected: list[tuple[int, int]] = []
        for total, risk in sorted(costs):
            if total <= limit and (not expected or risk < expected[-1][1]):
                expected.append((total, risk))
        budget = Budget(limit)
        for kept in (whole, [reduced(each) for each in whole], prune_rows([reduced(each) for each in whole])):
            front = exact_front(kept, budget, SolverSettings())
            assert list(zip(front.totals.tolist(), front.risks.tolist(), strict=True)) == expected

    @given(rows())
    @settings(max_examples=100, deadline=None)
    def test_pruned_rows_have_nothing_that_the_others_have_not(self, whole: list[Problem]) -> None:
        def costs(of: list[Problem]) -> set[Vector]:
            return {
                (size + each.service_bytes, risk, ticks + each.cache_ticks)
                for each in of
                for counts in all_counts(each)
                for size, risk, ticks in [each.vector(counts)]
            }

        kept = costs(prune_rows(whole))
        assert all(any(all(map(int.__le__, ours, theirs)) for ours in kept) for theirs in costs(whole) - kept)


class TestPruneRows:
    def test_a_row_that_another_beats_everywhere_is_pruned(self) -> None:
        plain = problem([unit_class("a", 2, [(10, 9, 0), (20, 3, 0)])])
        better = replace(
            plain,
            settings=Settings((), None),
            classes=(replace(plain.classes[0], options=(Option("scheme0", 10, 5, 0), Option("scheme1", 20, 3, 0))),),
        )
        assert prune_rows([plain, better]) == [better]
        assert prune_rows([better, plain]) == [better]

    def test_a_row_with_a_scheme_of_its_own_stays(self) -> None:
        plain = problem([unit_class("a", 2, [(10, 9, 0), (20, 3, 0)])])
        narrower = replace(plain, classes=(replace(plain.classes[0], options=(Option("scheme0", 10, 1, 0),)),))
        assert len(prune_rows([plain, narrower])) == 2

    @pytest.mark.parametrize("axis", range(3))
    def test_a_row_that_is_safer_but_larger_or_slower_prunes_nothing(self, axis: int) -> None:
        plain = problem([unit_class("a", 2, [(10, 9, 5)])])
        other = [10, 8, 5]
        other[axis] = 11
        safer = replace(plain, classes=(replace(plain.classes[0], options=(Option("scheme0", *other),)),))
        assert prune_rows([plain, safer]) == ([plain] if axis == 1 else [plain, safer])
        costly = replace(plain, fixed=(int(axis == 0), int(axis == 1), int(axis == 2)))
        better = replace(costly, classes=(replace(plain.classes[0], options=(Option("scheme0", 9, 8, 4),)),))
        assert prune_rows([plain, better]) == [plain, better]

    def test_rows_with_another_cache_stay(self) -> None:
        plain = problem([unit_class("a", 1, [(10, 9, 0)])])
        assert len(prune_rows([plain, replace(plain, settings=Settings((), "fp8"))])) == 2
