"""Solves that an interrupt stops: what they have found by then is kept."""

from threading import Event, Thread, current_thread, main_thread
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

if TYPE_CHECKING:
    from solver.optimize.cpsat import Answer
    from solver.optimize.problem import Point

_AGAIN_SECONDS = 0.05
"""How often Python looks for an interrupt of another thread, and tells a solve to stop that had not begun."""


class SearchInterrupted(KeyboardInterrupt):
    """An interrupt during a search, with the best that it had found."""

    def __init__(self, answer: "Answer | None") -> None:
        super().__init__()
        self.answer = answer
        """Of the solve that was stopped; None if it had found nothing."""
        self.point: Point | None = None
        """Of the whole search, whose later stages are left out."""


def solve(
    solver: cp_model.CpSolver, model: cp_model.CpModel, callback: cp_model.CpSolverSolutionCallback | None = None
) -> tuple[str, bool]:
    """Return how a solve ended, in CP-SAT's words in small letters, and whether an interrupt ended it.

    CP-SAT runs outside of Python, which hears of an interrupt only between two of its own steps: the solve has a
    thread of its own, and the main thread waits for it. Its result does not depend on that.

    Raises
    ------
    KeyboardInterrupt
        At a second interrupt, before the solve has stopped.
    """
    if current_thread() is not main_thread():
        return solver.status_name(solver.solve(model, callback)).lower(), False
    done, failures = Event(), list[BaseException]()

    def run() -> None:
        try:
            solver.solve(model, callback)
        except BaseException as error:
            failures.append(error)
        finally:
            done.set()

    # A daemon: a second interrupt ends the process without waiting for it.
    thread = Thread(target=run, daemon=True)
    thread.start()
    interrupted = False
    try:
        while not done.wait(_AGAIN_SECONDS):
            pass
    except KeyboardInterrupt:
        interrupted = True
        while not done.wait(_AGAIN_SECONDS):
            solver.stop_search()
    if failures:
        raise failures[0]
    return solver.status_name().lower(), interrupted
