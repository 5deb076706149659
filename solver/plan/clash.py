"""What a request demands, beside what its rules do: the question of which of these demands clash."""

from collections import Counter, defaultdict
from dataclasses import dataclass

from solver.catalog import NATIVE
from solver.catalog.scheme import Scheme
from solver.cost.weights import held_bytes
from solver.intake.inventory import LayerFamily
from solver.optimize.build import Costs
from solver.optimize.core import BUDGET, FUSED, RUNS, SOMETHING, TIED, Choice, Clash, Group
from solver.optimize.core import Member as Slot
from solver.plan.clash_rows import settings_rows
from solver.plan.context import Context
from solver.plan.pins import Pin, case_of, deciding_pin, find_pins, members_of
from solver.plan.problems import costs_of
from solver.rules.options import refusals
from solver.rules.patterns import first_match, matches
from solver.rules.refusal import Refusal, standing
from solver.rules.units import Member, Unit, fused_groups

_EMULATION = "kernel-is-native"
"""The rule whose giving up opens emulated schemes; their buffers are then left out of the question."""

_ORDER = {"nothing": 0, "request": 1, "force": 2}


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the user says of one layer: the pin that decides, and the excludes that match."""

    pin: Pin | None
    excludes: tuple[str, ...]
    excluded_by_default: bool


def _asked_of(context: Context, member: Member, pins: list[Pin]) -> _Asked:
    pin = deciding_pin(member, pins)
    excludes = tuple(p for p in context.request.exclude if matches(p, member.family, member.block))
    default = pin is None and first_match(context.template.exclude_layers, member.family, member.block) is not None
    return _Asked(pin, excludes, default)


def _closed_by(context: Context, refused: list[Refusal], *, insisted: bool) -> set[str]:
    if insisted:
        refused = standing(refused, context.catalog.rules, forced=context.request.force)
    return {refusal.rule for refusal in refused}


def _choices(context: Context, family: LayerFamily, asked: _Asked) -> tuple[Choice, ...]:
    """Return all schemes for one layer, each with what closes it."""
    request, role = context.request, context.catalog.roles.named(family.role)

    def size(scheme: Scheme | None) -> int:
        model_type = context.analysis.model.model_type
        return held_bytes(family, scheme, role, context.service, context.inventory, model_type)

    by_user = {f"--exclude {pattern}" for pattern in asked.excludes}
    insists = {asked.pin.flag} if asked.pin is not None and asked.pin.scheme != NATIVE else set()
    choices = [Choice(NATIVE, size(None), frozenset(insists))]
    if asked.excluded_by_default or not family.quantizable:
        return tuple(choices)
    for scheme in context.catalog.schemes:
        named = scheme.name in {request.scheme if asked.pin is None else asked.pin.scheme}
        closed = _closed_by(context, refusals(case_of(context, family, scheme)), insisted=named) | by_user
        if asked.pin is not None and asked.pin.scheme != scheme.name:
            closed.add(asked.pin.flag)
        elif asked.pin is None and request.scheme not in {None, scheme.name}:
            closed.add(f"--scheme {request.scheme}")
        if scheme.storage:
            choices.append(Choice(scheme.name, size(scheme), frozenset(closed)))
    return tuple(choices)


def _dequantized(costs: Costs, group: list[Member], slots: list[Slot]) -> tuple[tuple[str, int], ...]:
    """Return what emulating each scheme on a group takes, for those that no rule against emulation closes."""
    unit = Unit("", tuple(group))
    open_names = dict.fromkeys(
        choice.scheme for slot in slots for choice in slot.choices if _EMULATION not in choice.closed_by
    )
    return tuple((name, size) for name in open_names if (size := costs.dequantized_bytes(unit, name)))


def find_clash(context: Context) -> Clash:
    """Return everything that could be chosen for a request, and all that it and the rules demand.

    The demands stand in the order in which one would rather not be told: rules that nothing sets aside, other rules,
    the budget, what the user named.
    """
    members = members_of(context)
    pins = find_pins(context, members)
    priced: dict[tuple[LayerFamily, _Asked], tuple[Choice, ...]] = {}
    counted: Counter[tuple[tuple[Slot, ...], tuple[tuple[str, int], ...]]] = Counter()
    costs = costs_of(context)
    for group in fused_groups(context.inventory, context.service.backend).values():
        slots = []
        for member in group:
            asked = _asked_of(context, member, pins)
            key = (member.family, asked)
            if key not in priced:
                priced[key] = _choices(context, member.family, asked)
            slots.append(Slot(priced[key], first_match(context.template.kv_layers, member.family, member.block)))
        counted[tuple(slots), _dequantized(costs, group, slots)] += 1
    families: dict[str, set[str]] = defaultdict(set)
    for scheme in context.catalog.schemes:
        families[scheme.family].add(scheme.name)
    groups = tuple(Group(slots, count, dequantized) for (slots, dequantized), count in counted.items())
    buffers = {0} | {size for group in groups for _, size in group.dequantized}
    rows = settings_rows(context, {family: frozenset(names) for family, names in families.items()}, buffers)
    closing = {name for row in rows for name in row.closed_by}
    closing |= {name for group in groups for slot in group.members for c in slot.choices for name in c.closed_by}
    rules = sorted(
        ({name for name in closing if not name.startswith("--")} | {FUSED, TIED, RUNS, SOMETHING}),
        key=lambda name: (_ORDER[context.catalog.rules.get(name).yields_to], name),
    )
    flags = sorted(name for name in closing if name.startswith("--"))
    return Clash((*rules, BUDGET, *flags), groups, rows, context.budget.size_bytes, NATIVE)
