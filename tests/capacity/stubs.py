"""Candidates that are numbers alone: no model is planned for them."""

import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from solver.capacity.candidates import Candidate
from solver.capacity.fleet import Fleet
from solver.capacity.options import Demand, Question
from solver.capacity.problem import Node
from solver.capacity.speed import Traffic, estimated


@dataclass(frozen=True)
class _Service:
    tensor_parallel: int


@dataclass(frozen=True)
class Stub(Candidate):
    """A replica of a size, a loss and a speed."""

    size: int = 1
    predicted: float = 0.0
    devices: int = 1

    @property
    def service(self) -> Any:
        return _Service(self.devices)

    @property
    def size_bytes(self) -> int:
        return self.size

    @property
    def loss(self) -> float:
        return self.predicted


def fleet_and_question(seed: int, *, survive: int = 0, busy: float = 1.0) -> tuple[Fleet, Question]:
    """Return a random fleet of at most two models and four devices, with traffic that may be too much."""
    draw = random.Random(seed)
    count, devices = draw.choice([(1, 2), (2, 1), (2, 2), (1, 3), (3, 1)])
    nodes = tuple(Node(number, 0, 0, devices, 10) for number in range(count))
    loads, demands, candidates = [], [], []
    for number in range(draw.choice([1, 2])):
        rate, users = draw.choice([(draw.randint(1, 9), None), (None, draw.randint(1, 9)), (5, 4)])
        floor, risk = draw.choice([None, draw.randint(1, 80)]), draw.choice([None, "1%", "3%"])
        load = {
            "model": f"m{number}",
            "requests_per_second": None if rate is None else rate * busy,
            "concurrency": users,
            "prompt_tokens": 8,
            "output_tokens": 10,
            "max_risk": risk,
            "min_tokens_per_second": None if floor is None else float(floor),
        }
        loads.append(load)
        offered = []
        for slots in (1, 4):
            for _ in range(2):
                loss, size, tp = draw.choice([0.005, 0.02, 0.06]), draw.randint(2, 11), draw.choice([1, 1, 2])
                speed = estimated(slots, 10, draw.choice([0.0, 0.02]), draw.choice([0.01, 0.03, 0.06]))
                offered.append(Stub(0, None, None, speed, size, loss, tp))  # type: ignore[arg-type]
        candidates.append(tuple(offered))
    group = {"hardware": "mi300x", "name": "box", "count": count, "devices": devices}
    fleet = Fleet.model_validate({"models": loads, "nodes": [group]})
    for load in fleet.models:
        asked, least = load.requests_per_second, load.min_tokens_per_second
        traffic = Traffic(
            None if asked is None else Fraction(asked),
            load.concurrency,
            None if least is None else Fraction(least),
        )
        demands.append(Demand(load.name, traffic, load.most_loss))
    weights = (1,) * len(demands)
    return fleet, Question(tuple(demands), tuple(candidates), nodes, weights, survive, "devices")
