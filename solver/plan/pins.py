"""What the user insists on for single layers: which scheme, what stands against it, and what it risks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from solver.catalog import NATIVE
from solver.catalog.scheme import Scheme
from solver.errors import BadInputError, NoAnswerError
from solver.intake.analysis import Risk as RiskNote
from solver.intake.inventory import LayerFamily
from solver.plan.context import Context
from solver.plan.kept import kept_as_asked
from solver.rules.options import Case, refusals
from solver.rules.patterns import matches
from solver.rules.refusal import Refusal, standing
from solver.rules.units import Member, Unit


@dataclass(frozen=True, slots=True)
class Pin:
    """A glob and the scheme that the layers it matches are to have, with the flag that says so."""

    pattern: str
    scheme: str
    flag: str


def case_of(context: Context, family: LayerFamily, scheme: Scheme) -> Case:
    """Return one scheme for one layer family, for the rules to judge."""
    return Case(
        family=family,
        role=context.catalog.roles.named(family.role),
        scheme=scheme,
        service=context.service,
        inventory=context.inventory,
        model_type=context.analysis.model.model_type,
        allow_emulated=context.request.allow_emulated,
        floor_bits=context.request.floors.get(family.role),
    )


def members_of(context: Context) -> list[Member]:
    """Return all layers, by family and block."""
    return [Member(family, block) for family in context.inventory.layers for block in family.block_indices or (None,)]


def check_patterns(patterns: Iterable[str], members: Sequence[Member], flag: str) -> None:
    """Raise for a pattern that matches no layer.

    Raises
    ------
    BadInputError
        For the first such pattern.
    """
    for pattern in patterns:
        if not any(matches(pattern, member.family, member.block) for member in members):
            known = sorted({member.family.name for member in members})[:6]
            raise BadInputError(
                f"the pattern {pattern!r} matches no layer, and Quark would ignore it silently.",
                where=flag,
                mend=f"Patterns are globs over whole paths such as {', '.join(known)}; begin with `*`.",
            )


def _families_of(context: Context, role: str, flag: str) -> list[LayerFamily]:
    """Return the layers of a role that the user names.

    Raises
    ------
    BadInputError
        If the model has none.
    """
    families = context.inventory.layers
    named = [family for family in families if family.role == role]
    if not named:
        raise BadInputError(
            f"the model has no layers of role {role!r}.",
            where=flag,
            mend=f"It has {', '.join(dict.fromkeys(family.role for family in families))}.",
        )
    return named


def check_floors(context: Context) -> None:
    """Raise for a floor under a role that the model does not have.

    Raises
    ------
    BadInputError
        For the first such role.
    """
    for role, bits in context.request.floors.items():
        _families_of(context, role, f"--floor {role}={bits:g}")


def _role_pins(context: Context) -> Iterator[Pin]:
    for role, scheme in context.request.pins.items():
        for family in _families_of(context, role, f"--pin {role}={scheme}"):
            yield Pin(family.glob, scheme, f"--pin {role}={scheme}")


def find_pins(context: Context, members: Sequence[Member]) -> list[Pin]:
    """Return the pins of a request, those by pattern before those by role: the first that matches decides.

    Raises
    ------
    BadInputError
        If one names no layer, or a scheme that a rule forbids whatever the user says.
    UnknownNameError
        If a scheme is not in the catalogue.
    """
    layers = context.request.layers
    check_patterns(layers, members, "--layer")
    pins = [
        *(Pin(pattern, scheme, f"--layer {pattern}={scheme}") for pattern, scheme in layers.items()),
        *_role_pins(context),
    ]
    for pin in pins:
        if pin.scheme != NATIVE:
            _check(context, pin, members)
    return pins


def _families(pin: Pin, members: Sequence[Member]) -> list[LayerFamily]:
    matched = (member.family for member in members if matches(pin.pattern, member.family, member.block))
    return list(dict.fromkeys(matched))


def nearest_legal(context: Context, families: Sequence[LayerFamily], scheme: Scheme) -> str:
    """Return the scheme that all families may have and that is most like another in family and bits, or native."""
    open_schemes = [
        other
        for other in context.catalog.schemes
        if not any(refusals(case_of(context, family, other)) for family in families)
    ]

    def distance(other: Scheme) -> tuple[bool, float, bool, float]:
        bits = abs(other.weight.bits - scheme.weight.bits)
        other_inputs = (other.activation is None) != (scheme.activation is None)
        return other.family != scheme.family, bits, other_inputs, max(other.noise.weight.values())

    return min(open_schemes, key=distance).name if open_schemes else NATIVE


def _check(context: Context, pin: Pin, members: Sequence[Member]) -> None:
    scheme = context.catalog.schemes.get(pin.scheme)
    families = _families(pin, members)
    for family in families:
        found = refusals(case_of(context, family, scheme))
        for refusal in standing(found, context.catalog.rules, forced=context.request.force):
            forceable = context.catalog.rules.get(refusal.rule).yields_to == "force"
            insist = "; `--force` writes it all the same" if forceable else ""
            raise BadInputError(
                f"{refusal}.",
                where=pin.flag,
                mend=f"The nearest that these layers may have is {nearest_legal(context, families, scheme)}{insist}.",
            )


def pin_risks(context: Context, pin: Pin, members: Sequence[Member]) -> list[RiskNote]:
    """Return what is to be said of a pin that is kept."""
    if pin.scheme == NATIVE:
        return []
    scheme = context.catalog.schemes.get(pin.scheme)
    found = {
        refusal.sentence: refusal
        for family in _families(pin, members)
        for refusal in refusals(case_of(context, family, scheme))
    }
    notes = [kept_as_asked(context, f"{pin.pattern}={pin.scheme}", refusal) for refusal in found.values()]
    if any(m.family.tied and matches(pin.pattern, m.family, m.block) for m in members):
        twice = Refusal("tied-head-adds-bytes", "a head that is tied to the embedding is stored a second time")
        notes.append(kept_as_asked(context, f"{pin.pattern}={pin.scheme}", twice))
    return notes


def deciding_pin(member: Member, pins: Sequence[Pin]) -> Pin | None:
    """Return the pin that gives a layer its scheme: the first that matches, or None."""
    return next((pin for pin in pins if matches(pin.pattern, member.family, member.block)), None)


def split_by_pins(unit: Unit, pins: Sequence[Pin], *, forced: bool) -> dict[Unit, str | None]:
    """Return a unit with the scheme that pins give it, or None: itself, or its parts where pins tear it and are forced.

    Raises
    ------
    NoAnswerError
        If pins give its members different schemes.
    """
    deciding = {member: deciding_pin(member, pins) for member in unit.members}
    found = {pin for pin in deciding.values() if pin is not None}
    schemes = sorted({pin.scheme for pin in found})
    if len(schemes) < 2:
        return {unit: schemes[0] if schemes else None}
    if not forced:
        raise NoAnswerError(
            f"{unit.name} is one unit and cannot have {' and '.join(schemes)} (rule fused-groups-share-scheme).",
            where=", ".join(sorted({pin.flag for pin in found})),
            mend="Give all layers of a fused group the same scheme; `--force` writes it all the same.",
        )
    parts: dict[str | None, list[Member]] = {}
    for member, pin in deciding.items():
        parts.setdefault(None if pin is None else pin.scheme, []).append(member)
    return {
        Unit(f"{unit.name}, {' and '.join(member.family.role for member in members)}", tuple(members)): scheme
        for scheme, members in parts.items()
    }
