"""An interrupt keeps what is proven."""

import gc
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from solver.optimize.cpsat import SolverSettings, search
from solver.optimize.front import exact_front
from solver.optimize.points import lexicographic
from solver.optimize.problem import Budget, Problem
from solver.optimize.side_rules import SideRules
from solver.optimize.stopping import SearchInterrupted
from tests.optimize.instances import problem, unit_class, within

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
    # hypothesis times the collector: an interrupt inside of that callback is lost.
    gc.disable()
    yield
    gc.enable()
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


_PROGRAM = """
from dataclasses import replace
from solver.optimize.front import exact_front
from solver.optimize.side_rules import SideRules
from tests.optimize.instances import within
from tests.optimize.test_interrupt import SETTINGS, Budget, large

hard = large(6000)
budget = Budget(within(hard, 0.5))
print("begins", flush=True)
front = exact_front([hard], budget, replace(SETTINGS, merge_work=0), SideRules(most_ticks=1))
print(front.interrupted, front.complete, len(front), front[0].proof.status)
"""


@pytest.mark.slow
def test_an_interrupt_of_the_process_reaches_a_solve() -> None:
    process = subprocess.Popen([sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n"
    # Building the model takes a second; the solve, a minute.
    time.sleep(8)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    shown, _ = process.communicate(timeout=60)
    assert shown == "True False 1 feasible\n"
    assert time.monotonic() - started < 5


@pytest.mark.usefixtures("interrupts")
class TestInterruptedSolve:
    """CP-SAT takes 5 s for the first instance here, and is stopped after one."""

    HARD = large(1500)

    def test_ends_at_once_with_what_it_has_and_a_bound(self) -> None:
        limit = within(self.HARD, 0.5)
        started = time.monotonic()
        timer = interrupt_in(0.5)
        outcome = search(self.HARD, "risk", {"bytes": limit}, SETTINGS)
        timer.join()
        assert outcome.interrupted
        assert outcome.status in {"feasible", "unknown"}
        assert time.monotonic() - started < 3
        if outcome.counts is not None and outcome.bound is not None:
            assert outcome.bound <= self.HARD.vector(outcome.counts)[1]

    def test_that_an_interrupt_does_not_reach_is_the_same(self) -> None:
        small = problem([unit_class("a", 3, [(1, 9, 0), (4, 5, 0), (9, 1, 0)])])
        answers = []

        def solve() -> None:
            answers.append(search(small, "risk", {"bytes": 14}, SETTINGS))

        thread = threading.Thread(target=solve)
        thread.start()
        thread.join()
        solve()
        assert answers[0] == answers[1]

    @pytest.mark.slow
    def test_of_several_stages_says_what_is_not_proven(self) -> None:
        timer = interrupt_in(1)
        with pytest.raises(SearchInterrupted) as stopped:
            lexicographic(self.HARD, within(self.HARD, 0.5), ("risk", "bytes"), SETTINGS, SideRules(most_ticks=1))
        timer.join()
        point = stopped.value.point
        assert point is None or point.proof.status == "feasible"

    def test_leaves_what_a_front_under_rules_has_with_a_gap(self) -> None:
        timer = interrupt_in(1.5)
        budget = Budget(within(self.HARD, 0.5))
        front = exact_front([self.HARD], budget, replace(SETTINGS, merge_work=0), SideRules(most_ticks=1))
        timer.join()
        assert (front.interrupted, front.complete) == (True, False)
        assert [point.proof.status for point in front] == ["feasible"]
        assert 0 < front[0].proof.gap < 1
