"""The question for the solver: integers alone, no model and no plan."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Minimized = Literal["devices", "price"]

PRICE_STEPS = 10**4
"""Prices are integers of which so many are one unit of the currency."""


@dataclass(frozen=True, slots=True)
class Option:
    """One way to serve a model: what each replica takes, and how many must be alive to carry the traffic."""

    candidate: int
    kind: int
    tensor_parallel: int
    replicas: int
    size_bytes: int
    """Of each device of a replica."""
    busy: int
    """Share of the time of each device of a replica, of `speed.WHOLE`, with so many replicas alive."""
    risk: int
    """Predicted loss in steps of `RISK_STEPS_PER_NAT`."""

    @property
    def shards(self) -> int:
        """Devices of all replicas together."""
        return self.replicas * self.tensor_parallel


@dataclass(frozen=True, slots=True)
class Node:
    """One node; those that are equal in all but `number` are alike."""

    number: int
    group: int
    kind: int
    devices: int
    usable_bytes: int
    """Of each device."""
    price: int = 0
    """In steps of `PRICE_STEPS`."""

    @property
    def alike(self) -> tuple[int, ...]:
        """What tells kinds of nodes apart."""
        return self.kind, self.devices, self.usable_bytes, self.price


@dataclass(frozen=True, slots=True)
class Problem:
    """Models by their options, nodes, and how many of these may be lost."""

    options: tuple[tuple[Option, ...], ...]
    weights: tuple[int, ...]
    """Of the models' risks."""
    nodes: tuple[Node, ...]
    survive: int = 0
    minimized: Minimized = "devices"

    def document(self) -> dict[str, Any]:
        """Return the problem as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Placement:
    """What the solver found: an option of each model, and the devices of each of its replicas."""

    chosen: tuple[int, ...]
    """Number of the option, by model."""
    replicas: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]
    """By model: node and devices of each replica."""

    def on(self, problem: Problem) -> dict[tuple[int, int], list[int]]:
        """Return the models on each device in use, by node and device."""
        found: dict[tuple[int, int], list[int]] = {}
        for model, placed in enumerate(self.replicas):
            for node, devices in placed:
                for device in devices:
                    found.setdefault((node, device), []).append(model)
        return dict(sorted(found.items()))

    def option(self, problem: Problem, model: int) -> Option:
        """Return the option that a model has."""
        return problem.options[model][self.chosen[model]]

    def costs(self, problem: Problem) -> tuple[int, int, int]:
        """Return devices in use, the price of the nodes in use, and the weighted risk."""
        used = self.on(problem)
        price = sum(problem.nodes[node].price for node in {node for node, _ in used})
        risk = sum(weight * self.option(problem, model).risk for model, weight in enumerate(problem.weights))
        return len(used), price, risk


def drop_dominated(options: Sequence[Option]) -> tuple[Option, ...]:
    """Return the options without those that another one beats, or equals, in everything.

    Fewer replicas, bytes, time and risk on the same devices fit wherever more do, whatever node is lost.
    """

    def vector(option: Option) -> tuple[int, int, int, int]:
        return option.replicas, option.size_bytes, option.busy, option.risk

    kept: list[Option] = []
    for option in sorted(options, key=lambda option: (vector(option), option.candidate)):
        beaten = any(
            (other.kind, other.tensor_parallel) == (option.kind, option.tensor_parallel)
            and all(mine <= its for mine, its in zip(vector(other), vector(option), strict=True))
            for other in kept
        )
        if not beaten:
            kept.append(option)
    return tuple(sorted(kept, key=lambda option: (option.kind, option.tensor_parallel, vector(option))))
