"""What a replica sustains is what a simulated one does, and its traffic needs what it says."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.capacity.speed import WHOLE, Traffic, estimated, measured


def simulated(slots: int, tokens: int, prefill: float, step: float, requests: int) -> tuple[float, float]:
    """Return requests per second and tokens per second of a user, of a replica whose slots are always taken.

    Prompts are computed one at a time, all sequences take a step together; they begin evenly spread.
    """
    left = [1 + slot * tokens // slots for slot in range(slots)]
    now, started, served, longest = 0.0, [0.0] * slots, 0, 0.0
    finished_at = []
    while served < requests:
        now += step
        for slot in range(slots):
            left[slot] -= 1
            if left[slot] == 0:
                served += 1
                finished_at.append(now)
                longest = max(longest, now - started[slot])
                now += prefill
                left[slot], started[slot] = tokens, now
    settled = finished_at[slots:]
    return (len(settled) - 1) / (settled[-1] - settled[0]), tokens / longest


@pytest.mark.parametrize(
    ("slots", "tokens", "prefill", "step"), [(1, 50, 0.1, 0.01), (8, 64, 0.05, 0.02), (32, 200, 0.4, 0.03)]
)
def test_a_replica_sustains_what_a_simulated_one_does(slots: int, tokens: int, prefill: float, step: float) -> None:
    rate, user = simulated(slots, tokens, prefill, step, 40 * slots)
    speed = estimated(slots, tokens, prefill, step)
    assert float(speed.requests_per_second) == pytest.approx(rate, rel=0.03)
    assert float(1 / speed.user_seconds) == pytest.approx(user, rel=0.03)


def test_measured_throughput_is_taken_as_it_is() -> None:
    speed = measured(10, 100, Fraction(500))
    assert speed.requests_per_second == 5
    assert 1 / speed.user_seconds == 50


@given(
    slots=st.integers(1, 64),
    tokens=st.integers(1, 500),
    prefill=st.floats(0.001, 1),
    step=st.floats(0.001, 0.1),
    rate=st.integers(1, 50),
    users=st.none() | st.integers(1, 500),
)
def test_replicas_are_the_fewest_that_carry_the_traffic(
    slots: int, tokens: int, prefill: float, step: float, rate: int, users: int | None
) -> None:
    speed, traffic = estimated(slots, tokens, prefill, step), Traffic(Fraction(rate), users, None)
    replicas = traffic.replicas(speed)

    def carries(count: int) -> bool:
        return count * speed.requests_per_second >= rate and count * slots >= (users or 0)

    assert carries(replicas)
    assert replicas == 1 or not carries(replicas - 1)
    assert 0 < traffic.busy(speed, replicas) <= WHOLE
    # What a share leaves over is less than its last step.
    share = Fraction(traffic.busy(speed, replicas), WHOLE)
    assert (
        0 <= share * replicas * speed.requests_per_second - rate < Fraction(replicas, WHOLE) * speed.requests_per_second
    )


def test_a_floor_takes_its_share_of_the_time_and_users_without_one_take_all() -> None:
    speed = estimated(4, 100, 0.0, 1 / 128)
    assert Traffic(None, 4, Fraction(32)).busy(speed, 1) == WHOLE // 4
    assert Traffic(Fraction(1, 10), None, Fraction(32)).busy(speed, 1) == WHOLE // 4
    assert Traffic(None, 4, None).busy(speed, 1) == WHOLE


def test_of_requests_and_users_the_larger_need_holds() -> None:
    speed = estimated(10, 100, 0.0, 0.01)
    assert Traffic(Fraction(5), 2, None).sequences(speed) == pytest.approx(5)
    assert Traffic(Fraction(5), 30, None).sequences(speed) == 30
    assert Traffic(Fraction(5), 30, None).replicas(speed) == 3
