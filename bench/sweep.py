"""Sweeps over the whole zoo, beside a loop of `solve` commands over a sample of the same cells; writes docs."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.environment import environment, installed
from bench.registry import Row, Spec, register
from bench.zoo_pass import records
from solver.catalog import Catalog
from solver.sweep import Sweep, SweepResult, sweep
from solver.sweep.cells import Cell, find_groups

DOCUMENT = Path(__file__).parent.parent / "docs" / "sweep_bench.md"
HARDWARE = ("mi300x", "h100")
BUDGETS = ("12GB", "48GB")
SAMPLE = 30
LIMIT = 1 / 20
"""Of the seconds that a loop of commands takes for a cell."""


@dataclass(frozen=True)
class Timed:
    """A sweep with what it took, all told, and what commands took for some of its cells."""

    result: SweepResult
    first_seconds: float
    """Without any analysis; the others find all of them kept."""
    seconds: float
    command_seconds: tuple[float, ...]

    @property
    def first_rate(self) -> float:
        """Cells in a minute, without any analysis."""
        return 60 * self.result.cells / self.first_seconds

    @property
    def sweep_rate(self) -> float:
        """Cells in a minute."""
        return 60 * self.result.cells / self.seconds

    @property
    def command_rate(self) -> float:
        """Cells in a minute, of the sample."""
        return 60 * len(self.command_seconds) / sum(self.command_seconds)


def write_zoo(folder: Path) -> int:
    """Write every configuration of the zoo to a file of its own, and return how many there are."""
    for record in records():
        (folder / f"{record['name'].replace('/', '__')}.json").write_text(json.dumps(record["config"]))
    return len(list(folder.iterdir()))


def command_seconds(cell: Cell, folder: Path) -> float:
    """Return what one command takes for a cell, whether it finds a plan or says why there is none."""
    request = cell.request
    program = str(Path(sys.executable).with_name("solve"))
    command = [program, request.model, "--hardware", str(request.hardware), "--budget", f"{request.budget_bytes}B"]
    start = time.perf_counter()
    done = subprocess.run([*command, "--json"], cwd=folder, capture_output=True, check=False, env=installed())
    seconds = time.perf_counter() - start
    if done.returncode not in {0, 1, 2}:
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    return seconds


@contextmanager
def empty_cache() -> Iterator[None]:
    """Let this process and those that it starts keep analyses in a folder that is empty at first."""
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        try:
            yield
        finally:
            del os.environ["XDG_CACHE_HOME"]
            os.environ |= {} if before is None else {"XDG_CACHE_HOME": before}


def sweep_seconds(spec: Sweep, folder: Path, workers: int) -> tuple[SweepResult, float]:
    """Return a sweep and what it took, with the start of its processes and the writing of its table."""
    start = time.perf_counter()
    result = sweep(spec, output=folder / "rows.parquet", workers=workers)
    return result, time.perf_counter() - start


def measure(models: Sequence[str], hardware: Sequence[str], budgets: Sequence[str], sample: int, workers: int) -> Timed:
    """Time a sweep that begins without any analysis, the same again, and commands for cells spread over it."""
    spec = Sweep.model_validate({"models": models, "hardware": hardware, "budgets": budgets})
    cells = [cell for group in find_groups(spec, Catalog()) for cell in group.cells]
    step = len(cells) / sample
    chosen = [cells[int(step * (number + 0.5))] for number in range(sample)]
    with empty_cache(), tempfile.TemporaryDirectory() as folder:
        first, first_seconds = sweep_seconds(spec, Path(folder), workers)
        result, seconds = sweep_seconds(spec, Path(folder), workers)
        if result.rows != first.rows:
            raise AssertionError("the same sweep has other rows")
        times = tuple(command_seconds(cell, Path(folder)) for cell in chosen)
    return Timed(result, first_seconds, seconds, times)


def document(timed: Timed, models: int, workers: int) -> str:
    """Return what was measured as the documentation shows it."""
    found, where, sample = timed.result, environment(), len(timed.command_seconds)
    kinds = Counter(str(row["error"]) for row in found.rows if row["exit_code"])
    without = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return f"""# A sweep over the zoo, beside a loop of commands

Written by `python -m bench sweep` on {where["cpus"]} processors ({where["machine"]}), with ortools {where["ortools"]}.

The sweep has {models} models on {", ".join(HARDWARE)} under {", ".join(BUDGETS)}: {found.cells} cells, of which
{found.cells - found.errors} have plans ({without}). Its time is that of all of it, from the start of its
processes to the table. The loop runs `solve ... --json` for {sample} cells spread evenly over the same ones, one after
the other. Where no plan fits, `solve` also seeks what clashes and what would mend it, which a sweep does not.

| | analyses | cells | seconds | cells a minute |
|---|---|--:|--:|--:|
| sweep, {workers} processes | built | {found.cells} | {timed.first_seconds:.0f} | {timed.first_rate:.0f} |
| sweep, {workers} processes | kept | {found.cells} | {timed.seconds:.0f} | {timed.sweep_rate:.0f} |
| loop of commands | kept | {sample} | {sum(timed.command_seconds):.0f} | {timed.command_rate:.1f} |

With the analyses kept, the sweep is {timed.sweep_rate / timed.command_rate:.1f} times as fast.
"""


def run() -> list[Row]:
    """Measure the whole zoo, and write the docs' table."""
    workers = 2
    with tempfile.TemporaryDirectory() as folder:
        models = write_zoo(Path(folder))
        timed = measure([f"{folder}/*.json"], HARDWARE, BUDGETS, SAMPLE, workers)
    DOCUMENT.write_text(document(timed, models, workers), encoding="utf-8")
    return [
        Row(
            f"seconds for each of {timed.result.cells} cells, {workers} processes",
            60 / timed.sweep_rate,
            f"a loop of commands, {SAMPLE} of them",
            60 / timed.command_rate,
            LIMIT,
        )
    ]


register(Spec("sweep", "How fast is a sweep beside a loop of commands?", "seconds", run))
