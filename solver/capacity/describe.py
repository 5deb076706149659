"""From a placement to its document."""

import math
from collections.abc import Sequence

from solver.capacity.candidates import Candidate
from solver.capacity.commands import command
from solver.capacity.document import ChosenPlan, Device, PlacedNode, ServedModel, Shard
from solver.capacity.fleet import Fleet, ModelLoad
from solver.capacity.layouts import label
from solver.capacity.options import Demand
from solver.capacity.problem import Placement, Problem
from solver.capacity.speed import WHOLE
from solver.capacity.verify import lost_at_worst
from solver.catalog import Catalog
from solver.plan.request import PlanRequest

_DIGITS = 10**4


def _plan(candidate: Candidate, name: str) -> ChosenPlan:
    plan = candidate.plan
    assert plan.footprint is not None
    assert plan.risk is not None
    return ChosenPlan(
        choice=plan.id,
        name=plan.name,
        schemes=label(plan),
        global_scheme=plan.global_scheme,
        kv_cache_scheme=plan.kv_cache_scheme,
        algorithm=plan.algorithm,
        footprint=plan.footprint,
        risk=plan.risk,
        command=command(PlanRequest.model_validate(candidate.answer.request), plan.id, f"{name}.json"),
    )


def _others(problem: Problem, placement: Placement, model: int) -> int:
    """Return the greatest share of a device's time that others need where a model lies."""
    return max(
        sum(placement.option(problem, other).busy for other in models if other != model)
        for models in placement.on(problem).values()
        if model in models
    )


def served_model(
    load: ModelLoad,
    demand: Demand,
    candidates: Sequence[Candidate],
    problem: Problem,
    placement: Placement,
    model: int,
) -> ServedModel:
    """Return what is told of one model."""
    option = placement.option(problem, model)
    candidate, placed = candidates[option.candidate], placement.replicas[model]
    service, speed = candidate.service, candidate.speed
    memory = service.memory_bytes or service.budget_bytes
    left = 1 - _others(problem, placement, model) / WHOLE
    return ServedModel(
        name=load.name,
        model=load.model,
        hardware=service.hardware,
        backend=service.backend,
        tensor_parallel=service.tensor_parallel,
        concurrency=service.concurrency,
        context=service.context,
        replicas=len(placed),
        replicas_needed=option.replicas,
        devices=len({(node, device) for node, devices in placed for device in devices}),
        plan=_plan(candidate, load.name),
        memory_share=math.ceil(_DIGITS * candidate.size_bytes / memory) / _DIGITS,
        speed_source="measured" if speed.prefill_seconds is None else "roofline estimate",
        prefill_seconds=speed.prefill_seconds,
        step_seconds=speed.step_seconds,
        tokens_per_second=float(left / speed.user_seconds),
        requests_per_second=float(len(placed) * speed.requests_per_second),
        sequences=float(demand.traffic.sequences(speed)),
        busy=option.busy / WHOLE,
    )


def placed_nodes(fleet: Fleet, catalog: Catalog, problem: Problem, placement: Placement) -> tuple[PlacedNode, ...]:
    """Return the nodes in use, and what lies on each of their devices."""
    shards: dict[tuple[int, int], list[Shard]] = {}
    busy: dict[tuple[int, int], int] = {}
    for model, load in enumerate(fleet.models):
        option = placement.option(problem, model)
        for replica, (number, devices) in enumerate(placement.replicas[model], start=1):
            for device in devices:
                shard = Shard(model=load.name, replica=replica, size_bytes=option.size_bytes)
                shards.setdefault((number, device), []).append(shard)
                busy[number, device] = busy.get((number, device), 0) + option.busy
    found = []
    for node in problem.nodes:
        held = tuple(
            Device(
                number=device,
                shards=tuple(shards[node.number, device]),
                used_bytes=sum(shard.size_bytes for shard in shards[node.number, device]),
                usable_bytes=node.usable_bytes,
                busy=busy[node.number, device] / WHOLE,
            )
            for device in range(node.devices)
            if (node.number, device) in shards
        )
        group = fleet.nodes[node.group]
        first = next(other.number for other in problem.nodes if other.group == node.group)
        if held:
            found.append(
                PlacedNode(
                    name=group.name,
                    hardware=catalog.hardware.get(group.hardware).name,
                    number=node.number - first + 1,
                    devices=node.devices,
                    in_use=held,
                )
            )
    return tuple(found)


def nodes_that_may_go(problem: Problem, placement: Placement) -> int:
    """Return how many nodes may be lost, whichever they are, with every model's traffic still carried."""
    lost = 0
    while lost < len(problem.nodes) and all(
        len(placed) - lost_at_worst([node for node, _ in placed], lost + 1) >= placement.option(problem, model).replicas
        for model, placed in enumerate(placement.replicas)
    ):
        lost += 1
    return lost


def assumed(fleet: Fleet, catalog: Catalog, served: Sequence[ServedModel]) -> tuple[str, ...]:
    """Return what the answer rests on, beside the bills of its plans."""
    notes = []
    for name in dict.fromkeys(model.backend for model in served if model.speed_source != "measured"):
        backend = catalog.backends.get(name)
        notes.append(
            f"speeds are estimates by roofline, with {backend.bandwidth_fraction.value:g} of the bandwidth, and the "
            f"rates that devices sustain, else {backend.compute_fraction.value:g} of their peak ({backend.title}); "
            "--measured replaces them"
        )
    if any(load.requests_per_second is not None for load in fleet.models):
        notes.append("requests arrive evenly: bursts wait, unless concurrency asks for more slots")
    if len(served) > 1:
        notes.append("replicas on one device take turns: what they need of its time adds up to 100 % at most")
    return tuple(notes)
