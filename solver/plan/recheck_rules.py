"""Whether a written plan keeps the rules and does what its request asks for."""

from collections.abc import Iterator
from dataclasses import dataclass

from solver.catalog import NATIVE
from solver.optimize.groups import group_of
from solver.plan.algorithm_groups import torn_groups
from solver.plan.names import GUIDE
from solver.plan.pins import case_of, deciding_pin, find_pins, members_of
from solver.plan.recompute import Recomputed
from solver.plan.settings import settings_target
from solver.plan.verification import Difference
from solver.rules.machine import machine_refusals
from solver.rules.options import refusals
from solver.rules.patterns import first_match, matches
from solver.rules.refusal import Refusal
from solver.rules.settings import settings_refusals


@dataclass(frozen=True, slots=True)
class Found:
    """A rule that a plan does not keep, and where."""

    where: str
    refusal: Refusal


def _layers(plan: Recomputed) -> Iterator[Found]:
    used = dict.fromkeys((member.family, scheme) for member, scheme in plan.schemes.items() if scheme != NATIVE)
    for family, name in used:
        scheme = plan.context.catalog.schemes.get(name)
        for refusal in refusals(case_of(plan.context, family, scheme)):
            yield Found(f"{family.glob} as {name}", refusal)


def _units(plan: Recomputed) -> Iterator[Found]:
    for unit in plan.choices.partition.units:
        given = sorted({plan.schemes[member] for member in unit.members})
        if len(given) > 1:
            yield Found(unit.name, Refusal("fused-groups-share-scheme", f"its layers have {' and '.join(given)}"))


def _cache(plan: Recomputed) -> Iterator[Found]:
    """Yield where a quantized KV cache gives layers something else than the patterns say of them."""
    for member, scheme in plan.expansion.plain.items():
        resolved = plan.schemes[member]
        if resolved != scheme:
            sentence = f"its patterns say {scheme}, and with an fp8 KV cache Quark gives it {resolved}"
            yield Found(member.family.path(member.block), Refusal("kv-layers-share-scheme", sentence))


def _settings(plan: Recomputed) -> Iterator[Found]:
    names = sorted({*plan.schemes.values()} - {NATIVE})
    schemes = [plan.context.catalog.schemes.get(name) for name in names]
    if not schemes:
        yield Found("layers", Refusal("something-is-quantized", "every layer is native"))
    for refusal in settings_refusals(plan.settings, settings_target(plan.context, names)):
        yield Found("settings", refusal)
    for scheme in schemes:
        if scheme.family in plan.settings.broken_families:
            named = ", ".join(plan.settings.algorithm_names)
            yield Found("algorithm", Refusal("algorithm-runs-with-all-schemes", f"{named} crashes on {scheme.name}"))
    for where, sentence in torn_groups(plan.schemes, plan.settings, plan.context.template.kv_layers):
        yield Found(where, Refusal("algorithm-scales-whole-groups", sentence))
    spoilt = plan.context.catalog.schemes.get(plan.stated.global_scheme).spoils_as_global
    for scheme in schemes:
        if scheme.family in spoilt:
            sentence = f"{plan.stated.global_scheme} as global scheme ruins the weights of {scheme.name}"
            yield Found("global_scheme", Refusal("global-scheme-spoils-none", sentence))


def _service(plan: Recomputed) -> Iterator[Found]:
    for refusal in machine_refusals(plan.context.service, plan.context.inventory):
        yield Found("service", refusal)
    bill, budget = None if plan.alternative is None else plan.alternative.footprint, plan.context.budget
    if bill is not None:
        bounded = bill.weights_bytes if budget.scope == "weights" else bill.total_bytes
        if bounded > budget.size_bytes:
            sentence = f"it takes {bounded:,} bytes of {budget.size_bytes:,}"
            yield Found("budget", Refusal("budget-holds", sentence))


