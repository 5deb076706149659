"""From a point to an alternative: patterns, numbers, and what may go wrong."""

import math
from collections import Counter
from dataclasses import replace

from solver.catalog import NATIVE
from solver.catalog.algorithm import Algorithm
from solver.cost.footprint import footprint
from solver.cost.roofline import Placed, Roofline, Times
from solver.intake.analysis import Risk as RiskNote
from solver.optimize.problem import RISK_STEPS_PER_NAT, Point
from solver.plan.alternatives import Pick
from solver.plan.assignment import Assignment, assign
from solver.plan.checkpoint_notes import scale_notes
from solver.plan.choices import Choices
from solver.plan.context import Context
from solver.plan.document import Alternative, FootprintPart, ProofPart, RiskPart
from solver.plan.names import BALANCED, BETWEEN, DIFFERENT, FASTER, FASTEST, LOWEST_RISK, SIMPLEST, SMALLEST
from solver.plan.patterns import QuarkPatterns, to_patterns
from solver.plan.reading import reading_notes
from solver.plan.requantize import requantizing_notes, unkept_notes
from solver.plan.serving import environment, serving_notes
from solver.plan.settings import settings_risks
from solver.plan.side_rules import count_written

_REASONS = {
    LOWEST_RISK: "least predicted loss that fits",
    BALANCED: "most quality for each byte: the knee of the front",
    SMALLEST: "fewest bytes of all plans",
    FASTEST: "shortest decoding step",
    SIMPLEST: "one scheme everywhere",
    BETWEEN: "a further point of the front",
    FASTER: "least predicted loss of plans whose decoding step is as short",
    DIFFERENT: "least predicted loss of those that give a good part of the weights another scheme",
}
_NOTABLE_LOSS = 0.03
_HIGH_LOSS = 0.10
_SIGNIFICANT_DIGITS = 6


def rounded(value: float) -> float:
    """Return a float with the digits that an estimate can carry."""
    return float(f"{value:.{_SIGNIFICANT_DIGITS}g}")


def effective_algorithms(point: Point, assignment: Assignment, context: Context) -> tuple[Algorithm, ...]:
    """Return the algorithms of a point that have something to do, all of them where the user named them."""
    algorithms = point.problem.settings.algorithms
    if context.request.algorithms is not None:
        return algorithms
    families = {context.catalog.schemes.get(name).family for name in assignment.quantized_elements_by_scheme}
    return tuple(algorithm for algorithm in algorithms if families & set(algorithm.fits))


def _loss_note(risk: RiskPart) -> list[RiskNote]:
    if risk.delta_nll < _NOTABLE_LOSS:
        return []
    rise = math.expm1(risk.delta_nll)
    return [
        RiskNote(
            severity="high" if risk.delta_nll >= _HIGH_LOSS else "medium",
            message=f"the predicted rise in perplexity is {rise:.1%}",
            recovery_hint="raise the budget, or evaluate with `--evaluation-intent full` before serving",
        )
    ]


def _times(assignment: Assignment, context: Context, *, kv_fp8: bool) -> Times:
    counts = Counter((member.family, scheme) for member, scheme in assignment.schemes.items())
    placed = tuple(
        Placed(family, None if scheme == NATIVE else context.catalog.schemes.get(scheme), blocks)
        for (family, scheme), blocks in counts.items()
    )
    model_type = context.analysis.model.model_type
    return Roofline(context.catalog, context.inventory, context.service, model_type).times(placed, kv_fp8=kv_fp8)


def patterns_of(assignment: Assignment, choices: Choices, context: Context, *, kv_fp8: bool) -> QuarkPatterns:
    """Return the patterns that a plan of a request is written with; see `to_patterns`."""
    return to_patterns(
        assignment,
        context.template,
        context.catalog,
        choices.excludes,
        kv_fp8=kv_fp8,
        convolutions=context.inventory.convolutions,
        at_most=context.request.max_overrides,
    )


