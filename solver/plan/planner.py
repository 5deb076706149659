"""The main job: from a request and an analysis to alternatives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version

from solver.catalog import Catalog
from solver.cost.memory_fraction import default_fraction
from solver.errors import NoAnswerError, PlannerError, RuledOutError, VerificationError
from solver.intake.analysis import ModelAnalysis
from solver.intake.inventory import Inventory
from solver.optimize.problem import RISK_STEPS_PER_NAT, Problem
from solver.optimize.progress import Watch
from solver.optimize.stopping import Stops
from solver.plan.alternatives import Pick
from solver.plan.bug_report import bug_report
from solver.plan.choices import Choices
from solver.plan.context import Context, resolve
from solver.plan.describe import describe
from solver.plan.document import (
    Alternative,
    Answer,
    FrontPart,
    GoalPart,
    ModelPart,
    Provenance,
    ServicePart,
)
from solver.plan.freed import better, freed
from solver.plan.goals import recommend
from solver.plan.guide import GuidePlan, guide_plans
from solver.plan.infeasible import explained
from solver.plan.memo import Memo
from solver.plan.picks import find_picks
from solver.plan.problems import fits_unquantized, unquantized
from solver.plan.requantize import stored_part
from solver.plan.request import PlanRequest
from solver.plan.simpler import price_of_rules, simpler_plans
from solver.plan.solved import solved
from solver.units import format_size
from solver.version import __version__

QUARK_VERSION = "0.13"


@dataclass(frozen=True)
class Offer:
    """A plan to describe, with the choices it was made from, and whether the stack loads it."""

    pick: Pick
    choices: Choices
    context: Context
    loads: bool


def provenance(request: PlanRequest, analysis: ModelAnalysis, catalog: Catalog) -> Provenance:
    """Return what an answer to this request depends on."""
    return Provenance(
        tool_version=__version__,
        profiles_sha256=catalog.fingerprint,
        ortools_version=version("ortools"),
        quark_version=QUARK_VERSION,
        transformers_version=analysis.model.transformers_version,
        seed=request.seed,
        workers=1,
        time_limit=request.time_limit,
        risk_steps_per_nat=RISK_STEPS_PER_NAT,
    )


def _with_guide(picks: list[Pick], plans: list[GuidePlan], choices: Choices, context: Context) -> list[Offer]:
    """Return the plans to offer; one of the guide that is offered already gets its name, another comes last."""
    offers = [Offer(item, choices, context, loads=True) for item in picks]
    for plan in plans:
        own = Pick(plan.point, ())
        same = next((index for index, offer in enumerate(offers) if offer.pick.key == own.key), None)
        if same is None:
            offers.append(Offer(own.also_guide(plan.reason), plan.choices, plan.context, loads=plan.loads))
        else:
            offers[same] = replace(offers[same], pick=offers[same].pick.also_guide(plan.reason))
    return offers


def _described(offers: Mapping[int, Offer], stops: Stops) -> tuple[Alternative, ...]:
    """Return the plans as they are written: what is found is shown, also where an interrupt comes in between."""
    return tuple(
        stops.needed(partial(describe, number, item.pick, item.choices, item.context))
        for number, item in offers.items()
    )


def _check_overrides(alternatives: Sequence[Alternative], request: PlanRequest) -> None:
    """Check that the patterns as written keep the limit on them."""
    for item in alternatives:
        if request.max_overrides is not None and item.overrides > request.max_overrides:
            raise VerificationError(f"plan {item.id} has {item.overrides} overrides, more than {request.max_overrides}")


def model_part(context: Context, native: Problem, ref: str) -> ModelPart:
    """Return which model a plan is for, `native` being its problem without a choice."""
    model = context.analysis.model
    return ModelPart(
        model_type=model.model_type,
        analysis_ref=ref,
        model_path=model.model_path,
        config_sha256=model.config_sha256,
        revision=model.revision,
        trust_remote_code=context.request.trust_remote_code,
        template_builtin=context.template.builtin,
        template_algorithms=context.template.algorithms,
        elements_total=context.inventory.elements_total,
        unquantized_total_bytes=native.fixed[0] + native.service_bytes,
        stored=stored_part(context),
    )


def service_part(context: Context) -> ServicePart:
    """Return what a plan is to serve, and where."""
    service = context.service
    memory, backend = service.hardware.memory, service.backend
    return ServicePart(
        hardware=service.hardware.name,
        hardware_title=service.hardware.title,
        backend=service.backend.name,
        backend_version=service.backend.version,
        context=service.context,
        concurrency=service.concurrency,
        tensor_parallel=service.tensor_parallel,
        expert_parallel=service.expert_parallel,
        max_num_seqs=service.batched_sequences,
        max_num_batched_tokens=service.batched_tokens,
        kv_block_tokens=int(backend.kv_block_tokens.value),
        memory_bytes=None if memory is None else int(memory.value),
        export_target=None if backend.serve is None else backend.name,
        default_memory_fraction=float(default_fraction(service)),
        budget_bytes=context.budget.size_bytes,
        budget_scope=context.budget.scope,
    )


def _unbound(
    request: PlanRequest,
    alternatives: tuple[Alternative, ...],
    analysis: ModelAnalysis,
    inventory: Inventory,
    catalog: Catalog,
) -> tuple[Alternative, ...]:
    """Return the plan that is recommended without the user's insistence, where that is kept as a risk and is worse."""
    free = freed(request, alternatives)
    if free is None:
        return ()
    try:
        answer = plan(free, analysis, inventory, catalog, analysis_ref="")
    except PlannerError:
        return ()
    offered = next(item for item in answer.alternatives if item.id == answer.recommended)
    found = better(offered, alternatives, request)
    return () if found is None else (found,)