def broken_rules(plan: Recomputed) -> Iterator[Difference]:
    """Yield the rules that a plan breaks and does not say so; what nothing sets aside counts in any case."""
    told = " ".join(note.message for note in plan.stated.risks)
    for found in (*_layers(plan), *_units(plan), *_cache(plan), *_settings(plan), *_service(plan)):
        rule = plan.context.catalog.rules.get(found.refusal.rule)
        if rule.yields_to != "nothing" and f"(rule {rule.name})" in told:
            continue
        yield Difference(where=found.where, expected=f"rule {rule.name}", found=found.refusal.sentence)


def _asked_layers(plan: Recomputed) -> Iterator[Difference]:
    request = plan.context.request
    members = members_of(plan.context)
    pins = find_pins(plan.context, members)
    for member in members:
        scheme, where = plan.schemes[member], member.family.path(member.block)
        pin = deciding_pin(member, pins)
        excluded = first_match(request.exclude, member.family, member.block)
        if pin is not None and scheme not in {pin.scheme, *([NATIVE] if excluded else ())}:
            yield Difference(where=where, expected=f"{pin.scheme} ({pin.flag})", found=scheme)
        elif pin is None and excluded and scheme != NATIVE:
            yield Difference(where=where, expected=f"native (--exclude {excluded})", found=scheme)
        elif pin is None and request.scheme is not None and scheme not in {request.scheme, NATIVE}:
            yield Difference(where=where, expected=f"{request.scheme} (--scheme) or native", found=scheme)


def _asked_settings(plan: Recomputed) -> Iterator[Difference]:
    request, stated = plan.context.request, plan.stated
    cache = request.kv_cache_scheme
    if cache is not None and (stated.kv_cache_scheme or "none") != cache:
        yield Difference(where="kv_cache_scheme", expected=f"{cache} (--kv)", found=stated.kv_cache_scheme or "none")
    asked = None if request.algorithms is None else ",".join(request.algorithms) or None
    if request.algorithms is not None and stated.algorithm != asked:
        yield Difference(
            where="algorithm", expected=f"{asked or 'none'} (--algorithm)", found=stated.algorithm or "none"
        )


def _asked_form(plan: Recomputed) -> Iterator[Difference]:
    request, found = plan.context.request, plan.alternative
    if found is None:
        return
    used = sorted({*plan.schemes.values()} - {NATIVE})
    if request.max_schemes is not None and len(used) > request.max_schemes:
        yield Difference(where="schemes", expected=f"at most {request.max_schemes} (--max-schemes)", found=f"{used}")
    if request.max_overrides is not None and found.overrides > request.max_overrides:
        limit = f"at most {request.max_overrides} (--max-overrides)"
        yield Difference(where="overrides", expected=limit, found=f"{found.overrides}")
    step, wanted = found.decode_seconds_per_token, request.min_decode_tps
    if wanted is not None and step is not None and step * wanted > 1 + 1e-5:
        limit = f"{wanted:g} tokens/s at least (--min-decode-tps)"
        yield Difference(where="decode_seconds_per_token", expected=limit, found=f"{1 / step:.6g} tokens/s")
    yield from _granularity(plan)


def _granularity(plan: Recomputed) -> Iterator[Difference]:
    granularity = plan.context.request.granularity
    if granularity == "unit":
        return
    groups: dict[str, set[str]] = {}
    pins = find_pins(plan.context, members_of(plan.context))
    kv_patterns = plan.context.template.kv_layers if plan.stated.kv_cache_scheme else ()
    for unit in plan.units:
        free = not any(deciding_pin(member, pins) for member in unit.members)
        tied = any(matches(pattern, m.family, m.block) for pattern in kv_patterns for m in unit.members)
        if free and not tied:
            groups.setdefault(group_of(unit, granularity), set()).add(plan.schemes[unit.members[0]])
    for name, schemes in groups.items():
        given = sorted(schemes - {NATIVE})
        if len(given) > 1:
            expected = f"one scheme (--granularity {granularity})"
            yield Difference(where=name, expected=expected, found=" and ".join(given))


def unasked(plan: Recomputed) -> Iterator[Difference]:
    """Yield where a plan does not do what its request asks for; what Quark's guide says is no answer to that."""
    if plan.stated.name == GUIDE:
        return
    yield from _asked_layers(plan)
    yield from _asked_settings(plan)
    yield from _asked_form(plan)
