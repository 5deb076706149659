"""Workers that end before their time: what they had in work is done again, and what ends them always is a row."""

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest

from solver.sweep import Sweep, SweepResult, sweep
from tests.sweep.conftest import SMALL, spec

pytestmark = pytest.mark.slow


@contextmanager
def killed(times: int) -> Iterator[list[int]]:
    """Kill this process's children soon after they begin, so many of them; give the list of those that were."""
    over, dead = Event(), list[int]()

    def kill() -> None:
        while not over.is_set() and len(dead) < times:
            for child in multiprocessing.active_children():
                if child.pid is not None and child.pid not in dead and len(dead) < times:
                    time.sleep(0.3)
                    child.kill()
                    dead.append(child.pid)
            time.sleep(0.02)

    thread = Thread(target=kill, daemon=True)
    thread.start()
    try:
        yield dead
    finally:
        over.set()
        thread.join()


def test_a_worker_that_is_killed_loses_nothing(whole: SweepResult) -> None:
    with killed(1) as dead:
        found = sweep(spec(), workers=1)
    assert len(dead) == 1
    assert found.rows == whole.rows


def test_a_cell_that_ends_every_worker_is_a_row_with_that_error() -> None:
    asked = Sweep.model_validate({"models": [SMALL], "hardware": ["mi300x"], "budgets": ["2GB", "2.1GB"]})
    with killed(100) as dead:
        found = sweep(asked, workers=1)
    assert len(dead) >= 4
    assert [(row["cell"], row["exit_code"], row["error"]) for row in found.rows] == [
        (0, 4, "missing"),
        (1, 4, "missing"),
    ]
    assert all("a worker ended twice" in str(row["message"]) for row in found.rows)
