"""Each reduction alone: the optimum is the same with and without it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.optimize.fixing import Fixing
from solver.optimize.problem import Option, Problem, Vector
from solver.optimize.reductions import (
    Reduced,
    count_identical,
    divided,
    drop_dominated,
    offset,
    prune_rows,
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
        reduced = drop_dominated(instance)
        assert true_front(reduced.problem) == true_front(instance)
        assert keeps_costs(instance, reduced)


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

    def test_rows_with_another_cache_stay(self) -> None:
        plain = problem([unit_class("a", 1, [(10, 9, 0)])])
        assert len(prune_rows([plain, replace(plain, settings=Settings((), "fp8"))])) == 2
