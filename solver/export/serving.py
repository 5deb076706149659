"""The command that serves a plan's checkpoint as its bill says."""

import math
from decimal import Decimal

from solver.catalog.backend import Backend
from solver.catalog.section import Section
from solver.catalog.serving import Serve, ServingFact
from solver.cost.memory_fraction import fraction_for
from solver.errors import BadInputError
from solver.export.command import Group, render
from solver.export.options import ExportOptions, output_location
from solver.plan.document import FootprintPart, QuantPlan, ServicePart
from solver.units import format_size


def serving_backends(backends: Section[Backend]) -> list[str]:
    """Return the names of the backends that have a serving command."""
    return [backend.name for backend in backends if backend.serve is not None]


def _serve(backend: Backend, backends: Section[Backend]) -> Serve:
    if backend.serve is None:
        raise BadInputError(
            f"there is no serving command for {backend.title}.",
            where=f"--to {backend.name}",
            mend=f"There is one for {', '.join(serving_backends(backends))}.",
        )
    return backend.serve


def _billed(plan: QuantPlan, backend: Backend) -> tuple[ServicePart, FootprintPart]:
    """Return what a plan is made for and what it takes, if that is this backend's.

    Raises
    ------
    BadInputError
        If the plan has no bill, or the bill of another stack.

    """
    if plan.service is None or plan.footprint is None:
        raise BadInputError(
            "a draft without a bill cannot be served.",
            where=f"--to {backend.name}",
            mend="`solve analyze MODEL -o model_analysis.json` completes the analysis; then plan again.",
        )
    if plan.service.backend != backend.name:
        own = plan.service.export_target
        raise BadInputError(
            f"the plan is made for the backend {plan.service.backend}, and its bill is not that of {backend.title}.",
            where=f"--to {backend.name}",
            mend=f"Plan again with --backend {backend.name}" + (f", or serve with `--to {own}`." if own else "."),
        )
    return plan.service, plan.footprint


def memory_fraction(service: ServicePart, bill: FootprintPart, backend: Backend) -> Decimal:
    """Return the share of a device that keeps the plan's budget, as the stack counts it.

    A budget for weights alone says nothing of the rest: then it is the share that the stack takes by default.

    Raises
    ------
    BadInputError
        If the device's memory is not known, or the bill does not fit what the share bounds.

    """
    sizes = {
        "weights": bill.weights_bytes,
        "kv_cache": bill.kv_cache_bytes,
        "activation": bill.activation_bytes,
        "runtime": bill.runtime_bytes,
    }
    needed = sum(size for name, size in sizes.items() if name in backend.fraction_bounds)
    default = Decimal(str(service.default_memory_fraction))
    if service.budget_scope == "weights":
        if service.memory_bytes is not None and math.ceil(default * service.memory_bytes) < needed:
            raise _does_not_fit(needed, int(default * service.memory_bytes), backend)
        return default
    if service.memory_bytes is None:
        raise BadInputError(
            f"the memory of {service.hardware_title} is not known, so no share of it keeps the budget.",
            where=f"--to {backend.name}",
            mend="Name it in a profile of the accelerator (--profiles), and plan again.",
        )
    bounded = service.budget_bytes - (bill.total_bytes - needed)
    share = fraction_for(bounded, needed, service.memory_bytes)
    if share is None:
        raise _does_not_fit(bill.total_bytes, min(service.budget_bytes, service.memory_bytes), backend)
    return share


def _does_not_fit(needed: int, there: int, backend: Backend) -> BadInputError:
    return BadInputError(
        f"the plan takes {format_size(needed)} of a device, and {format_size(max(0, there))} are for it.",
        where=f"--to {backend.name}",
        mend="Raise --budget, or lower --context or --concurrency, and plan again.",
    )


def export(plan: QuantPlan, options: ExportOptions, backend: Backend, backends: Section[Backend]) -> str:
    """Return the command, with the environment that the plan's schemes need.

    Raises
    ------
    BadInputError
        If the backend has no command, or the plan is not made for it, or does not fit.

    """
    serve = _serve(backend, backends)
    service, bill = _billed(plan, backend)
    facts: dict[ServingFact, str | None] = {
        "tensor_parallel": str(service.tensor_parallel),
        "expert_parallel": "" if service.expert_parallel else None,
        "expert_parallel_size": str(service.tensor_parallel) if service.expert_parallel else None,
        "context": str(service.context),
        "max_num_seqs": str(service.max_num_seqs),
        "max_num_batched_tokens": str(service.max_num_batched_tokens),
        "memory_fraction": f"{memory_fraction(service, bill, backend).normalize():f}",
        "kv_cache_dtype": serve.kv_cache_dtypes["native" if plan.kv_cache_scheme is None else "fp8"],
        "kv_block_tokens": str(service.kv_block_tokens),
        "trust_remote_code": "" if plan.model.trust_remote_code else None,
    }
    folder = output_location(plan, options)
    variables = tuple(f"{variable}={value}" for variable, value in plan.environment.items())
    program: Group = (*variables, *serve.program, *(() if serve.model_flag else (folder,)))
    groups: list[Group] = [(serve.model_flag, folder)] if serve.model_flag else []
    for fact, flag in serve.flags.items():
        value = facts[fact]
        if value is not None:
            groups.append((flag, value) if value else (flag,))
    return render(program, groups)
