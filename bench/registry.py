"""The registry: a bench is a frozen spec in a module of its own that registers itself."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a result: what was measured, against what, and the ratio that must hold."""

    subject: str
    seconds: float
    baseline: str
    baseline_seconds: float
    limit: float | None

    @property
    def ratio(self) -> float:
        """Time of the subject over that of the baseline."""
        return self.seconds / self.baseline_seconds

    @property
    def holds(self) -> bool:
        """Whether the ratio keeps its limit; one without a limit always does."""
        return self.limit is None or self.ratio <= self.limit


@dataclass(frozen=True, slots=True)
class Spec:
    """A named bench."""

    name: str
    question: str
    run: Callable[[], list[Row]]


SPECS: dict[str, Spec] = {}


def register(spec: Spec) -> Spec:
    """Add a spec to the registry.

    Raises
    ------
    ValueError
        If its name is taken.
    """
    if spec.name in SPECS:
        raise ValueError(f"two benches are called {spec.name}")
    SPECS[spec.name] = spec
    return spec
