"""What each unit may be: the rules' verdict, with the user's own pins on top."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from solver.catalog import NATIVE
from solver.catalog.scheme import Scheme
from solver.errors import BadInputError, NoAnswerError
from solver.intake.analysis import Risk as RiskNote
from solver.intake.inventory import LayerFamily
from solver.optimize.build import AllowedSchemes
from solver.plan.context import Context
from solver.rules.options import Case, impossible, refusals
from solver.rules.patterns import first_match, matches
from solver.rules.units import Member, Partition, Unit, partition


@dataclass(frozen=True)
class Choices:
    """Units and their schemes; `excludes` are the patterns that keep layers native."""

    partition: Partition
    allowed: AllowedSchemes
    excludes: tuple[str, ...]
    risks: tuple[RiskNote, ...]

    @property
    def schemes(self) -> frozenset[str]:
        """All schemes that some unit may have, native left out."""
        return frozenset(name for names in self.allowed.values() for name in names if name != NATIVE)


def _case(context: Context, family: LayerFamily, scheme: Scheme) -> Case:
    return Case(
        family=family,
        role=context.catalog.roles.named(family.role),
        scheme=scheme,
        service=context.service,
        inventory=context.inventory,
        model_type=context.analysis.model.model_type,
        allow_emulated=context.request.allow_emulated,
    )


def _all_members(context: Context) -> list[Member]:
    return [Member(family, block) for family in context.inventory.layers for block in family.block_indices or (None,)]


def _check_patterns(patterns: Sequence[str], members: Sequence[Member], flag: str) -> None:
    for pattern in patterns:
        if not any(matches(pattern, member.family, member.block) for member in members):
            known = sorted({member.family.name for member in members})[:6]
            raise BadInputError(
                f"the pattern {pattern!r} matches no layer, and Quark would ignore it silently.",
                where=flag,
                mend=f"Patterns are globs over whole paths such as {', '.join(known)}; begin with `*`.",
            )


def _check_pin(context: Context, pattern: str, scheme_name: str, members: Sequence[Member]) -> None:
    scheme = context.catalog.schemes.get(scheme_name)
    for family in {member.family for member in members if matches(pattern, member.family, member.block)}:
        refusal = impossible(_case(context, family, scheme))
        if refusal is not None:
            raise BadInputError(
                f"{refusal.sentence} (rule {refusal.rule}).",
                where=f"--layer {pattern}={scheme_name}",
                mend="Quark itself cannot do this; choose another scheme for these layers.",
            )


def _pin_risks(context: Context, pattern: str, scheme_name: str, members: Sequence[Member]) -> list[RiskNote]:
    scheme = context.catalog.schemes.get(scheme_name)
    sentences = {
        refusal.sentence: refusal.rule
        for family in dict.fromkeys(m.family for m in members if matches(pattern, m.family, m.block))
        for refusal in refusals(_case(context, family, scheme))
    }
    notes = [
        RiskNote(
            severity="high",
            message=f"kept as asked, {pattern}={scheme_name}: {sentence} (rule {rule})",
            recovery_hint="leave these layers to the planner, or serve with a backend that loads them",
        )
        for sentence, rule in sentences.items()
    ]
    if any(m.family.tied and matches(pattern, m.family, m.block) for m in members):
        notes.append(
            RiskNote(
                severity="medium",
                message=f"{pattern} quantizes a head that is tied to the embedding: it is stored a second time",
                recovery_hint="leave the head native",
            )
        )
    return notes


def _pinned(unit: Unit, pins: dict[str, str]) -> str | None:
    """Return the scheme that the user's patterns give a unit, or None; the first matching pattern decides."""
    found = {
        pattern for member in unit.members if (pattern := first_match(pins, member.family, member.block)) is not None
    }
    schemes = {pins[pattern] for pattern in found}
    if len(schemes) > 1:
        raise BadInputError(
            f"{unit.name} is one unit and cannot have {' and '.join(sorted(schemes))}.",
            where=f"--layer {', '.join(sorted(found))}",
            mend="Give all layers of a fused group the same scheme.",
        )
    return schemes.pop() if schemes else None


def find_choices(context: Context) -> Choices:
    """Return the units of a model and the schemes that each may have.

    Raises
    ------
    BadInputError
        If a pattern of the user's matches nothing, or asks for what Quark cannot do.
    NoAnswerError
        If no layer may have any scheme.

    """
    request, template = context.request, context.template
    members = _all_members(context)
    _check_patterns(request.exclude, members, "--exclude")
    _check_patterns(tuple(request.layers), members, "--layer")
    pins = {pattern: scheme for pattern, scheme in request.layers.items() if scheme != NATIVE}
    risks: list[RiskNote] = []
    for pattern, scheme_name in pins.items():
        _check_pin(context, pattern, scheme_name, members)
        risks.extend(_pin_risks(context, pattern, scheme_name, members))
    asked_native = [
        *request.exclude,
        *(pattern for pattern, scheme in request.layers.items() if scheme == NATIVE),
    ]
    # An exclude of the template beats a layer pattern in Quark, so one that hits a pinned layer has to go.
    excludes = [
        pattern
        for pattern in template.exclude_layers
        if not any(
            matches(pattern, member.family, member.block) and first_match(pins, member.family, member.block)
            for member in members
        )
    ]
    parts = partition(context.inventory, context.service.backend, (*excludes, *asked_native))
    schemes = [scheme for scheme in context.catalog.schemes if scheme.usable]

    @cache
    def allowed_for(family: LayerFamily) -> tuple[str, ...]:
        return tuple(scheme.name for scheme in schemes if not refusals(_case(context, family, scheme)))

    allowed = {}
    for unit in parts.units:
        pinned = _pinned(unit, pins)
        common = set(allowed_for(unit.members[0].family))
        for member in unit.members[1:]:
            common &= set(allowed_for(member.family))
        names = tuple(scheme.name for scheme in schemes if scheme.name in common)
        allowed[unit] = (pinned,) if pinned else (NATIVE, *names)
    risks.extend(
        RiskNote(
            severity="low",
            message=f"{name} stays native as a whole, because a part of it is excluded",
            recovery_hint="exclude the whole group, or none of it",
        )
        for name in parts.widened
    )
    choices = Choices(parts, allowed, tuple(dict.fromkeys((*excludes, *asked_native))), tuple(risks))
    if not choices.schemes:
        raise _nothing_allowed(context, choices)
    return choices


def _nothing_allowed(context: Context, choices: Choices) -> NoAnswerError:
    where = f"{context.service.backend.title} on {context.service.hardware.title}"
    if not choices.partition.units:
        return NoAnswerError(
            "every layer that Quark could quantize is excluded.",
            where=where,
            mend="Leave some --exclude out; the template's own excludes are lifted by naming a scheme with --layer.",
        )
    families = dict.fromkeys(member.family for unit in choices.partition.units for member in unit.members)
    reasons = {
        refusal.sentence: None
        for family in families
        for scheme in context.catalog.schemes
        if scheme.usable
        for refusal in refusals(_case(context, family, scheme))[:1]
    }
    return NoAnswerError(
        f"no layer of {context.analysis.model.model_path} may have any scheme: {'; '.join(list(reasons)[:3])}.",
        where=where,
        mend="`--backend none` plans for the checkpoint alone, `--allow-emulated` allows what the stack emulates.",
    )
