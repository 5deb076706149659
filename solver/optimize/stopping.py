"""Searches that an interrupt or the time limit ends: what they have found by then is kept."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Thread, current_thread, main_thread
from typing import TYPE_CHECKING, TypeVar

from ortools.sat.python import cp_model

from solver.errors import LimitReachedError

if TYPE_CHECKING:
    from solver.optimize.cpsat import Answer
    from solver.optimize.problem import Point

Made = TypeVar("Made")

_AGAIN_SECONDS = 0.05
"""How often Python looks for an interrupt of another thread, and tells a solve to stop that had not begun."""


class SearchInterrupted(KeyboardInterrupt):
    """An interrupt during a search, with the best that it had found."""

    def __init__(self, answer: "Answer | None" = None) -> None:
        super().__init__()
        self.answer = answer
        """Of the solve that was stopped; None if it had found nothing."""
        self.point: Point | None = None
        """Of the whole search, whose later stages are left out."""

    @classmethod
    def of(cls, interrupt: KeyboardInterrupt) -> "SearchInterrupted":
        """Return an interrupt as one of a search; one that came between solves has nothing yet."""
        return interrupt if isinstance(interrupt, cls) else cls()


@dataclass
class Stops:
    """What has ended searches early; what was found by then stands.

    An interrupt also ends the searches that are still to come. The time limit is one for each solve: it ends no other.
    """

    interrupted: bool = False
    limit: LimitReachedError | None = None
    """Of the first solve that the time limit ended before it had an answer."""
    unproven: bool = False
    """Whether the time limit left an answer with a gap."""

    @property
    def limited(self) -> bool:
        """Whether the time limit ended something."""
        return self.limit is not None or self.unproven

    @property
    def cut_short(self) -> bool:
        """Whether anything was ended early."""
        return self.interrupted or self.limited

    def made(self, make: Callable[[], Made], otherwise: Made) -> Made:
        """Return what is made, or the other where it was ended before it was there."""
        if self.interrupted:
            return otherwise
        try:
            return make()
        except LimitReachedError as error:
            self.limit = self.limit or error
        except KeyboardInterrupt:
            self.interrupted = True
        return otherwise

    def point(self, search: "Callable[[], Point | None]") -> "Point | None":
        """Return what a search finds; one that was ended has the best that it had found, with its gap, or nothing."""
        if self.interrupted:
            return None
        try:
            point = search()
        except LimitReachedError as error:
            self.limit = self.limit or error
            return None
        except KeyboardInterrupt as interrupt:
            self.interrupted = True
            return SearchInterrupted.of(interrupt).point
        self.unproven = self.unproven or (point is not None and point.proof.status != "optimal")
        return point

    def needed(self, make: Callable[[], Made]) -> Made:
        """Return what an answer cannot do without: after an interrupt it is made again, after a second one it is not.

        Raises
        ------
        KeyboardInterrupt
            At the second interrupt.
        """
        try:
            return make()
        except KeyboardInterrupt:
            self.interrupted = True
            return make()

    def raise_the_first(self) -> None:
        """End with what ended the searches, where they have found nothing at all.

        Raises
        ------
        KeyboardInterrupt
            If that was an interrupt.
        LimitReachedError
            If that was the time limit.
        """
        if self.interrupted:
            raise KeyboardInterrupt
        if self.limit is not None:
            raise self.limit


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
