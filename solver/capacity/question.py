"""From a fleet to the question about it: its nodes, its demands, and the candidates for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from solver.capacity.candidates import Candidate, Kind, Offers
from solver.capacity.fleet import Fleet, ModelLoad
from solver.capacity.layouts import traffic_of
from solver.capacity.options import Demand, Question, tokens_per_second, weights_of
from solver.capacity.problem import PRICE_STEPS, Minimized, Node
from solver.capacity.refusal import refuse_model
from solver.catalog import Catalog
from solver.errors import BadInputError
from solver.optimize.cpsat import SolverSettings


@dataclass(frozen=True)
class Asked:
    """A fleet with everything that was asked of it."""

    fleet: Fleet
    catalog: Catalog
    survive: int
    minimized: Minimized
    settings: SolverSettings


def kinds_of(fleet: Fleet, catalog: Catalog) -> tuple[list[Kind], list[int]]:
    """Return the kinds of devices of a fleet, and the kind of each group of nodes.

    Raises
    ------
    BadInputError
        If hardware is unknown, or nobody says how many devices a node has.

    """
    devices = [_devices(fleet, catalog, group) for group in range(len(fleet.nodes))]
    names = [(catalog.hardware.get(group.hardware).name, group.memory_bytes) for group in fleet.nodes]
    known = list(dict.fromkeys(names))
    most = [max(count for count, name in zip(devices, names, strict=True) if name == kind) for kind in known]
    kinds = [Kind(hardware, memory, count) for (hardware, memory), count in zip(known, most, strict=True)]
    return kinds, [known.index(name) for name in names]


def _devices(fleet: Fleet, catalog: Catalog, group: int) -> int:
    asked = fleet.nodes[group]
    devices = asked.devices or catalog.hardware.get(asked.hardware).devices_per_node
    if devices is None:
        raise BadInputError(
            f"how many devices a node of {asked.hardware} has is not known.",
            where=f"nodes.{group}",
            mend="Say it with `devices`.",
        )
    return devices


def nodes_of(fleet: Fleet, catalog: Catalog, candidates: Sequence[Sequence[Candidate]]) -> tuple[Node, ...]:
    """Return every node; what may be used of a device is the least that any stack takes of it by default."""
    _, kind_of = kinds_of(fleet, catalog)
    found: list[Node] = []
    for number, (group, kind) in enumerate(zip(fleet.nodes, kind_of, strict=True)):
        budgets = [item.service.budget_bytes for offered in candidates for item in offered if item.kind == kind]
        node = Node(
            0,
            number,
            kind,
            _devices(fleet, catalog, number),
            min(budgets, default=0),
            round((group.price_per_hour or 0) * PRICE_STEPS),
        )
        found += [Node(len(found) + index, *_rest(node)) for index in range(group.count)]
    return tuple(found)


def _rest(node: Node) -> tuple[int, int, int, int, int]:
    return node.group, node.kind, node.devices, node.usable_bytes, node.price


def question_of(asked: Asked, offers: Offers) -> Question:
    """Return the question about a fleet: its demands, the candidates for them, and its nodes."""
    fleet, catalog = asked.fleet, asked.catalog
    kinds, _ = kinds_of(fleet, catalog)
    demands = tuple(Demand(load.name, traffic_of(load), load.most_loss) for load in fleet.models)
    candidates = tuple(tuple(offers.candidates(load, kinds)) for load in fleet.models)
    for load, offered in zip(fleet.models, candidates, strict=True):
        if not offered:
            refuse_model(load, kinds, offers)
    outputs = [
        tokens_per_second(demand, offered, load.output_tokens)
        for demand, offered, load in zip(demands, candidates, fleet.models, strict=True)
    ]
    nodes = nodes_of(fleet, catalog, candidates)
    return Question(demands, candidates, nodes, weights_of(outputs), asked.survive, asked.minimized)


def _widely(load: ModelLoad, kinds: Sequence[Kind], offers: Offers) -> tuple[Candidate, ...]:
    """Return the candidates for a load, and those that its floor on speed leaves out."""
    found = offers.candidates(load, kinds)
    if load.min_tokens_per_second is not None:
        planned = {_layout(item) for item in found}
        slower = offers.candidates(load.model_copy(update={"min_tokens_per_second": None}), kinds)
        found += [item for item in slower if _layout(item) not in planned]
    return tuple(found)


def _layout(item: Candidate) -> tuple[int, int, int]:
    return item.kind, item.service.tensor_parallel, item.service.concurrency


def with_slower(asked: Asked, offers: Offers, question: Question) -> Question:
    """Return the question with candidates that the floors on speed leave out too."""
    kinds, _ = kinds_of(asked.fleet, asked.catalog)
    return replace(question, candidates=tuple(_widely(load, kinds, offers) for load in asked.fleet.models))


def planned_anew(asked: Asked, offers: Offers, question: Question, model: int, changes: Mapping[str, Any]) -> Question:
    """Return the question with the candidates for a load that is changed; demands stay as they are."""
    kinds, _ = kinds_of(asked.fleet, asked.catalog)
    found = _widely(asked.fleet.models[model].model_copy(update=dict(changes)), kinds, offers)
    candidates = (*question.candidates[:model], found, *question.candidates[model + 1 :])
    return replace(question, candidates=candidates)
