"""The most of something that fits."""

from hypothesis import given
from hypothesis import strategies as st

from solver.cost.limits import largest


@given(bound=st.integers(-5, 2000), limit=st.integers(0, 1000))
def test_the_largest_is_that_of_trying_all(bound: int, limit: int) -> None:
    tried = max((number for number in range(1, limit + 1) if number <= bound), default=0)
    assert largest(lambda number: number <= bound, limit) == tried
