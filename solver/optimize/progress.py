"""What a search says of itself while it runs."""

from collections.abc import Callable
from dataclasses import dataclass

from solver.optimize.problem import Proof


@dataclass(frozen=True, slots=True)
class Progress:
    """Rows of settings that are done, of how many; or the best answer of a solve so far, with its bound."""

    rows_done: int
    rows: int
    incumbent: Proof | None = None


Watch = Callable[[Progress], None]
"""Called now and then, in the thread that searches."""
