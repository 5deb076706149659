"""What each unit may be: the rules' verdict, with the user's own pins on top."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from solver.catalog import NATIVE
from solver.errors import NoAnswerError
from solver.intake.analysis import Risk as RiskNote
from solver.intake.inventory import LayerFamily
from solver.optimize.build import AllowedSchemes
from solver.plan.context import Context
from solver.plan.kept import kept_as_asked
from solver.plan.one_scheme import one_scheme
from solver.plan.pins import (
    Pin,
    case_of,
    check_floors,
    check_patterns,
    find_pins,
    members_of,
    pin_risks,
    split_by_pins,
)
from solver.plan.reading import as_read
from solver.rules.machine import machine_refusals
from solver.rules.options import refusals
from solver.rules.patterns import first_match, matches
from solver.rules.readers import reader_of
from solver.rules.refusal import Refusal
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


def _excludes(context: Context, pins: Sequence[Pin], members: Sequence[Member]) -> tuple[str, ...]:
    """Return the template's patterns and the user's of layers that stay native.

    An exclude of the template beats a layer pattern in Quark, so one that hits a pinned layer has to go.
    """
    pinned = [pin.pattern for pin in pins if pin.scheme != NATIVE]
    kept = [
        pattern
        for pattern in context.template.exclude_layers
        if not any(
            matches(pattern, member.family, member.block) and first_match(pinned, member.family, member.block)
            for member in members
        )
    ]
    asked = (*context.request.exclude, *(pin.pattern for pin in pins if pin.scheme == NATIVE))
    return tuple(dict.fromkeys((*kept, *asked)))


def _open_schemes(unit: Unit, open_to: Callable[[LayerFamily], tuple[str, ...]]) -> tuple[str, ...]:
    """Return the schemes that all members of a unit may have, in the order of the catalogue."""
    first, *others = (open_to(member.family) for member in unit.members)
    return tuple(name for name in first if all(name in names for names in others))


def find_choices(context: Context) -> Choices:
    """Return the units of a model and the schemes that each may have.

    Raises
    ------
    BadInputError
        If a pattern of the user's matches nothing, or asks for what a rule forbids whatever the user says.
    NoAnswerError
        If no layer may have any scheme.

    """
    choices = any_choices(context)
    if not choices.schemes:
        raise _nothing_allowed(context, choices)
    return choices


def any_choices(context: Context) -> Choices:
    """Return the units of a model and the schemes that each may have, even where no layer may have any.

    Raises
    ------
    BadInputError
        If a pattern of the user's matches nothing, or asks for what a rule forbids whatever the user says.

    """
    if context.memo is None:
        return _any_choices(context)
    return context.memo.once("choices", context.request, lambda: _any_choices(context))


def _any_choices(context: Context) -> Choices:
    request = context.request
    members = members_of(context)
    check_patterns(request.exclude, members, "--exclude")
    check_floors(context)
    pins = find_pins(context, members)
    excludes = _excludes(context, pins, members)
    parts = partition(context.inventory, context.service.backend, excludes)
    pinned = {
        part: scheme for unit in parts.units for part, scheme in split_by_pins(unit, pins, forced=request.force).items()
    }
    schemes = list(context.catalog.schemes)

    @cache
    def open_to(family: LayerFamily) -> tuple[str, ...]:
        return tuple(scheme.name for scheme in schemes if not refusals(case_of(context, family, scheme)))

    free = [unit for unit, scheme in pinned.items() if scheme is None]
    choice: AllowedSchemes = as_read(
        {unit: (NATIVE, *_open_schemes(unit, open_to)) for unit in free},
        reader_of(context.service.backend, context.template.model_type),
    )
    risks = [
        kept_as_asked(context, "--force", refusal) for refusal in machine_refusals(context.service, context.inventory)
    ]
    risks += [note for pin in pins for note in pin_risks(context, pin, members)]
    if request.scheme is not None:
        choice, notes = one_scheme(context, choice, request.scheme)
        risks.extend(notes)
    allowed = {unit: names for unit, names in choice.items() if unit not in pinned} | {
        unit: choice[unit] if scheme is None else (scheme,)
        for unit, scheme in pinned.items()
        if scheme is not None or unit in choice
    }
    risks.extend(_torn_notes(context, [unit for unit in parts.units if unit not in pinned]))
    risks.extend(
        RiskNote(
            severity="low",
            message=f"{name} stays native as a whole, because a part of it is excluded",
            recovery_hint="exclude the whole group, or none of it",
        )
        for name in parts.widened
    )
    return Choices(replace(parts, units=tuple(allowed)), allowed, excludes, tuple(risks))


def _torn_notes(context: Context, torn: Sequence[Unit]) -> list[RiskNote]:
    if not torn:
        return []
    others = f" and {len(torn) - 1} more" if len(torn) > 1 else ""
    sentence = f"the layers of {torn[0].name}{others} have different schemes"
    return [kept_as_asked(context, "--force", Refusal("fused-groups-share-scheme", sentence))]


def _nothing_allowed(context: Context, choices: Choices) -> NoAnswerError:
    where = f"{context.service.backend.title} on {context.service.hardware.title}"
    if not choices.partition.units:
        return NoAnswerError(
            "every layer that Quark could quantize is excluded (rule something-is-quantized).",
            where=where,
            mend="Leave some --exclude out; the template's own excludes are lifted by naming a scheme with --layer.",
        )
    families = dict.fromkeys(member.family for unit in choices.partition.units for member in unit.members)
    reasons = {
        refusal.sentence: None
        for family in families
        for scheme in context.catalog.schemes
        if scheme.usable
        for refusal in refusals(case_of(context, family, scheme))[:1]
    }
    return NoAnswerError(
        f"no layer of {context.analysis.model.model_path} may have any scheme: {'; '.join(list(reasons)[:3])}.",
        where=where,
        mend="`--backend none` plans for the checkpoint alone, `--allow-emulated` allows what the stack emulates.",
    )
