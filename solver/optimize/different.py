"""Plans that really differ: the least risky ones that give a good part of the weights another scheme than others do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import floor

from ortools.sat.python import cp_model

from solver.optimize.cpsat import CountModel, Shape, SolverSettings
from solver.optimize.groups import separated
from solver.optimize.points import least_of_rows
from solver.optimize.problem import Budget, Point, Problem, UnitClass
from solver.optimize.reductions import divided
from solver.optimize.side_rules import SideRules
from solver.rules.units import Member

Schemes = Mapping[Member, str]
"""Scheme by layer of a plan."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What must differ: this share of the weights, against each of these plans."""

    share: float
    plans: tuple[Schemes, ...]

    def rows(self, problem: Problem, model: CountModel) -> None:
        """Add a row for each plan to a model whose classes hold one unit each."""
        variables = [variable for taken in model.taken for variable in taken]
        most = floor((1 - self.share) * sum(_weights(part) for part in problem.classes))
        for plan in self.plans:
            rows, divisor = divided(
                [[_weights(part, plan, option.scheme) for option in part.options] for part in problem.classes]
            )
            alike = cp_model.LinearExpr.weighted_sum(variables, [weights for row in rows for weights in row])
            model.model.add(alike <= most // divisor)


def _weights(part: UnitClass, plan: Schemes | None = None, scheme: str | None = None) -> int:
    """Return the weights of a unit, or those to which a plan gives a scheme."""
    return sum(
        member.layers * member.family.weight_elements
        for member in part.units[0].members
        if plan is None or plan.get(member) == scheme
    )


def least_risky_different(
    problems: Sequence[Problem], budget: Budget, settings: SolverSettings, rules: SideRules, difference: Difference
) -> Point | None:
    """Return the least risky plan within the budget that differs as asked, or None if there is none.

    Decided by role at the finest: a second knapsack over single units takes minutes to prove, for a plan that differs
    in a role here and a role there.
    """
    coarse = replace(rules, granularity="role") if rules.granularity == "unit" else rules

    def rows(problem: Problem) -> Shape:
        return partial(difference.rows, problem)

    return least_of_rows(list(map(separated, problems)), budget, ("risk", "bytes"), settings, coarse, rows)
