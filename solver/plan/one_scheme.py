"""`--scheme`: one scheme wherever it may be, native elsewhere."""

from solver.catalog import NATIVE
from solver.errors import BadInputError
from solver.intake.analysis import Risk as RiskNote
from solver.optimize.build import AllowedSchemes
from solver.plan.context import Context
from solver.plan.kept import kept_as_asked
from solver.plan.pins import case_of, nearest_legal
from solver.rules.options import refusals
from solver.rules.refusal import Refusal, standing
from solver.rules.units import Unit

_NEVER = "role-stays-native"
"""The rule whose layers one scheme for all does not mean: heads and routers have to be named."""


def _refusals(context: Context, unit: Unit, name: str) -> list[Refusal]:
    scheme = context.catalog.schemes.get(name)
    families = dict.fromkeys(member.family for member in unit.members)
    return [refusal for family in families for refusal in refusals(case_of(context, family, scheme))]


def one_scheme(context: Context, allowed: AllowedSchemes, name: str) -> tuple[AllowedSchemes, list[RiskNote]]:
    """Return what units may have if one scheme is asked for, and what that risks.

    Where the stack loads it nowhere it is kept all the same, as a risk, wherever no rule stands against that.

    Raises
    ------
    BadInputError
        If rules stand against it everywhere; the first is named, with the nearest scheme.
    UnknownNameError
        If it is not in the catalogue.
    """
    scheme = context.catalog.schemes.get(name)
    if not allowed or any(scheme.name in names for names in allowed.values()):
        return {unit: (scheme.name,) if scheme.name in names else (NATIVE,) for unit, names in allowed.items()}, []
    refused = {unit: _refusals(context, unit, name) for unit in allowed}
    against = {
        unit: [
            *standing(found, context.catalog.rules, forced=context.request.force),
            *(refusal for refusal in found if refusal.rule == _NEVER),
        ]
        for unit, found in refused.items()
    }
    kept = [unit for unit in allowed if not against[unit]]
    if not kept:
        first = next(iter(allowed))
        nearest = nearest_legal(context, list(dict.fromkeys(member.family for member in first.members)), scheme)
        raise BadInputError(
            f"{against[first][0]}.",
            where=f"--scheme {scheme.name}",
            mend=f"The nearest that {first.name} may have is {nearest}.",
        )
    told = {refusal.sentence: refusal for unit in kept for refusal in refused[unit]}
    notes = [kept_as_asked(context, f"--scheme {scheme.name}", refusal) for refusal in told.values()]
    return {unit: (scheme.name,) if not against[unit] else (NATIVE,) for unit in allowed}, notes
