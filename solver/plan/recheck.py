"""`solve verify` without Quark: a written plan recomputed from its request, and compared with what it states."""

from dataclasses import dataclass

from pydantic import ValidationError

from solver.catalog import Catalog
from solver.errors import BadInputError, MissingError
from solver.intake.analysis import ModelAnalysis
from solver.plan.compare import written
from solver.plan.confirm import CHOSEN_FIELDS
from solver.plan.context import Context, resolve
from solver.plan.document import Alternative, QuantPlan
from solver.plan.freed import free_request
from solver.plan.names import UNBOUND
from solver.plan.recheck_facts import choice_check, hash_check, model_check, service_check, version_notes
from solver.plan.recheck_numbers import TIMES, notes_check, others_check, pattern_check, price_check, risk_check
from solver.plan.recheck_rules import broken_rules, unasked
from solver.plan.recompute import Recomputed, recompute
from solver.plan.request import PlanRequest
from solver.plan.verification import Check, checked


@dataclass(frozen=True)
class Rechecked:
    """The checks of a plan, and the plan as recomputed."""

    checks: tuple[Check, ...]
    chosen: Recomputed
    notes: tuple[str, ...]


def stated_plan(plan: QuantPlan) -> Alternative:
    """Return what a plan itself says, as an alternative: its own fields, and the rest from the one it chose."""
    chosen = next((item for item in plan.alternatives if item.id == plan.chosen), None)
    if chosen is None or plan.footprint is None:
        what = "is a draft without numbers" if plan.footprint is None else f"has no alternative {plan.chosen}"
        raise BadInputError(f"the plan {what}: there is nothing to verify.", mend="Plan again.")
    return chosen.model_copy(update={name: getattr(plan, name) for name in CHOSEN_FIELDS})


def _request(plan: QuantPlan) -> PlanRequest:
    try:
        return PlanRequest.model_validate(plan.request)
    except ValidationError as error:
        fields = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:5])
        raise BadInputError(f"the request in the plan cannot be used: {fields}.", mend="Plan again.") from error


def recheck(plan: QuantPlan, analysis: ModelAnalysis, catalog: Catalog) -> Rechecked:
    """Return everything that can be said of a plan without Quark.

    Raises
    ------
    PlannerError
        If the plan has no numbers, or its request or a name in it cannot be used.
    """
    stated = stated_plan(plan)
    inventory = analysis.inventory
    if inventory is None:
        raise MissingError(
            f"the analysis lacks {', '.join(analysis.missing)}.",
            where=plan.model.model_path,
            mend="Name the model's configuration with --model.",
        )
    request = _request(plan)
    context = resolve(request, analysis, inventory, catalog)

    def context_of(item: Alternative) -> Context:
        # What the planner would do unbound was planned for a request of its own.
        unbound = item.name == UNBOUND
        return resolve(free_request(request), analysis, inventory, catalog) if unbound else context

    chosen = recompute(stated, context_of(stated))
    others = [recompute(item, context_of(item)) for item in plan.alternatives if item.id != plan.chosen]
    rules = [*broken_rules(chosen), *unasked(chosen)]
    bill = stated.footprint
    total = "" if bill is None else f": {written(bill.total_bytes)}"
    checks = (
        hash_check(plan, analysis, catalog),
        model_check(plan, context),
        service_check(plan, context),
        choice_check(plan, stated),
        pattern_check(chosen, context.template.exclude_layers),
        checked("rules", f"{len(catalog.rules)} rules and the request: kept, or told as a risk", rules),
        price_check("bytes", chosen, {"footprint"}, f"weights, cache, activations, runtime{total}"),
        risk_check(chosen),
        price_check("time", chosen, TIMES, "one decoding step and one prompt"),
        notes_check(chosen),
        others_check(others),
    )
    return Rechecked(checks, chosen, tuple(version_notes(plan, context)))
