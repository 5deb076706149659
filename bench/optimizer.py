"""The optimizer against CBC and HiGHS on real shapes, in the same run; writes `docs/optimizer.md`.

`SOLVER_BENCH_SECONDS` bounds what a baseline may take on one budget.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from bench.baselines import cbc_version
from bench.environment import RESULTS, environment
from bench.instances import LARGEST, SHAPES, analysis, build, drawn, limits
from bench.optimizer_case import LEAD, MANY_UNITS, Case, measure
from bench.optimizer_table import DOCUMENT, cells, document
from bench.registry import Row, Spec, register
from solver.optimize.cpsat import SolverSettings
from solver.optimize.front import exact_front
from solver.optimize.problem import Budget

NAME = "optimizer"
PERCENTS = (10, 35, 70)
SECONDS = "SOLVER_BENCH_SECONDS"
_DEFAULT_SECONDS = 10.0

SMOKE_UNITS = 24
_SMOKE_PERCENTS = (35,)

MEMORY_MB = 1000
BUDGETS = 1000
_MANY_BUDGETS_SHAPE = "70B"


def _speed_rows(case: Case) -> list[Row]:
    """Return the goals of one case: no slower than any other, and far ahead of CBC where units are many."""
    ranked = sorted(
        (other.verdict != "proven", other.run.seconds, f"{name}, {other.verdict}")
        for name, other in case.baselines.items()
    )
    _, seconds, name = ranked[0]
    rows = [Row(f"{case.label}: seconds", case.ours.seconds, name, seconds, 1.0)]
    if case.unequal_units >= MANY_UNITS:
        cbc = case.baselines["CBC"]
        rows.append(Row(f"{case.label}: seconds", case.ours.seconds, f"CBC, {cbc.verdict}", cbc.run.seconds, 1 / LEAD))
    return rows


def proof_rows(cases: Sequence[Case]) -> list[Row]:
    """Return what must hold of every case: the planner's answer is proven, and no other solver has a better one."""
    proven = sum(case.ours.claims_optimum for case in cases)
    beaten = sum(any(other.verdict == "better" for other in case.baselines.values()) for case in cases)
    return [
        Row("cases proven", proven, "cases", len(cases), exact=True),
        Row("cases that no other beats", len(cases) - beaten, "cases", len(cases), exact=True),
    ]


def _largest_alone() -> dict[str, float]:
    """Return seconds and peak memory of the largest problem in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model_analysis.json"
        path.write_text(json.dumps(analysis(LARGEST.model).document()), encoding="utf-8")
        command = [sys.executable, "-m", "bench.optimizer_pass", str(path), "35"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def _many_budgets() -> float:
    """Return the seconds of one front and an assignment for each of many budgets, the front's checks among them."""
    shape = next(shape for shape in SHAPES if shape.name == _MANY_BUDGETS_SHAPE)
    problem = drawn(build(shape, analysis(shape.model)))
    ends = limits(problem, (0, 100))
    budgets = np.linspace(ends[0], ends[100], BUDGETS).astype(np.int64)
    start = time.perf_counter()
    front = exact_front([problem], Budget(ends[100], "weights"), SolverSettings())
    places = np.searchsorted(front.totals - problem.service_bytes, budgets, side="right") - 1
    points = front.points(places.tolist())
    seconds = time.perf_counter() - start
    assert all(point.weights_bytes <= budget for point, budget in zip(points, budgets.tolist(), strict=True))
    return seconds


def run() -> list[Row]:
    """Measure every shape with both sensitivities at three budgets, and write the docs' table."""
    seconds = float(os.environ.get(SECONDS, _DEFAULT_SECONDS))
    cases = []
    for shape in SHAPES:
        for case in measure(shape, PERCENTS, seconds):
            print(" | ".join(cells(case)), file=sys.stderr, flush=True)
            cases.append(case)
    alone, many = _largest_alone(), _many_budgets()
    where = environment() | {"CBC": cbc_version()}
    rows = [row for case in cases for row in _speed_rows(case)] + proof_rows(cases)
    rows.append(Row("MB at the peak of the largest", alone["peak_mb"], "limit", MEMORY_MB, 1.0))
    same = [case for case in cases if (case.shape, case.sensitivities) == (_MANY_BUDGETS_SHAPE, "drawn")]
    single = sum(case.baselines["HiGHS"].run.seconds for case in same) / len(same)
    rows.append(Row(f"{BUDGETS} budgets from one front: seconds", many, f"HiGHS, {BUDGETS} x", BUDGETS * single, 1.0))
    RESULTS.mkdir(exist_ok=True)
    measured = {"environment": where, "seconds": seconds, "alone": alone, "cases": [asdict(case) for case in cases]}
    for case in measured["cases"]:
        for run_ in (case["ours"], *(other["run"] for other in case["baselines"].values())):
            del run_["counts"]
    (RESULTS / f"{NAME}-cases.json").write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")
    notes = {
        "largest": f"{alone['seconds']:.1f} s and {alone['peak_mb']:.0f} MB",
        "budgets": f"{many:.1f} s",
    }
    DOCUMENT.write_text(document(cases, where, seconds, notes), encoding="utf-8")
    return rows


def smoke_cases() -> list[Case]:
    """Return every shape cut down to a few units, solved at one budget."""
    return [
        case for shape in SHAPES for case in measure(shape, _SMOKE_PERCENTS, _DEFAULT_SECONDS, most_units=SMOKE_UNITS)
    ]


register(Spec(NAME, "How soon is a plan proven, beside other solvers?", "see subject", run))
register(
    Spec(
        f"{NAME}-smoke",
        "Do all solvers agree on small parts of each shape?",
        "cases",
        lambda: proof_rows(smoke_cases()),
    )
)
