"""What the serving stack's own reading of patterns asks of a plan, and what it will read otherwise."""

from collections.abc import Iterable, Iterator

from solver.catalog import NATIVE
from solver.intake.analysis import Risk as RiskNote
from solver.optimize.build import AllowedSchemes
from solver.plan.alphabet import in_alphabet
from solver.plan.assignment import Assignment
from solver.plan.context import Context
from solver.plan.written import QuarkPatterns
from solver.rules.readers import StackReader, reader_of
from solver.rules.units import Unit


def as_read(allowed: AllowedSchemes, reader: StackReader) -> dict[Unit, tuple[str, ...]]:
    """Return the choices that the stack can read.

    Layers that are read by the global scheme alone are decided as one. Layers that the stack does not find among the
    excluded ones do not stay native where they may have a scheme.
    """
    tied = [unit for unit in allowed if any(reader.only_global(member.family) for member in unit.members)]
    found = {unit: _readable(unit, names, reader) for unit, names in allowed.items() if unit not in tied}
    if not tied:
        return found
    common = set(allowed[tied[0]]).intersection(*(allowed[unit] for unit in tied))
    members = tuple(member for unit in tied for member in unit.members)
    whole = Unit(f"all that {reader.stack} gives the global scheme", members)
    return {whole: tuple(name for name in allowed[tied[0]] if name in common), **found}


def _readable(unit: Unit, names: tuple[str, ...], reader: StackReader) -> tuple[str, ...]:
    if all(reader.knows_excluded(member.family) for member in unit.members):
        return names
    return tuple(name for name in names if name != NATIVE) or names


def reading_notes(patterns: QuarkPatterns, assignment: Assignment, context: Context) -> list[RiskNote]:
    """Return what the stack that is to serve a plan will read otherwise than Quark, and what it cannot load."""
    title, reader = context.service.backend.title, reader_of(context.service.backend, context.template.model_type)
    if context.service.backend.reader is None:
        return []
    messages = (*_misread(patterns, assignment, reader, title), *_unloaded(assignment, reader, title))
    return [
        RiskNote(severity="high", message=message, recovery_hint="plan for another stack, or check that it loads")
        for message in dict.fromkeys(messages)
    ]


def _misread(patterns: QuarkPatterns, assignment: Assignment, reader: StackReader, title: str) -> Iterator[str]:
    entries = in_alphabet(patterns.layer_quant_config)
    for member, scheme in assignment.schemes.items():
        family = member.family
        if not family.quantizable or family.role == "vision":
            continue
        if patterns.excludes(member):
            if not reader.knows_excluded(family):
                yield f"{title} looks {family.glob} up by another name, and does not know that they are native"
            continue
        read = reader.scheme_of(entries, patterns.global_scheme, family, member.block)
        if read != scheme:
            yield f"{title} reads {read} where {family.glob} is {scheme}"


def _unloaded(assignment: Assignment, reader: StackReader, title: str) -> Iterable[str]:
    for item in reader.unloaded:
        for family in dict.fromkeys(member.family for member in assignment.schemes):
            if item.part in family.name:
                yield f"{title} looks for {item.wanted} where Quark's export has {item.part}, and does not load these"
