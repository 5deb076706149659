"""Other ways to the least risk within a limit on the bytes: enumeration, and HiGHS."""

import highspy
import numpy as np

from solver.optimize.problem import Counts, Problem
from tests.optimize.instances import all_counts

FEASIBILITY = 1e-6
"""By what part of its limit HiGHS may break a row: its tolerance, which it does not use up on ours."""


def enumerated(instance: Problem) -> list[tuple[int, int, int]]:
    """Return the costs of all assignments."""
    return [instance.vector(counts) for counts in all_counts(instance)]


def highs(instance: Problem, limit: int) -> tuple[int, Counts] | None:
    """Return what HiGHS takes for the least risk within the limit, and its assignment; None if it has none.

    HiGHS computes in floats: its answer may break a row or be a fraction by 1e-6. Where a byte is less of the limit
    than that, it often takes one too many, and is the best within these. Where sums reach 2^43 it is now and then not
    the best, or none at all where there are some (1.16.0: at 17 of 42,000 budgets of random instances, none of which
    sums to less). Bytes count from the smallest assignment to keep their numbers exact.
    """
    options = [(number, option) for number, part in enumerate(instance.classes) for option in part.options]
    counts = np.array([part.count for part in instance.classes], float)
    least = [min(option.size_bytes for option in part.options) for part in instance.classes]
    room = (
        limit - instance.fixed[0] - sum(size * part.count for size, part in zip(least, instance.classes, strict=True))
    )
    if room < 0:
        return None
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(options), len(counts) + 1
    program.col_cost_ = np.array([option.risk for _, option in options], float)
    program.col_lower_, program.col_upper_ = np.zeros(len(options)), counts[[number for number, _ in options]]
    program.row_lower_ = np.append(counts, -highspy.kHighsInf)
    program.row_upper_ = np.append(counts, float(room))
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.arange(0, 2 * len(options) + 1, 2)
    program.a_matrix_.index_ = np.array([row for number, _ in options for row in (number, len(counts))])
    program.a_matrix_.value_ = np.array(
        [value for number, option in options for value in (1, option.size_bytes - least[number])], float
    )
    program.integrality_ = [highspy.HighsVarType.kInteger] * len(options)
    solver = highspy.Highs()
    for name, value in {"output_flag": False, "mip_rel_gap": 0.0, "mip_abs_gap": 0.0, "threads": 1}.items():
        solver.setOptionValue(name, value)
    solver.passModel(program)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    values = iter(np.rint(solver.getSolution().col_value).astype(int).tolist())
    taken = tuple(tuple(next(values) for _ in part.options) for part in instance.classes)
    return instance.fixed[1] + round(solver.getInfo().objective_function_value), taken
