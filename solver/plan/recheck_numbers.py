"""What the patterns of a plan make of it, against the numbers and notes that it states."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from solver.catalog import NATIVE
from solver.plan.compare import differences
from solver.plan.describe import rounded
from solver.plan.names import GUIDE
from solver.plan.recheck_rules import broken_rules, unasked
from solver.plan.recompute import Recomputed
from solver.plan.verification import Check, Difference, checked, left_out
from solver.rules.patterns import matches_path

TIMES = frozenset({"decode_seconds_per_token", "prefill_seconds"})
"""Fields of a plan that say how long something takes."""

_PATTERNS = frozenset({"scheme_shares", "overrides", "fewest_overrides"})
"""Fields of a plan that follow from its patterns alone."""


def _numbers(plan: Recomputed, names: AbstractSet[str]) -> Iterator[Difference]:
    if plan.alternative is not None:
        expected, found = (item.model_dump(mode="json", include=set(names)) for item in (plan.alternative, plan.stated))
        yield from differences("", expected, found)


def _useless(plan: Recomputed) -> Iterator[Difference]:
    for pattern, layers in plan.expansion.matched.items():
        if not layers:
            yield Difference(where=f"layer_quant_config {pattern}", expected="a layer that it matches", found="none")
    for path in plan.context.inventory.convolutions:
        if not any(matches_path(pattern, path) for pattern in plan.stated.exclude_layers):
            yield Difference(
                where=path, expected="excluded: Quark would quantize the convolution", found="not excluded"
            )


def _torn_experts(plan: Recomputed) -> Iterator[Difference]:
    for member, schemes in plan.expansion.torn.items():
        yield Difference(
            where=member.family.path(member.block), expected="one scheme for all experts", found=" and ".join(schemes)
        )


def pattern_check(plan: Recomputed, template_excludes: Sequence[str]) -> Check:
    """Check that the patterns give every layer what was counted, and those that are to stay native nothing."""
    found = [*_torn_experts(plan), *_useless(plan), *_numbers(plan, _PATTERNS)]
    for member in plan.choices.partition.native:
        scheme = plan.schemes[member]
        if scheme != NATIVE:
            named = [
                pattern for pattern in template_excludes if matches_path(pattern, member.family.path(member.block, 0))
            ]
            why = f"native (template excludes {', '.join(named)})" if named else "native"
            found.append(Difference(where=member.family.path(member.block), expected=why, found=scheme))
    count = plan.expansion.layers
    patterns = len(plan.stated.layer_quant_config) + len(plan.stated.exclude_layers)
    return checked(
        "patterns", f"{count:,} layers by {patterns} pattern{'s' * (patterns != 1)}: as they are counted", found
    )


def price_check(name: str, plan: Recomputed, fields: AbstractSet[str], compared: str) -> Check:
    """Check some of the numbers of a plan."""
    if plan.alternative is None:
        return left_out(name, f"not priced: {plan.why}")
    return checked(name, compared, _numbers(plan, fields))


def _losses(plan: Recomputed) -> Iterator[Difference]:
    """Yield what differs of the predicted loss; a plan that is proven to have the least is as risky as the bound."""
    yield from _numbers(plan, {"risk"})
    proof, found = plan.stated.proof, plan.alternative
    if proof is not None and proof.status == "optimal" and found is not None and found.risk is not None:
        bound = {"bound": found.risk.delta_nll} if proof.objective == "risk" else {}
        stated = {name: rounded(getattr(proof, name)) for name in ("gap", *bound)}
        yield from differences("proof", {"gap": 0.0, **bound}, stated)


def risk_check(plan: Recomputed) -> Check:
    """Check the predicted loss of a plan and what is proven of it."""
    if plan.alternative is None or plan.alternative.risk is None:
        return left_out("risk", f"not priced: {plan.why}")
    loss = plan.alternative.risk.delta_nll
    return checked("risk", f"{loss:.6g} nats/token predicted, its band and bound", _losses(plan))


def _notes(plan: Recomputed) -> Iterator[Difference]:
    yield from _numbers(plan, {"environment"})
    # What is kept because Quark's guide says so depends on a line of the guide that a plan does not name.
    if plan.alternative is None or plan.stated.name == GUIDE:
        return
    stated, expected = (
        [f"{note.message}; {note.recovery_hint}" for note in item.risks] for item in (plan.stated, plan.alternative)
    )
    for text in expected:
        if text not in stated:
            yield Difference(where="risks", expected=text, found="no such note")
    for text in stated:
        if text not in expected:
            yield Difference(where="risks", expected="no such note", found=text)


def notes_check(plan: Recomputed) -> Check:
    """Check the risks that a plan tells, and the environment that its stack needs."""
    if plan.alternative is None:
        return left_out("notes", f"not priced: {plan.why}")
    risks, variables = len(plan.stated.risks), len(plan.stated.environment)
    return checked("notes", f"{risks} risks, {variables} environment variables: as told", _notes(plan))


def others_check(plans: Sequence[Recomputed]) -> Check:
    """Check the alternatives that are not chosen."""
    found = (item for plan in plans for item in _rest(plan))
    return checked("alternatives", f"{len(plans)} others: patterns, rules, bytes, risk, time, notes", found)


def _rest(plan: Recomputed) -> Iterator[Difference]:
    """Yield what differs of an alternative that is not chosen."""
    where = f"alternative {plan.stated.id}"
    if plan.alternative is None:
        yield Difference(where=where, expected="a plan that can be priced", found=plan.why)
        return
    found = (
        *_torn_experts(plan),
        *_useless(plan),
        *_numbers(plan, {"footprint", *_PATTERNS, *TIMES}),
        *_losses(plan),
        *_notes(plan),
        *broken_rules(plan),
        *unasked(plan),
    )
    for item in found:
        yield item.model_copy(update={"where": f"{where}: {item.where}"})
