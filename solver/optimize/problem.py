"""One problem: classes of units, their options, and the integers that describe them."""

from dataclasses import dataclass
from typing import Literal

from solver.rules.settings import Settings
from solver.rules.units import Unit

RISK_STEPS_PER_NAT = 10**9
"""Risk is an integer number of these steps: the rounding of 1,000 units is below 1e-6 nats."""

Vector = tuple[int, int, int]
"""Bytes, risk steps and ticks of one decoding step (picoseconds, see `solver.cost.roofline`)."""


@dataclass(frozen=True, slots=True)
class Option:
    """One scheme for one unit, with what it costs on one device."""

    scheme: str
    size_bytes: int
    risk: int
    decode_ticks: int

    @property
    def vector(self) -> Vector:
        """The three costs."""
        return self.size_bytes, self.risk, self.decode_ticks


@dataclass(frozen=True, slots=True)
class UnitClass:
    """Units with the same options at the same costs: only how many take each option matters."""

    units: tuple[Unit, ...]
    options: tuple[Option, ...]

    @property
    def count(self) -> int:
        """Units of the class."""
        return len(self.units)


@dataclass(frozen=True, slots=True)
class Problem:
    """What to choose under one row of settings.

    The `fixed` vector holds what no choice changes: native layers, embeddings, the KV cache's scales and
    risk.
    """

    settings: Settings
    classes: tuple[UnitClass, ...]
    fixed: Vector
    kv_cache_bytes: int
    overhead_bytes: int
    """Activations and runtime."""
    cache_ticks: int = 0
    """Time in which one decoding step reads the cache."""
    avoids_native: bool = False
    """Whether the unquantized model keeps the budget, so that only what may have no scheme is left native."""
    dequantized_bytes: int = 0
    """Of the largest module that may be emulated here; the activations hold it."""

    def vector(self, counts: "Counts") -> Vector:
        """Return the exact costs of an assignment, weights only in the bytes."""
        size, risk, ticks = self.fixed
        for unit_class, taken in zip(self.classes, counts, strict=True):
            for option, number in zip(unit_class.options, taken, strict=True):
                if number:
                    size += number * option.size_bytes
                    risk += number * option.risk
                    ticks += number * option.decode_ticks
        return size, risk, ticks

    @property
    def service_bytes(self) -> int:
        """Bytes beside the weights."""
        return self.kv_cache_bytes + self.overhead_bytes


Counts = tuple[tuple[int, ...], ...]
"""For each class and option, how many units take it."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes on one device, for everything there (`total`) or for weights alone (`weights`): rule budget-holds."""

    size_bytes: int
    scope: Literal["total", "weights"] = "total"

    def weights_limit(self, problem: Problem) -> int:
        """Return what is left for weights beside the problem's cache, activations and runtime."""
        return self.size_bytes if self.scope == "weights" else self.size_bytes - problem.service_bytes


@dataclass(frozen=True, slots=True)
class Proof:
    """How far an answer is proven: `optimal`, or a bound that no answer can beat and the gap to it."""

    status: str
    objective: str
    value: int
    bound: int

    @property
    def gap(self) -> float:
        """Relative distance from the bound; 0 when optimal."""
        return 0.0 if self.value == self.bound else (self.value - self.bound) / max(1, abs(self.value))


@dataclass(frozen=True, slots=True)
class Point:
    """An assignment under one problem, with its exact costs and its proof."""

    problem: Problem
    counts: Counts
    vector: Vector
    proof: Proof

    @property
    def weights_bytes(self) -> int:
        """Bytes of all weights on one device."""
        return self.vector[0]

    @property
    def total_bytes(self) -> int:
        """Bytes of everything on one device."""
        return self.vector[0] + self.problem.service_bytes

    @property
    def risk(self) -> int:
        """Risk steps of everything."""
        return self.vector[1]

    @property
    def decode_ticks(self) -> int:
        """Time of one decoding step, the reading of the cache included."""
        return self.vector[2] + self.problem.cache_ticks
