"""An interrupt keeps what is proven."""

import random
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from solver.optimize.cpsat import SolverSettings
from solver.optimize.front import exact_front
from solver.optimize.problem import Budget, Problem
from tests.optimize.instances import problem, unit_class

BUDGET, SETTINGS = Budget(2**60), SolverSettings(merge_work=10**12)


def large(classes: int) -> Problem:
    """Return a problem whose front takes seconds to merge: sizes without a common divisor."""
    draw = random.Random(7)
    made = []
    for number in range(classes):
        sizes = sorted(draw.randrange(10**6, 10**9) for _ in range(6))
        risks = sorted((draw.randrange(10**6) for _ in range(6)), reverse=True)
        made.append(unit_class(f"part{number}", 1, [(size, risk, 0) for size, risk in zip(sizes, risks, strict=True)]))
    return problem(made)


@pytest.fixture
def interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_in(seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, signal.raise_signal, [signal.SIGINT])
    timer.start()
    return timer


@pytest.mark.usefixtures("interrupts")
class TestInterrupted:
    def test_front_has_the_rows_that_are_done(self) -> None:
        small = problem([unit_class("a", 2, [(1, 9, 0), (5, 3, 0)])])
        long = replace(large(400), fixed=(10**12, 0, 0))
        whole = exact_front([small], BUDGET, SETTINGS)
        started = time.monotonic()
        timer = interrupt_in(0.5)
        front = exact_front([small, long], BUDGET, SETTINGS)
        timer.join()
        assert front.interrupted
        assert not front.complete
        assert not whole.interrupted
        assert [point.vector for point in front] == [point.vector for point in whole]
        assert time.monotonic() - started < 20

    def test_before_anything_is_done_there_is_no_front(self) -> None:
        timer = interrupt_in(0.5)
        with pytest.raises(KeyboardInterrupt):
            exact_front([large(400)], BUDGET, SETTINGS)
        timer.join()
