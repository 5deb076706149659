"""Other exact solvers on the optimizer's problems: PuLP with CBC, and HiGHS through its own interface.

Both get the same model, whole: a count for each option of a class, one row for each class and one for the bytes, with
every class's smallest bytes and risk subtracted, and the bytes divided by their common divisor. One thread, no gap.
"""

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import gcd
from pathlib import Path

import highspy
import numpy as np
import pulp

from solver.optimize.problem import Counts, Problem

_INTEGRAL = 1e-4
"""Distance from a whole number at which a solver's value is still taken for it."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a solver did: seconds until it had the model, seconds in it, whether it claims an optimum, its answer."""

    hand_off_seconds: float
    solve_seconds: float
    claims_optimum: bool
    counts: Counts | None

    @property
    def seconds(self) -> float:
        """Both phases together."""
        return self.hand_off_seconds + self.solve_seconds


@dataclass(frozen=True)
class Rows:
    """A problem as flat rows: what each option takes above the smallest of its class."""

    problem: Problem
    limit: int

    def _above(self, axis: int) -> list[int]:
        values = [[option.vector[axis] for option in part.options] for part in self.problem.classes]
        return [value - min(row) for row in values for value in row]

    @cached_property
    def risks(self) -> list[int]:
        """Risk steps of each option."""
        return self._above(1)

    @cached_property
    def _divisor(self) -> int:
        return gcd(*self._above(0)) or 1

    @cached_property
    def sizes(self) -> list[int]:
        """Bytes of each option, in units of their common divisor."""
        return [value // self._divisor for value in self._above(0)]

    @cached_property
    def room(self) -> int:
        """What the sizes may sum to."""
        least = (part.count * min(option.size_bytes for option in part.options) for part in self.problem.classes)
        return (self.limit - self.problem.fixed[0] - sum(least)) // self._divisor

    @cached_property
    def starts(self) -> list[int]:
        """Where the options of each class start, and where the last one's end."""
        return [0, *accumulate(len(part.options) for part in self.problem.classes)]

    def counts(self, values: Sequence[float | None]) -> Counts | None:
        """Return a solver's values as counts, or None if they are not whole or give a unit none or several."""
        whole = [round(value or 0.0) for value in values]
        if any(abs((value or 0.0) - near) > _INTEGRAL for value, near in zip(values, whole, strict=True)):
            return None
        starts = zip(self.starts, self.starts[1:], strict=False)
        counts = tuple(tuple(whole[first:last]) for first, last in starts)
        complete = all(sum(taken) == part.count for part, taken in zip(self.problem.classes, counts, strict=True))
        return counts if complete else None


def solve_cbc(problem: Problem, limit: int, seconds: float) -> Run:
    """Solve with PuLP and the CBC that it bundles; `seconds` bounds the time within CBC."""
    start = time.perf_counter()
    rows = Rows(problem, limit)
    model = pulp.LpProblem("plan")
    counts = [part.count for part in problem.classes for _ in part.options]
    taken = [pulp.LpVariable(f"x{place}", 0, count, "Integer") for place, count in enumerate(counts)]
    model += pulp.LpAffineExpression(zip(taken, rows.risks, strict=True))
    model += pulp.LpAffineExpression(zip(taken, rows.sizes, strict=True)) <= rows.room
    for part, first, last in zip(problem.classes, rows.starts, rows.starts[1:], strict=False):
        model += pulp.LpAffineExpression((variable, 1) for variable in taken[first:last]) == part.count
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        solver = pulp.PULP_CBC_CMD(
            msg=False, timeLimit=seconds, gapRel=0.0, gapAbs=0.0, threads=1, logPath=str(log), timeMode="elapsed"
        )
        model.solve(solver)
        total = time.perf_counter() - start
        inside = _cbc_seconds(log.read_text(encoding="utf-8"))
    optimum = model.sol_status == pulp.LpSolutionOptimal
    # CBC rounds its own time to hundredths.
    inside = min(inside, total)
    return Run(total - inside, inside, optimum, rows.counts([variable.value() for variable in taken]))


def cbc_version() -> str:
    """Return the version of the CBC that PuLP bundles."""
    program = [pulp.PULP_CBC_CMD(msg=False).path, "-quit"]
    greeting = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    found = re.search(r"Version: (\S+)", greeting)
    return found[1] if found else "unknown"


def _cbc_seconds(log: str) -> float:
    """Return the wall time that CBC reports of itself; what PuLP does before and after is the hand-off."""
    found = re.findall(r"Total time .*\(Wallclock seconds\): +([0-9.]+)", log)
    return float(found[-1]) if found else 0.0


def _highs_model(rows: Rows) -> highspy.HighsLp:
    """Return the rows as HiGHS takes them: by columns, each in the row of the bytes and in that of its class."""
    model, parts = highspy.HighsLp(), rows.problem.classes
    options = [len(part.options) for part in parts]
    columns = sum(options)
    model.num_col_, model.num_row_ = columns, 1 + len(parts)
    model.col_cost_ = np.array(rows.risks, float)
    model.col_lower_ = np.zeros(columns)
    units = np.array([part.count for part in parts], float)
    model.col_upper_ = np.repeat(units, options)
    model.row_lower_ = np.concatenate(([-highspy.kHighsInf], units))
    model.row_upper_ = np.concatenate(([float(rows.room)], units))
    model.integrality_ = [highspy.HighsVarType.kInteger] * columns
    matrix = model.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.start_ = np.arange(0, 2 * columns + 1, 2)
    places = np.repeat(np.arange(1, 1 + len(parts)), options)
    matrix.index_ = np.column_stack((np.zeros(columns, np.int64), places)).ravel()
    matrix.value_ = np.column_stack((np.array(rows.sizes, float), np.ones(columns))).ravel()
    return model


def solve_highs(problem: Problem, limit: int, seconds: float) -> Run:
    """Solve with HiGHS; `seconds` bounds the time within it."""
    start = time.perf_counter()
    rows = Rows(problem, limit)
    solver = highspy.Highs()
    options = {"output_flag": False, "threads": 1, "time_limit": seconds, "mip_rel_gap": 0.0, "mip_abs_gap": 0.0}
    for name, value in options.items():
        solver.setOptionValue(name, value)
    solver.passModel(_highs_model(rows))
    handed = time.perf_counter()
    solver.run()
    solved = time.perf_counter()
    optimum = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    solution = solver.getSolution()
    found = rows.counts(list(solution.col_value)) if solution.value_valid else None
    return Run(handed - start + time.perf_counter() - solved, solved - handed, optimum, found)


Solve = Callable[[Problem, int, float], Run]
BASELINES: dict[str, Solve] = {"CBC": solve_cbc, "HiGHS": solve_highs}
