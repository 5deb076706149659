"""From an answer to a plan: a draft until the user says yes."""

from solver.errors import BadInputError
from solver.plan.document import Alternative, Answer, QuantPlan
from solver.plan.request import PlanRequest
from solver.plan.serving import next_steps

CHOSEN_FIELDS = (
    "global_scheme",
    "kv_cache_scheme",
    "exclude_layers",
    "layer_quant_config",
    "algorithm",
    "footprint",
    "risk",
    "decode_seconds_per_token",
    "prefill_seconds",
    "proof",
    "environment",
    "risks",
)
"""What a plan has from the alternative that was chosen."""


def _alternative(alternatives: tuple[Alternative, ...], number: int) -> Alternative:
    for alternative in alternatives:
        if alternative.id == number:
            return alternative
    known = ", ".join(str(alternative.id) for alternative in alternatives) or "none"
    raise BadInputError(f"there is no alternative {number}.", where="--choose", mend=f"There are {known}.")


def draft(answer: Answer, number: int | None = None) -> QuantPlan:
    """Return one alternative of an answer as an unconfirmed plan, the recommended one by default.

    Raises
    ------
    BadInputError
        If there is no such alternative.

    """
    chosen = _alternative(answer.alternatives, answer.recommended if number is None else number)
    request = PlanRequest.model_validate(answer.request)
    return QuantPlan(
        model=answer.model,
        global_scheme=chosen.global_scheme,
        kv_cache_scheme=chosen.kv_cache_scheme,
        exclude_layers=chosen.exclude_layers,
        layer_quant_config=chosen.layer_quant_config,
        algorithm=chosen.algorithm,
        calibration=request.calibration,
        evaluation_intent=request.evaluation_intent,
        requires_confirmation=True,
        chosen=chosen.id,
        footprint=chosen.footprint,
        risk=chosen.risk,
        decode_seconds_per_token=chosen.decode_seconds_per_token,
        prefill_seconds=chosen.prefill_seconds,
        proof=chosen.proof,
        environment=chosen.environment,
        service=answer.service,
        risks=chosen.risks,
        assumptions=answer.assumptions,
        missing=answer.missing,
        next_steps=next_steps(answer.model, answer.service, chosen.algorithm),
        request=answer.request,
        provenance=answer.provenance,
        alternatives=answer.alternatives,
    )


def choose(plan: QuantPlan, number: int) -> QuantPlan:
    """Return a plan with another of its alternatives chosen, unconfirmed.

    Raises
    ------
    BadInputError
        If there is no such alternative.

    """
    chosen = _alternative(plan.alternatives, number)
    update = {name: getattr(chosen, name) for name in CHOSEN_FIELDS}
    update["next_steps"] = next_steps(plan.model, plan.service, chosen.algorithm)
    return plan.model_copy(update=update | {"chosen": number, "requires_confirmation": True, "rejected": False})


def confirm(plan: QuantPlan) -> QuantPlan:
    """Return the plan as confirmed.

    Raises
    ------
    BadInputError
        If the plan was drafted without knowing the model's layers: it has nothing to confirm.

    """
    if plan.footprint is None:
        raise BadInputError(
            f"a draft without these facts cannot be confirmed: {', '.join(plan.missing)}.",
            mend="`solve analyze MODEL -o model_analysis.json` completes the analysis; then plan again.",
        )
    return plan.model_copy(update={"requires_confirmation": False, "rejected": False})


def reject(plan: QuantPlan) -> QuantPlan:
    """Return the plan as rejected: it stays a draft, and nothing carries it out."""
    return plan.model_copy(update={"requires_confirmation": True, "rejected": True})
