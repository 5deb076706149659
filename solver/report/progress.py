"""Progress on stderr, for what takes longer than a moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console

from solver.optimize.problem import RISK_STEPS_PER_NAT
from solver.optimize.progress import Progress, Watch

_UNITS = {"risk": (RISK_STEPS_PER_NAT, "nats"), "bytes": (10**9, "GB"), "time": (10**9, "ms")}
"""How the integers of an objective are shown."""


def sentence(progress: Progress) -> str:
    """Return what is shown of one report."""
    if progress.incumbent is None:
        return f"planning: {progress.rows_done} of {progress.rows} combinations of settings"
    proof = progress.incumbent
    scale, unit = _UNITS[proof.objective]
    return (
        f"planning: {proof.objective} {proof.value / scale:.6g} {unit} so far, at least {proof.bound / scale:.6g}, "
        f"gap {proof.gap:.2%}"
    )


@contextmanager
def shown_after(console: Console, seconds: float = 1.0) -> Iterator[Watch]:
    """Give what shows reports on a terminal, beginning after some seconds; elsewhere they are left out."""
    status = console.status("planning")
    timer = Timer(seconds, status.start)
    timer.daemon = True
    if console.is_terminal:
        timer.start()
    try:
        yield lambda progress: status.update(sentence(progress))
    finally:
        timer.cancel()
        status.stop()
