"""Globs over block numbers match exactly the numbers that they are made for."""

from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from solver.plan.globs import number_globs


class TestNumberGlobs:
    @given(st.sets(st.integers(0, 400), min_size=1))
    def test_match_these_numbers_and_no_others(self, numbers: set[int]) -> None:
        globs = number_globs(numbers)
        assert {n for n in range(1200) if any(fnmatchcase(str(n), glob) for glob in globs)} == numbers

    def test_a_run_of_blocks_needs_one_glob_for_each_number_of_digits(self) -> None:
        assert number_globs(range(36)) == ["[0-9]", "[1-2][0-9]", "3[0-5]"]
        assert number_globs(range(10)) == ["[0-9]"]
        assert number_globs([35]) == ["35"]

    def test_gaps_stay_gaps(self) -> None:
        assert number_globs([0, 1, 2, 5, 30, 32]) == ["[0-25]", "3[02]"]
