"""A trap for versions of OR-Tools whose presolve overflows on rows of bytes (google/or-tools issue 5293).

9.15.6755 calls some of such models infeasible, or a worse answer optimal, with its default parameters: a few in a
hundred where coefficients without a common divisor sum far beyond 2^31. This package sets a parameter that avoids the
presolve step; here it is left at its default.
"""

from functools import reduce
from itertools import combinations
from math import gcd

import numpy as np
import pytest
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from solver.optimize.cpsat import CountModel
from solver.optimize.ruled import shaped_by
from solver.optimize.side_rules import SideRules
from tests.optimize.instances import problem, unit_class

Integers = NDArray[np.int64]


def instance(seed: int, total: int) -> tuple[Integers, Integers, Integers]:
    """Return bytes and risks of some groups' options, and two budgets; the largest options sum to about `total`."""
    rng = np.random.default_rng(seed)
    options = int(rng.integers(3, 7))
    groups = int(rng.integers(4, 1 + {3: 10, 4: 7, 5: 6, 6: 6}[options]))
    sizes = rng.random((groups, options)) ** rng.choice([1, 4])
    # The divisor of all is 1: else presolve would make the numbers small.
    sizes = (sizes * total / sizes.max(axis=1).sum()).astype(np.int64) | 1
    risks = rng.integers(0, rng.choice([10, 100, 10**6]), (groups, options))
    if rng.random() < 0.5:
        risks //= 1 + sizes.argsort(axis=1).argsort(axis=1)
    budgets = np.quantile(summed(sizes), np.sort(rng.uniform(0.02, 0.8, 2)))
    return sizes, risks, budgets.astype(np.int64)


def summed(costs: Integers) -> Integers:
    """Return the costs of all choices of one option for each group."""
    return reduce(lambda sums, row: (sums[:, None] + row).ravel(), costs, np.zeros(1, np.int64))


def bare(sizes: Integers, risks: Integers, budgets: Integers, family: str) -> cp_model.CpModel:
    """Return a model of literals: one budget (`plain`), each under a literal (`tiers`), or in one row (`term`)."""
    model = cp_model.CpModel()
    taken = [[model.new_bool_var("") for _ in row] for row in sizes]
    for variables in taken:
        model.add_exactly_one(variables)
    flat, weights = [variable for variables in taken for variable in variables], sizes.ravel().tolist()
    total, costs = cp_model.LinearExpr.weighted_sum(flat, weights), [0, extra_cost(risks)]
    if family == "plain":
        model.add(total <= int(budgets[0]))
        model.minimize(cp_model.LinearExpr.weighted_sum(flat, risks.ravel().tolist()))
        return model
    chosen = [model.new_bool_var("") for _ in budgets]
    model.add_exactly_one(chosen)
    if family == "tiers":
        for budget, tier in zip(budgets.tolist(), chosen, strict=True):
            model.add(total <= budget).only_enforce_if(tier)
    else:
        model.add(cp_model.LinearExpr.weighted_sum([*flat, *chosen], [*weights, *(-budgets).tolist()]) <= 0)
    model.minimize(cp_model.LinearExpr.weighted_sum([*flat, *chosen], [*risks.ravel().tolist(), *costs]))
    return model


def extra_cost(risks: Integers) -> int:
    """Return what the larger budget costs."""
    return int(risks.max()) // 8


def counted(sizes: Integers, risks: Integers, budget: int, rules: SideRules) -> cp_model.CpModel:
    """Return the model that this package builds for a budget."""
    numbered = enumerate(zip(sizes.tolist(), risks.tolist(), strict=True))
    whole = problem(
        [
            unit_class(f"part{number}", 1, [(*costs, 0) for costs in zip(*rows, strict=True)])
            for number, rows in numbered
        ]
    )
    model = CountModel(whole)
    assert model.limit("bytes", budget)
    shaped_by(whole, rules)(model)
    expression, base, divisor = model.row("risk")
    model.model.minimize(divisor * expression + base)
    return model.model


def enumerated(sizes: Integers, risks: Integers, budgets: Integers, family: str) -> int:
    """Return the least risk."""
    least = [int(summed(risks)[summed(sizes) <= budget].min()) for budget in budgets]
    if family == "schemes":
        pairs = [list(pair) for pair in combinations(range(sizes.shape[1]), 2)]
        return min(
            int(summed(risks[:, pair])[summed(sizes[:, pair]) <= budgets[0]].min(initial=risks.sum())) for pair in pairs
        )
    return least[0] if family in {"plain", "counts"} else min(least[0], least[1] + extra_cost(risks))


def found(sizes: Integers, risks: Integers, budgets: Integers, family: str) -> tuple[str, int]:
    """Return how CP-SAT ends with default parameters, and the least risk that it finds."""
    if family in {"counts", "schemes"}:
        rules = SideRules(max_schemes=2) if family == "schemes" else SideRules()
        model = counted(sizes, risks, int(budgets[0]), rules)
    else:
        model = bare(sizes, risks, budgets, family)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.status_name(solver.solve(model))
    return status, round(solver.objective_value) if status == "OPTIMAL" else -1


WRONG = {
    "plain": {
        2**33: (6, 144, 888),
        2**36: (6, 144, 181, 205, 262, 451),
        2**40: (6, 40, 144, 181, 205, 262),
        2**43: (6, 40, 144, 181, 262, 328),
    },
    "tiers": {
        2**31: (624,),
        2**32: (240, 313, 331, 487, 596, 646),
        2**33: (14, 41, 71, 82, 141, 148),
        2**36: (14, 23, 40, 41, 49, 71),
        2**40: (14, 23, 40, 41, 48, 71),
        2**43: (14, 23, 37, 40, 41, 48),
    },
    "term": {
        2**32: (313, 693),
        2**33: (144, 313, 418, 478, 505, 521),
        2**36: (144, 178, 196, 251, 313, 328),
        2**40: (40, 139, 144, 251, 313, 328),
        2**43: (144, 313, 328, 334, 378, 418),
    },
    "counts": {
        2**36: (6, 52, 58, 170, 202, 308),
        2**40: (6, 40, 52, 58, 170, 202),
        2**43: (6, 52, 58, 170, 202, 262),
    },
    "schemes": {
        2**36: (632, 930),
        2**40: (632, 645, 930),
        2**43: (632, 645, 930),
    },
}
"""Seeds by family and sum: 9.15.6755 errs with each. Of 1,000 seeds it errs with none where a sum is missing here."""


@pytest.mark.parametrize(("family", "total"), [(family, total) for family, sums in WRONG.items() for total in sums])
def test_default_parameters_give_true_optima_where_the_release_errs(family: str, total: int) -> None:
    for seed in WRONG[family][total]:
        sizes, risks, budgets = instance(seed, total)
        assert gcd(*sizes.ravel().tolist()) == 1
        assert abs(int(sizes.max(axis=1).sum()) - total) <= sizes.size
        assert found(sizes, risks, budgets, family) == ("OPTIMAL", enumerated(sizes, risks, budgets, family))
