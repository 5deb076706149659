"""From candidates and demands to the options of a problem: which demands hold is decided here, and nowhere else."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from solver.capacity.candidates import Candidate
from solver.capacity.problem import Minimized, Node, Option, Problem, drop_dominated
from solver.capacity.speed import WHOLE, Traffic
from solver.optimize.problem import RISK_STEPS_PER_NAT

_WEIGHTS = 1000
"""The heaviest model's risk counts so many times."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What one model is to carry, and how well."""

    name: str
    traffic: Traffic
    most_loss: float | None
    carried: bool = True
    """Whether the traffic counts: without, one replica of any size will do."""

    def without(self, what: str) -> "Demand":
        """Return the demand without one of its parts: `max_risk`, `min_tokens_per_second` or `traffic`."""
        if what == "max_risk":
            return replace(self, most_loss=None)
        if what == "min_tokens_per_second":
            # None would be users who take a device whole.
            return replace(self, traffic=replace(self.traffic, floor=Fraction(0)))
        return replace(self, carried=False)


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that a problem is made of, so that a change of it is another question."""

    demands: tuple[Demand, ...]
    candidates: tuple[tuple[Candidate, ...], ...]
    nodes: tuple[Node, ...]
    weights: tuple[int, ...]
    survive: int
    minimized: Minimized

    def replaced(self, model: int, demand: Demand) -> "Question":
        """Return the question with another demand of one model."""
        return replace(self, demands=(*self.demands[:model], demand, *self.demands[model + 1 :]))

    def times(self, percents: Sequence[int]) -> "Question":
        """Return the question with a multiple of each model's traffic."""
        scaled = [
            replace(demand, traffic=demand.traffic.times(percent))
            for demand, percent in zip(self.demands, percents, strict=True)
        ]
        return replace(self, demands=tuple(scaled))

    def with_nodes(self, group: int, count: int) -> "Question":
        """Return the question with so many nodes of one group."""
        kept = [node for node in self.nodes if node.group != group]
        of_group = [next(node for node in self.nodes if node.group == group)] * count
        nodes = sorted([*kept, *of_group], key=lambda node: node.group)
        return replace(self, nodes=tuple(replace(node, number=number) for number, node in enumerate(nodes)))

    def problem(self) -> Problem:
        """Return the integers of the question."""
        options = tuple(
            options_of(demand, candidates, self.nodes)
            for demand, candidates in zip(self.demands, self.candidates, strict=True)
        )
        return Problem(options, self.weights, self.nodes, self.survive, self.minimized)


def options_of(demand: Demand, candidates: Sequence[Candidate], nodes: Sequence[Node]) -> tuple[Option, ...]:
    """Return the ways to serve a model: candidates by number of replicas, from the fewest to what the nodes hold."""
    found = []
    for number, candidate in enumerate(candidates):
        devices = candidate.service.tensor_parallel
        of_kind = [node for node in nodes if node.kind == candidate.kind]
        most = sum(node.devices // devices for node in of_kind)
        fits = any(candidate.size_bytes <= node.usable_bytes for node in of_kind)
        if not fits or not candidate.keeps(demand.traffic.floor, demand.most_loss):
            continue
        least = least_busy(demand, candidate)
        for replicas in range(demand.traffic.replicas(candidate.speed) if demand.carried else 1, most + 1):
            busy = demand.traffic.busy(candidate.speed, replicas) if demand.carried else 0
            found.append(
                Option(
                    number,
                    candidate.kind,
                    devices,
                    replicas,
                    candidate.size_bytes,
                    busy,
                    round(candidate.loss * RISK_STEPS_PER_NAT),
                )
            )
            # With more replicas no device has less to do.
            if not demand.carried or busy == least:
                break
    return drop_dominated(found)


def least_busy(demand: Demand, candidate: Candidate) -> int:
    """Return the share of its devices' time that a replica needs, however few requests it has."""
    return demand.traffic.busy(candidate.speed, WHOLE * candidate.speed.slots)


def tokens_per_second(demand: Demand, candidates: Sequence[Candidate], output_tokens: int) -> Fraction:
    """Return the output asked for in a second; for users without a floor, what the quickest replica gives them."""
    traffic = demand.traffic
    if traffic.requests_per_second is not None:
        return traffic.requests_per_second * output_tokens
    users = traffic.concurrency or 0
    if traffic.floor is not None:
        return users * traffic.floor
    quickest = min((candidate.speed.user_seconds for candidate in candidates), default=Fraction(1))
    return users / quickest


def weights_of(outputs: Sequence[Fraction]) -> tuple[int, ...]:
    """Return whole weights in proportion to output, rounded, of which none is nothing."""
    most = max(outputs)
    return tuple(max(1, round(_WEIGHTS * output / most)) for output in outputs)
