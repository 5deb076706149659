"""What an answer has beside its front: left out from the first interrupt on."""

from collections.abc import Callable
from typing import TypeVar

Made = TypeVar("Made")


class Extras:
    """Makes one thing after the other until an interrupt; what is there by then is an answer.

    Parameters
    ----------
    interrupted
        Whether there was an interrupt before.

    """

    def __init__(self, *, interrupted: bool) -> None:
        self.interrupted = interrupted

    def make(self, make: Callable[[], Made], otherwise: Made) -> Made:
        """Return what is made, or the other where an interrupt came first."""
        if self.interrupted:
            return otherwise
        try:
            return make()
        except KeyboardInterrupt:
            self.interrupted = True
            return otherwise