def describe(number: int, pick: Pick, choices: Choices, context: Context) -> Alternative:
    """Return the alternative that a picked point makes."""
    assignment = assign(pick.point, choices.partition)
    kv_fp8 = pick.point.problem.settings.kv_cache_scheme is not None

    def written() -> QuarkPatterns:
        return patterns_of(assignment, choices, context, kv_fp8=kv_fp8)

    if context.memo is None:
        patterns = written()
    else:
        patterns = context.memo.once(
            "patterns", context.request, written, parts=(pick.point.counts,), objects=(pick.point.problem, choices)
        )
    return as_written(number, pick, assignment, patterns, choices, context)


def as_written(
    number: int, pick: Pick, assignment: Assignment, patterns: QuarkPatterns, choices: Choices, context: Context
) -> Alternative:
    """Return the alternative of a point whose patterns are written already, with all of its numbers and notes."""
    point = pick.point
    kv_fp8 = point.problem.settings.kv_cache_scheme is not None
    algorithms = effective_algorithms(point, assignment, context)
    bill = footprint(
        point.weights_bytes,
        context.service,
        context.inventory,
        context.catalog.roles,
        kv_fp8=kv_fp8,
        dequantized_bytes=point.problem.dequantized_bytes,
    )
    predicted = context.risk.banded(point.risk / RISK_STEPS_PER_NAT)
    risk = RiskPart(
        delta_nll=rounded(predicted.delta_nll),
        low=rounded(predicted.low),
        high=rounded(predicted.high),
        source=predicted.source,
    )
    times = _times(assignment, context, kv_fp8=kv_fp8)
    schemes = assignment.quantized_elements_by_scheme
    used = list(
        dict.fromkeys((member.family, scheme) for member, scheme in assignment.schemes.items() if scheme != NATIVE)
    )
    notes = [
        *context.analysis.risks,
        *choices.risks,
        *_loss_note(risk),
        *settings_risks(context, replace(point.problem.settings, algorithms=algorithms), schemes),
        *requantizing_notes(context, used),
        *unkept_notes(context, (member.family for member, scheme in assignment.schemes.items() if scheme == NATIVE)),
        *reading_notes(patterns, assignment, context),
        *scale_notes(context, assignment, algorithms),
        *serving_notes(context, used, point.problem.dequantized_bytes),
    ]
    native = sum(m.layers * m.family.weight_elements for m, scheme in assignment.schemes.items() if scheme == NATIVE)
    total = sum(schemes.values()) + native
    return Alternative(
        id=number,
        name=", ".join(pick.names),
        reason="; ".join((*(_REASONS[name] for name in pick.names if name in _REASONS), *pick.reasons)),
        global_scheme=patterns.global_scheme,
        kv_cache_scheme=point.problem.settings.kv_cache_scheme,
        exclude_layers=patterns.exclude_layers,
        layer_quant_config=patterns.layer_quant_config,
        overrides=count_written(patterns, choices),
        fewest_overrides=patterns.fewest,
        algorithm=",".join(algorithm.name for algorithm in algorithms) or None,
        scheme_shares={name: rounded(count / total) for name, count in ({**schemes, NATIVE: native}).items() if count},
        footprint=FootprintPart.of(bill),
        risk=risk,
        decode_seconds_per_token=None if times.decode_seconds is None else rounded(times.decode_seconds),
        prefill_seconds=None if times.prefill_seconds is None else rounded(times.prefill_seconds),
        proof=_proof(point),
        environment=environment(context, used),
        risks=tuple(dict.fromkeys(notes)),
    )


def _proof(point: Point) -> ProofPart:
    proof = point.proof
    scale = RISK_STEPS_PER_NAT if proof.objective == "risk" else 1
    return ProofPart.model_validate(
        {
            "status": proof.status,
            "objective": proof.objective,
            "bound": proof.bound / scale,
            "gap": rounded(proof.gap),
        }
    )
