"""The registry: a bench is a frozen spec in a module of its own that registers itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol


class Row(Protocol):
    """One line of a result."""

    columns: ClassVar[tuple[str, ...]]

    @property
    def holds(self) -> bool:
        """Whether the line is as it must be."""
        ...

    def cells(self) -> tuple[str, ...]:
        """Return the line as text, one entry a column."""
        ...

    def record(self) -> dict[str, str | float]:
        """Return what is stored of the line."""
        ...


@dataclass(frozen=True, slots=True)
class Timing:
    """What was measured, against what, and the ratio that must hold."""

    columns: ClassVar[tuple[str, ...]] = ("subject", "seconds", "baseline", "seconds", "ratio", "limit")

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

    def cells(self) -> tuple[str, ...]:
        """Return the line as text, one entry a column."""
        limit = "-" if self.limit is None else f"{self.limit:g}"
        seconds, baseline = f"{self.seconds:.2f}", f"{self.baseline_seconds:.2f}"
        return self.subject, seconds, self.baseline, baseline, f"{self.ratio:.2f}", limit

    def record(self) -> dict[str, str | float]:
        """Return what is stored of the line."""
        return {"subject": self.subject, "seconds": self.seconds, "baseline": self.baseline, "ratio": self.ratio}


@dataclass(frozen=True, slots=True)
class Sizes:
    """The predicted and the real size of one export, which must be equal."""

    columns: ClassVar[tuple[str, ...]] = ("model", "KV cache", "scheme", "predicted B", "exported B", "difference")

    model: str
    kv_cache: str
    scheme: str
    predicted_bytes: int
    exported_bytes: int

    @property
    def difference(self) -> int:
        """Exported minus predicted bytes."""
        return self.exported_bytes - self.predicted_bytes

    @property
    def holds(self) -> bool:
        """Whether there is no difference."""
        return self.difference == 0

    def cells(self) -> tuple[str, ...]:
        """Return the line as text, one entry a column."""
        numbers = (str(self.predicted_bytes), str(self.exported_bytes), str(self.difference))
        return self.model, self.kv_cache, self.scheme, *numbers

    def record(self) -> dict[str, str | float]:
        """Return what is stored of the line."""
        return dict(zip(self.columns, self.cells(), strict=True))


@dataclass(frozen=True, slots=True)
class Spec:
    """A named bench."""

    name: str
    question: str
    run: Callable[[], Sequence[Row]]


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
