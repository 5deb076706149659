"""What would give an answer where there is none: single changes of a request, each solved like any other."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from solver.cost.footprint import footprint
from solver.cost.limits import largest
from solver.errors import PlannerError, Repair
from solver.optimize.problem import RISK_STEPS_PER_NAT, Problem
from solver.plan.context import Context, resolve
from solver.plan.request import PlanRequest
from solver.plan.solved import solved
from solver.rules.service import Service

_MOST_DEVICES = 64


@dataclass(frozen=True, slots=True)
class _Change:
    flag: str
    value: str | None
    fields: dict[str, object]
    leaves_out: bool = False


def _least_bytes(context: Context, problems: Iterable[Problem], service: Service) -> int:
    """Return the least footprint of all problems for a service, exact."""
    roles, scope = context.catalog.roles, context.budget.scope
    totals = []
    for problem in problems:
        weights = problem.fixed[0] + sum(
            part.count * min(option.size_bytes for option in part.options) for part in problem.classes
        )
        bill = footprint(
            weights,
            service,
            context.inventory,
            roles,
            kv_fp8=problem.settings.kv_cache_scheme is not None,
            dequantized_bytes=problem.dequantized_bytes,
        )
        totals.append(bill.weights_bytes if scope == "weights" else bill.total_bytes)
    return min(totals)


def _numbers(context: Context, problems: list[Problem]) -> Iterator[_Change]:
    """Yield the smallest budget, the longest context and the most sequences that give an answer."""
    service, budget = context.service, context.budget
    least = _least_bytes(context, problems, service)
    if least <= budget.size_bytes:
        return
    memory = service.hardware.memory
    if memory is None or least <= memory.value:
        yield _Change("--budget", f"{least}B", {"budget_bytes": least})

    def fits(changed: Service) -> bool:
        return _least_bytes(context, problems, changed) <= budget.size_bytes

    tokens = largest(lambda number: fits(replace(service, context=number)), service.context - 1)
    if tokens:
        yield _Change("--context", str(tokens), {"context": tokens})
    if service.concurrency > 1 and context.request.max_num_seqs is None:
        sequences = largest(lambda number: fits(replace(service, concurrency=number)), service.concurrency - 1)
        if sequences:
            yield _Change("--concurrency", str(sequences), {"concurrency": sequences})


def _devices(context: Context) -> Iterator[_Change]:
    """Yield more devices, the fewest first, that divide the heads."""
    heads, devices = context.inventory.attention_heads, context.service.tensor_parallel
    for more in range(devices + 1, _MOST_DEVICES + 1):
        if (heads % more if heads is not None else more % (2 * devices)) == 0:
            yield _Change("--tp", str(more), {"tensor_parallel": more})


def _left_out(request: PlanRequest) -> Iterator[_Change]:
    """Yield the request without one of the things that it insists on."""
    for pattern, scheme in request.layers.items():
        rest = {name: other for name, other in request.layers.items() if name != pattern}
        yield _Change("--layer", f"{pattern}={scheme}", {"layers": rest}, leaves_out=True)
    for role, scheme in request.pins.items():
        rest = {name: other for name, other in request.pins.items() if name != role}
        yield _Change("--pin", f"{role}={scheme}", {"pins": rest}, leaves_out=True)
    for role, bits in request.floors.items():
        others = {name: other for name, other in request.floors.items() if name != role}
        yield _Change("--floor", f"{role}={bits:g}", {"floors": others}, leaves_out=True)
    for pattern in request.exclude:
        kept = tuple(other for other in request.exclude if other != pattern)
        yield _Change("--exclude", pattern, {"exclude": kept}, leaves_out=True)
    if request.scheme is not None:
        yield _Change("--scheme", request.scheme, {"scheme": None}, leaves_out=True)
    if request.algorithms is not None:
        named = ",".join(request.algorithms) or "none"
        yield _Change("--algorithm", named, {"algorithms": None}, leaves_out=True)
    if request.kv_cache_scheme is not None:
        yield _Change("--kv", request.kv_cache_scheme, {"kv_cache_scheme": None}, leaves_out=True)


def _switches(context: Context) -> Iterator[_Change]:
    request, service = context.request, context.service
    if not request.allow_emulated:
        yield _Change("--allow-emulated", None, {"allow_emulated": True})
    if request.mtp == "keep":
        yield _Change("--mtp", "drop", {"mtp": "drop"})
    if not request.expert_parallel and context.inventory.moe is not None and service.tensor_parallel > 1:
        yield _Change("--expert-parallel", None, {"expert_parallel": True})
    if not request.force:
        yield _Change("--force", None, {"force": True})
    for backend in context.catalog.backends:
        # What loads on a stack is to be served by it, so that one which loads nothing is no way out.
        if backend.name != service.backend.name and backend.loads:
            yield _Change("--backend", backend.name, {"backend": backend.name})


def _solve(context: Context, change: _Change) -> Repair | None:
    """Return a change with the least risky plan under it, or None if it gives none."""
    try:
        request = PlanRequest.model_validate(context.request.model_dump() | change.fields)
        changed = resolve(request, context.analysis, context.inventory, context.catalog)
        safest = solved(changed).front[-1]
    except PlannerError:
        return None
    size = safest.weights_bytes if context.budget.scope == "weights" else safest.total_bytes
    loss = changed.risk.banded(safest.risk / RISK_STEPS_PER_NAT).delta_nll
    return Repair(change.flag, change.value, change.leaves_out, size, loss)


def find_repairs(context: Context, problems: list[Problem]) -> tuple[Repair, ...]:
    """Return the single changes that give a plan, least predicted loss first; of devices the fewest alone.

    `problems` are those of the request, none where it has none.
    """
    numbers = list(_numbers(context, problems)) if problems else []
    changes = [*numbers, *_left_out(context.request), *_switches(context)]
    found = [repair for change in changes if (repair := _solve(context, change)) is not None]
    found += islice((repair for change in _devices(context) if (repair := _solve(context, change)) is not None), 1)
    return tuple(sorted(found, key=lambda repair: (repair.delta_nll, repair.footprint_bytes, repair.flag)))