def plan(
    request: PlanRequest,
    analysis: ModelAnalysis,
    inventory: Inventory,
    catalog: Catalog,
    *,
    analysis_ref: str,
    watch: Watch | None = None,
    memo: Memo | None = None,
) -> Answer:
    """Return the alternatives for a request, at least one; `watch` is told how far the search is.

    With a `memo`, what other answers for the same analysis have made is used, and only the plans are sought: not what
    simpler ones would cost, nor, where there is none, what clashes and would mend it.

    Raises
    ------
    VerificationError
        If a result fails its own re-check; it carries the problems as JSON.
    BadInputError
        If a name, a pattern or a pin cannot be used.
    InfeasibleError
        If no plan keeps the budget; it says what the least footprint is, what clashes, and what would give a plan.
    NoAnswerError
        If no layer may be quantized, or settings and pins leave a layer without any scheme; it says the same.
    LimitReachedError
        If the time limit ended the search before it had a plan.
    RuledOutError
        If plans keep the budget, and none keeps the side rules too.
    """
    context = replace(resolve(request, analysis, inventory, catalog), watch=watch, memo=memo)
    try:
        return _answer(context, analysis_ref)
    except VerificationError as error:
        error.document = bug_report(context)
        raise


def _answer(context: Context, analysis_ref: str) -> Answer:
    request, analysis, inventory, catalog = context.request, context.analysis, context.inventory, context.catalog
    try:
        found = solved(context)
    except RuledOutError:
        raise
    except NoAnswerError as error:
        if context.memo is not None:
            raise
        raise explained(error, context) from error
    choices, front = found.choices, found.front
    stops = replace(front.stops)
    picks, levels = find_picks(found, context, stops)
    guided, said = stops.needed(lambda: guide_plans(context, choices))
    offers = dict(enumerate(_with_guide(picks, guided, choices, context), start=1))
    alternatives = _described(offers, stops)
    recommended = recommend(context.goal, [(number, item.pick.names, item.loads) for number, item in offers.items()])
    _check_overrides(alternatives[: len(picks)], request)
    none: tuple[Alternative, ...] = ()
    alternatives += stops.made(lambda: _unbound(request, alternatives, analysis, inventory, catalog), none)
    simpler = () if context.memo is not None else simpler_plans(found, context, stops)
    native = unquantized(context, choices)
    model = model_part(context, native, analysis_ref)
    assumptions = (*context.assumptions, *said)
    if fits_unquantized(context, native):
        size = format_size(native.fixed[0] + native.service_bytes)
        held = "unquantized model" if inventory.quantized is None else "checkpoint as it is stored"
        note = f"the {held} fits too ({size}): plans quantize every layer that they may"
        assumptions = (*assumptions, note)
    return Answer(
        request=request.document(),
        model=model,
        service=service_part(context),
        goal=GoalPart(name=context.goal.name, summary=context.goal.summary),
        alternatives=alternatives,
        recommended=recommended,
        front=FrontPart(
            points=len(front),
            complete=front.complete,
            interrupted=stops.interrupted,
            limited=stops.limited,
            time_levels=levels,
            rounding_nats=0.5 * (len(choices.partition.units) + 1) / RISK_STEPS_PER_NAT,
        ),
        simpler=simpler,
        price_nll=price_of_rules(found),
        assumptions=assumptions,
        missing=analysis.missing,
        provenance=provenance(request, analysis, catalog),
    )
