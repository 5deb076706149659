"""A trap for versions of OR-Tools whose presolve overflows on rows of bytes (google/or-tools issue 5293).

9.15.6755 calls some of such models infeasible, or a worse answer optimal, with its default parameters: sums of
coefficients around 2^31 and 2^32 without a common divisor, above all in rows under a literal. This package sets a
parameter that avoids the presolve step; here it is left at its default.
"""

from itertools import product

import numpy as np
import pytest
from ortools.sat.python import cp_model


def least_risk(rng: np.random.Generator, total: int, *, literals: bool) -> tuple[int, int]:
    """Return the least risk of a random problem of groups with one option each, by enumeration and by CP-SAT."""
    groups = int(rng.integers(4, 7))
    # The divisor of all is 1: else presolve would make the numbers small.
    sizes = (rng.random((groups, 3)) * total / groups).astype(int) | 1
    risks = rng.integers(0, 1000, (groups, 3)) // (1 + sizes.argsort(axis=1).argsort(axis=1))
    budgets = np.quantile([sizes[range(groups), pick].sum() for pick in product(range(3), repeat=groups)], [0.3, 0.5])
    tiers = [(int(budget), int(cost)) for budget, cost in zip(budgets, (rng.integers(0, 50), 0), strict=True)]
    if not literals:
        tiers = tiers[:1]
    expected = min(
        int(risks[range(groups), pick].sum()) + cost
        for pick in product(range(3), repeat=groups)
        for budget, cost in tiers
        if sizes[range(groups), pick].sum() <= budget
    )
    model = cp_model.CpModel()
    taken = [[model.new_bool_var(f"{group}.{option}") for option in range(3)] for group in range(groups)]
    for variables in taken:
        model.add_exactly_one(variables)
    chosen = [model.new_bool_var(f"tier {number}") for number in range(len(tiers))]
    model.add_exactly_one(chosen)
    flat = [variable for variables in taken for variable in variables]
    for (budget, _), tier in zip(tiers, chosen, strict=True):
        row = model.add(cp_model.LinearExpr.weighted_sum(flat, sizes.ravel().tolist()) <= budget)
        if literals:
            row.only_enforce_if(tier)
    costs = [cost for _, cost in tiers]
    model.minimize(cp_model.LinearExpr.weighted_sum([*flat, *chosen], [*risks.ravel().tolist(), *costs]))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.status_name(solver.solve(model)) == "OPTIMAL"
    return expected, round(solver.objective_value)


@pytest.mark.parametrize("literals", [False, True])
@pytest.mark.parametrize("total", [2**31, 3 * 2**30, 2**32, 3 * 2**31])
def test_default_parameters_give_true_optima(total: int, literals: bool) -> None:
    rng = np.random.default_rng(total)
    for _ in range(60):
        expected, found = least_risk(rng, total, literals=literals)
        assert found == expected
