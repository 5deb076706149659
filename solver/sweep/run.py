"""A sweep from its specification to its rows, resumed where an earlier run of it was ended."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from solver.api.frames import Row, frame_of
from solver.catalog import Catalog
from solver.sweep.cells import Group, find_groups, fingerprint
from solver.sweep.journal import Journal, journal_path
from solver.sweep.pool import cores
from solver.sweep.rows import COLUMNS, in_order
from solver.sweep.spec import Sweep
from solver.sweep.table import check_ending, write_rows
from solver.sweep.work import Answers, Means
from solver.sweep.workers import by_executor, by_processes

if TYPE_CHECKING:
    from pandas import DataFrame

Engine = Literal["processes", "ray"]


@dataclass(frozen=True, slots=True)
class Progress:
    """Cells that are done, of how many; `resumed` of them by an earlier run."""

    done: int
    cells: int
    resumed: int


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The rows of a whole sweep, by cell and alternative."""

    rows: tuple[Row, ...]
    cells: int
    resumed: int

    @property
    def errors(self) -> int:
        """Cells without a plan."""
        return sum(row["exit_code"] != 0 for row in self.rows)

    def to_frame(self) -> "DataFrame":
        """Return the rows as a pandas table; `solver.sweep.COLUMNS` says what each column holds."""
        return frame_of(self.rows, COLUMNS)

    def save(self, path: Path | str) -> None:
        """Write the rows as Parquet or CSV, by the file's ending: whole or not at all.

        Raises
        ------
        BadInputError
            If the ending is another, or the file cannot be written.

        """
        write_rows(Path(path), self.rows)


class _Record:
    """What is done, in memory and in the journal if there is one; each step is told."""

    def __init__(self, cells: int, journal: Journal | None, tell: Callable[[Progress], None] | None) -> None:
        self.rows: dict[int, list[Row]] = {} if journal is None else dict(journal.done)
        self._journal, self._tell = journal, tell
        self._progress = Progress(len(self.rows), cells, len(self.rows))
        self._said()

    def _said(self) -> None:
        if self._tell is not None:
            self._tell(self._progress)

    def add(self, answers: Answers) -> None:
        """Take the rows of cells that are done."""
        if self._journal is not None:
            self._journal.add(answers)
        self.rows |= dict(answers)
        self._progress = replace(self._progress, done=len(self.rows))
        self._said()

    def result(self) -> SweepResult:
        """Return what is there."""
        rows = in_order(row for rows in self.rows.values() for row in rows)
        return SweepResult(tuple(rows), self._progress.cells, self._progress.resumed)


def sweep(
    spec: Sweep,
    *,
    output: Path | str | None = None,
    engine: Engine = "processes",
    executor: Executor | None = None,
    workers: int | None = None,
    profiles: Path | None = None,
    cache: bool = True,
    tell: Callable[[Progress], None] | None = None,
) -> SweepResult:
    """Plan for every model, hardware, context and budget of a sweep.

    Each cell has the plans that `solve` gives for its request; one without a plan is a row with its error.

    Parameters
    ----------
    output
        A .parquet or .csv file for the rows. Beside it lies a journal while the sweep runs: what an interrupt or a
        kill ends, the same call resumes, and an interrupt leaves the rows that are done in the file.
    engine
        `processes` on this machine, or `ray`, where the extra of that name is installed.
    executor
        Runs the cells instead; it is not shut down. Threads share one catalogue, and gain little by that.
    workers
        How many cells are in work at once; by default one for each core.
    profiles
        A folder laid out like `profiles/` that adds or overrides entries.
    cache
        Whether analyses may be read from and kept in the user's cache folder.
    tell
        Called with the progress, at first and whenever cells are done.

    Raises
    ------
    PlannerError
        If the sweep names something that is not there, a file cannot be written, the journal beside the output is
        that of another sweep, or a worker of Ray or of `executor` ended.

    """
    catalog = Catalog(profiles)
    target = None if output is None else Path(output)
    if target is not None:
        check_ending(target)
    groups = find_groups(spec, catalog)
    cells = sum(len(group.cells) for group in groups)
    with nullcontext() if target is None else Journal(journal_path(target), fingerprint(groups, catalog)) as journal:
        record = _Record(cells, journal, tell)
        try:
            means = Means(profiles, cache)
            if executor is None and engine == "processes":
                by_processes(lambda some: _left(some, record), groups, workers or cores(), means, record.add)
            elif left := _left(groups, record):
                with _engine(executor, workers or cores()) as (chosen, width):
                    by_executor(left, chosen, width, means, record.add)
        except KeyboardInterrupt:
            if target is not None and record.rows:
                write_rows(target, record.result().rows)
            raise
        result = record.result()
        if target is not None and journal is not None:
            write_rows(target, result.rows)
            journal.remove()
        return result


def _left(groups: Sequence[Group], record: _Record) -> list[Group]:
    """Return the groups with the cells that are still to be done."""
    left = (
        replace(group, cells=tuple(cell for cell in group.cells if cell.number not in record.rows)) for group in groups
    )
    return [group for group in left if group.cells]


@contextmanager
def _engine(executor: Executor | None, workers: int) -> Iterator[tuple[Executor, int]]:
    """Give what runs the cells, Ray if nothing else does, and how many calls to hand over at once.

    A worker always finds a next one.
    """
    if executor is not None:
        yield executor, 2 * workers
        return
    from solver.sweep.ray_pool import cluster

    with cluster(workers) as (ray, at_once):
        yield ray, 2 * at_once
