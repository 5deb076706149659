"""The bench of sweeps, on two cells."""

import pytest

from bench.sweep import document, measure


@pytest.mark.slow
def test_measures_a_sweep_and_commands_on_the_same_cells() -> None:
    timed = measure(["Qwen/Qwen3-0.6B"], ["mi300x"], ["2.1GB", "1GB"], sample=2, workers=1)
    assert (timed.result.cells, timed.result.errors, len(timed.command_seconds)) == (2, 1, 2)
    assert 0 < timed.seconds < timed.first_seconds * 10
    assert timed.command_rate > 0
    assert f"{timed.sweep_rate / timed.command_rate:.1f} times as fast" in document(timed, 1, 1)
