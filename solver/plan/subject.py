"""Which layers a question is about, and what is decided together with them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from solver.errors import BadInputError
from solver.intake.inventory import LayerFamily
from solver.plan.context import Context
from solver.plan.explanation import LayerPart, UnitPart
from solver.plan.pins import members_of
from solver.rules.patterns import first_match, matches
from solver.rules.settings import kv_patterns_reach_the_cache
from solver.rules.shards import shard_shape
from solver.rules.units import Member, Unit, partition


@dataclass(frozen=True)
class Subject:
    """The layers that were asked about, the patterns that pin them, and the units that hold them."""

    patterns: tuple[str, ...]
    members: tuple[Member, ...]
    units: tuple[Unit, ...]

    @property
    def families(self) -> tuple[LayerFamily, ...]:
        """All families of layers in these units."""
        return tuple(dict.fromkeys(member.family for unit in self.units for member in unit.members))


def _patterns(asked: str, context: Context, members: Sequence[Member]) -> tuple[str, ...]:
    """Return the globs that a path, a glob or the name of a role stands for.

    Raises
    ------
    BadInputError
        If it matches no layer.
    """
    if any(matches(asked, member.family, member.block) for member in members):
        return (asked,)
    families = context.inventory.layers
    found = tuple(family.glob for family in families if family.role == asked)
    if found:
        return found
    names = list(dict.fromkeys(family.name for family in families))
    near = get_close_matches(asked, names, n=1, cutoff=0.6)
    known = f"Did you mean {near[0]}? " if near else ""
    roles = ", ".join(dict.fromkeys(family.role for family in families))
    raise BadInputError(
        f"no layer is called {asked!r}.",
        where="--layer",
        mend=f"{known}Name a path such as {families[0].path((families[0].block_indices or (None,))[0], 0)}, "
        f"a glob such as '*{names[0].rpartition('.')[2]}', or a role: {roles}.",
    )


def find_subject(asked: str, context: Context) -> Subject:
    """Return what a question about `asked` is about, excluded layers included.

    Raises
    ------
    BadInputError
        If it matches no layer.
    """
    if not context.inventory.layers:
        raise BadInputError("the model has no linear layers.", where=context.analysis.model.model_path)
    members = members_of(context)
    patterns = _patterns(asked, context, members)
    chosen = [member for member in members if first_match(patterns, member.family, member.block) is not None]
    parts = partition(context.inventory, context.service.backend, ())
    # What Quark does not see as linear is in no unit: such layers stand alone.
    alone = (Unit(member.family.path(member.block), (member,)) for member in parts.native)
    wanted = set(chosen)
    units = tuple(unit for unit in (*parts.units, *alone) if wanted.intersection(unit.members))
    return Subject(patterns, tuple(chosen), units)


def layer_parts(subject: Subject, context: Context) -> tuple[LayerPart, ...]:
    """Return the layers asked about, by family."""
    counts: dict[LayerFamily, int] = defaultdict(int)
    for member in subject.members:
        counts[member.family] += member.layers
    parts = []
    for family, layers in counts.items():
        role = context.catalog.roles.named(family.role)
        inputs, outputs = shard_shape(family, role, context.service, context.inventory)
        parts.append(
            LayerPart(
                name=family.name,
                role=family.role,
                layers=layers,
                out_features=family.out_features,
                in_features=family.in_features,
                shard_out_features=outputs,
                shard_in_features=inputs,
            )
        )
    return tuple(parts)


def _native_because(unit: Unit, context: Context) -> str | None:
    """Return why a unit is native unless the user names a scheme for it, or None."""
    if not any(member.family.quantizable for member in unit.members):
        return "Quark does not see it as linear layers (rule layer-is-linear)"
    excludes = {
        "--exclude names": context.request.exclude,
        "Quark's template excludes": context.template.exclude_layers,
    }
    for whose, patterns in excludes.items():
        found = {pattern for m in unit.members if (pattern := first_match(patterns, m.family, m.block)) is not None}
        if found:
            return f"{whose} {', '.join(sorted(found))}, until a scheme is named for what it matches"
    return None


def _kv_patterns(unit: Unit, context: Context) -> tuple[str, ...]:
    template = context.template
    if not kv_patterns_reach_the_cache(template, context.inventory):
        return ()
    return tuple(
        pattern
        for pattern in template.kv_layers
        if any(matches(pattern, member.family, member.block) for member in unit.members)
    )


def unit_parts(subject: Subject, context: Context) -> tuple[UnitPart, ...]:
    """Return the units that hold the layers asked about, those of one form together."""
    forms: dict[tuple[object, ...], list[Unit]] = defaultdict(list)
    for unit in subject.units:
        families = tuple(member.family.name for member in unit.members)
        forms[families, _kv_patterns(unit, context), _native_because(unit, context)].append(unit)
    return tuple(
        UnitPart(
            name=units[0].name,
            units=len(units),
            members=tuple(member.family.name for member in units[0].members),
            fused=len(units[0].members) > 1,
            kv_patterns=_kv_patterns(units[0], context),
            native_because=_native_because(units[0], context),
        )
        for units in forms.values()
    )
