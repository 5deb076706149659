"""The registry: a bench is a frozen spec in a module of its own that registers itself."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a result: what was measured, against what, and the ratio that must hold.

    An exact row must equal its baseline; others must keep their limit, if they have one.
    """

    subject: str
    value: float
    baseline: str
    baseline_value: float
    limit: float | None = None
    exact: bool = False

    @property
    def ratio(self) -> float:
        """Value of the subject over that of the baseline."""
        return self.value / self.baseline_value

    @property
    def holds(self) -> bool:
        """Whether the value is what it must be."""
        if self.exact:
            return self.value == self.baseline_value
        return self.limit is None or self.ratio <= self.limit


@dataclass(frozen=True, slots=True)
class Spec:
    """A named bench: what it asks, in which unit it measures, and how."""

    name: str
    question: str
    unit: str
    run: Callable[[], list[Row]]


class Skipped(Exception):  # noqa: N818  it is no error
    """Raised by a bench that lacks what it needs; its message says what."""


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
