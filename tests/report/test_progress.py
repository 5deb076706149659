"""Progress is shown on a terminal, after a while, and nowhere else."""

import io
import time

import pytest
from rich.console import Console

from solver.optimize.problem import Proof
from solver.optimize.progress import Progress
from solver.report.progress import sentence, shown_after


def shown(seconds: float, *, terminal: bool) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=80)
    with shown_after(console, 0.05) as watch:
        watch(Progress(1, 4))
        time.sleep(seconds)
    return file.getvalue()


def test_is_shown_after_a_while() -> None:
    assert "1 of 4 combinations of settings" in shown(0.4, terminal=True)


def test_of_what_is_done_at_once_is_not_shown() -> None:
    assert "combinations" not in shown(0.0, terminal=True)


def test_is_no_part_of_a_file() -> None:
    assert shown(0.3, terminal=False) == ""


@pytest.mark.parametrize(
    ("objective", "value", "bound", "told"),
    [
        ("risk", 20_000_000, 19_000_000, "risk 0.02 nats so far, at least 0.019, gap 5.00%"),
        ("bytes", 12 * 10**9, 12 * 10**9, "bytes 12 GB so far, at least 12, gap 0.00%"),
        ("time", 2_500_000_000, 2_000_000_000, "time 2.5 ms so far, at least 2, gap 20.00%"),
    ],
)
def test_of_a_solve_has_incumbent_bound_and_gap(objective: str, value: int, bound: int, told: str) -> None:
    said = sentence(Progress(0, 0, Proof("feasible", objective, value, bound)))
    assert said == f"planning: {told}"
    assert len(said) <= 80
