"""Everything that a request resolves to before anything is optimized."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.catalog import Catalog
from solver.catalog.goal import Goal
from solver.catalog.template import Template
from solver.cost.kv_layers import image_assumption
from solver.cost.memory_fraction import default_budget, default_fraction
from solver.errors import BadInputError, MissingError
from solver.intake.analysis import ModelAnalysis
from solver.intake.inventory import Inventory
from solver.optimize.problem import Budget
from solver.optimize.progress import Watch
from solver.plan.goals import settle
from solver.plan.request import PlanRequest
from solver.risk.model import RiskModel
from solver.rules.machine import machine_refusals, most_devices
from solver.rules.refusal import standing
from solver.rules.service import Service
from solver.units import format_size_both

if TYPE_CHECKING:
    from solver.plan.memo import Memo

DEFAULT_CONTEXT = 8192
PRIOR = "prior"


@dataclass(frozen=True)
class Context:
    """A request with its names resolved, and the assumptions that filled its gaps."""

    request: PlanRequest
    analysis: ModelAnalysis
    inventory: Inventory
    catalog: Catalog
    template: Template
    service: Service
    budget: Budget
    risk: RiskModel
    goal: Goal
    implied_algorithms: tuple[str, ...] | None
    assumptions: tuple[str, ...]
    watch: Watch | None = None
    """Told how far the search is."""
    memo: "Memo | None" = None
    """What is shared with answers for other budgets."""


def commonest_template(model_type: str) -> Template:
    """Return a template of the commonest patterns, for a model type that Quark has none for."""
    return Template(
        model_type=model_type,
        kv_layers=("*k_proj", "*v_proj"),
        q_layers=("*q_proj",),
        gate_up_layers=("gate_proj", "up_proj"),
        exclude_layers=("*lm_head",),
        algorithms=(),
        builtin=False,
        source="none in amd-quark 0.13: the commonest patterns",
    )


def template_of(analysis: ModelAnalysis, catalog: Catalog) -> Template:
    """Return Quark's template of the model type, or a plain one that a script can register."""
    model_type = analysis.model.model_type
    found = catalog.templates.find(model_type)
    return found if found is not None and found.model_type == model_type else commonest_template(model_type)


def _unbounded(service: Service) -> str:
    """Return what the stack takes beside its share of the device, for a sentence."""
    outside = service.backend.outside_fraction
    return f", and {' and '.join(outside)} beside it" if outside else ""


def _predictor(service: Service, inventory: Inventory) -> str | None:
    if not service.keep_mtp or inventory.mtp is None:
        return None
    return (
        "multi-token-prediction layers are billed by their weights alone: their cache comes on top where the stack is "
        "told to predict (--mtp)"
    )


def _context_tokens(request: PlanRequest, inventory: Inventory, assumptions: list[str]) -> int:
    limit = inventory.max_context
    if request.context is not None:
        if limit is not None and request.context > limit:
            raise BadInputError(
                f"the model's own limit is {limit} tokens (rule context-within-model).",
                where=f"--context {request.context}",
                mend=f"Ask for at most {limit}.",
            )
        return request.context
    context = min(DEFAULT_CONTEXT, limit or DEFAULT_CONTEXT)
    assumptions.append(f"context {context} tokens (--context)")
    return context


def _budget(
    request: PlanRequest, service: Service, inventory: Inventory, catalog: Catalog, assumptions: list[str]
) -> Budget:
    name = service.hardware.title
    if request.budget_bytes is None:
        usable = default_budget(service, inventory, catalog.roles)
        if usable is None:
            raise MissingError(
                f"the memory of {name} is not known, so there is no default budget.",
                where="--budget",
                mend="Name a budget, for example --budget 40GB.",
            )
        assumptions.append(
            f"budget {format_size_both(usable)}: {float(default_fraction(service)):.3g} of what the driver of {name} "
            f"reports is what {service.backend.title} takes{_unbounded(service)} (--budget)"
        )
        return Budget(usable, request.budget_scope)
    if service.hardware.memory is not None and request.budget_bytes > service.hardware.memory.value:
        raise BadInputError(
            f"one {name} has {format_size_both(int(service.hardware.memory.value))} (rule budget-within-device).",
            where=f"--budget {request.budget_bytes} B",
            mend="The budget is for one device: lower it, or spread the model with --tp.",
        )
    return Budget(request.budget_bytes, request.budget_scope)


def _refuse_machine(request: PlanRequest, service: Service, inventory: Inventory, catalog: Catalog) -> None:
    refused = machine_refusals(service, inventory)
    for refusal in standing(refused, catalog.rules, forced=request.force):
        fewer = most_devices(inventory.attention_heads or 1, service.tensor_parallel)
        raise BadInputError(
            f"{refusal}.",
            where=f"--tp {service.tensor_parallel}",
            mend=f"`--tp {fewer}` divides them; `--force` plans all the same.",
        )


def resolve(request: PlanRequest, analysis: ModelAnalysis, inventory: Inventory, catalog: Catalog) -> Context:
    """Return the request with all names looked up and all gaps filled.

    Raises
    ------
    UnknownNameError
        If the hardware or the backend is not in the catalogue.
    BadInputError
        If the context or the budget exceeds what there is, experts are to be shared out that are not there, or a rule
        stands against the service.

    """
    if request.expert_parallel and inventory.moe is None:
        raise BadInputError("the model has no experts to share out.", where="--expert-parallel", mend="Leave it out.")
    template = template_of(analysis, catalog)
    settled = settle(request, template, catalog)
    request = settled.request
    hardware = catalog.hardware.get(settled.hardware)
    backend = catalog.backends.get(request.backend or hardware.default_backend)
    assumptions = [*request.notes, *analysis.assumptions, *settled.assumptions]
    context = _context_tokens(request, inventory, assumptions)
    if request.backend is None:
        assumptions.append(f"served by {backend.title} {backend.version}, the default of {hardware.title} (--backend)")
    assumptions.append(
        f"concurrency {request.concurrency} (--concurrency), tensor parallelism {request.tensor_parallel} (--tp)"
    )
    service = Service(
        hardware,
        backend,
        context,
        request.concurrency,
        request.tensor_parallel,
        expert_parallel=request.expert_parallel,
        keep_mtp=request.mtp == "keep",
        max_num_seqs=request.max_num_seqs,
        max_num_batched_tokens=request.max_num_batched_tokens,
    )
    _refuse_machine(request, service, inventory, catalog)
    assumptions += [text for text in (image_assumption(service, inventory), _predictor(service, inventory)) if text]
    assumptions.append(
        f"batches of at most {service.batched_tokens} tokens (--max-num-batched-tokens) and "
        f"{service.batched_sequences} sequence{'s' * (service.batched_sequences != 1)} (--max-num-seqs)"
    )
    budget = _budget(request, service, inventory, catalog, assumptions)
    risk = RiskModel(catalog.sensitivities.get(PRIOR), catalog.roles, inventory, analysis.model.model_type)
    return Context(
        request,
        analysis,
        inventory,
        catalog,
        template,
        service,
        budget,
        risk,
        settled.goal,
        settled.algorithms,
        tuple(assumptions),
    )
