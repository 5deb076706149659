"""The side rules of a request: how finely it decides, and what patterns, schemes and time its plans may take."""

from collections.abc import Callable, Sequence

from solver.cost.roofline import TICKS_PER_SECOND
from solver.errors import BadInputError
from solver.optimize.problem import Problem
from solver.optimize.side_rules import Line, Overrides, SideRules, line_of
from solver.plan.choices import Choices
from solver.plan.context import Context
from solver.plan.patterns import QuarkPatterns
from solver.plan.targets import count_globs
from solver.rules.patterns import matches


def _most_ticks(context: Context) -> int | None:
    wanted = context.request.min_decode_tps
    if wanted is None:
        return None
    if context.service.hardware.bandwidth is None:
        raise BadInputError(
            f"the bandwidth of {context.service.hardware.title} is not known, and so no speed can be promised.",
            where=f"--min-decode-tps {wanted:g}",
            mend="Leave it out.",
        )
    return int(TICKS_PER_SECOND / wanted)


def _overrides(context: Context, problems: Callable[[], Sequence[Problem]]) -> Overrides | None:
    if context.request.max_overrides is None:
        return None
    entries: dict[Line, int] = {}
    for problem in problems():
        for part in problem.classes:
            families = dict.fromkeys(member.family for member in part.units[0].members)
            entries.setdefault(line_of(part.units[0]), count_globs(list(families)))
    schemes = list(context.catalog.schemes)
    spoils = {
        scheme.name: frozenset(other.name for other in schemes if other.family in scheme.spoils_as_global)
        for scheme in schemes
        if scheme.spoils_as_global
    }
    return Overrides(context.request.max_overrides, entries, len(context.template.kv_layers), spoils)


def side_rules(context: Context, problems: Callable[[], Sequence[Problem]]) -> SideRules:
    """Return the rules of a request; its problems are asked for only where a rule needs their layers.

    Raises
    ------
    BadInputError
        If a speed is asked for and the bandwidth of the device is not known.
    """
    request = context.request
    return SideRules(request.granularity, _overrides(context, problems), request.max_schemes, _most_ticks(context))


def count_written(patterns: QuarkPatterns, choices: Choices) -> int:
    """Return the overrides of a plan: its layer patterns, and the excludes of layers that might have had a scheme."""
    members = [member for unit in choices.partition.units for member in unit.members]
    own = [
        pattern
        for pattern in patterns.exclude_layers
        if pattern not in choices.excludes and any(matches(pattern, m.family, m.block) for m in members)
    ]
    return len(patterns.layer_quant_config) + len(own)
