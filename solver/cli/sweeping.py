"""One run of `solve sweep`, with its progress on stderr."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from solver.api import to_json
from solver.report.console import messages
from solver.sweep import Progress, Sweep, SweepResult, sweep
from solver.sweep.summary import SweepSummary


@contextmanager
def _shown() -> Iterator[Callable[[Progress], None]]:
    """Give what draws the progress; where there is no terminal nothing is drawn."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = messages()
    with Bar(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("cells")

        def draw(progress: Progress) -> None:
            bar.update(task, completed=progress.done, total=progress.cells)

        yield draw


@dataclass
class Sweeping:
    """What was asked for, and how far it is."""

    spec: Sweep
    output: Path
    engine: Literal["processes", "ray"]
    workers: int | None
    profiles: Path | None
    cache: bool
    as_json: bool
    progress: Progress = field(default_factory=lambda: Progress(0, 0, 0))

    def run(self) -> None:
        """Sweep, and say where the rows are.

        Raises
        ------
        PlannerError
            If the sweep cannot be begun, or a worker or a file fails it.

        """
        try:
            found = self._swept()
        except KeyboardInterrupt:
            done = self.progress
            kept = f"{done.done} of {done.cells} cells are in {self.output}" if done.done else "nothing was written"
            self._say(f"interrupted: {kept}; the same command resumes")
            raise typer.Exit(1) from None
        if self.as_json:
            summary = SweepSummary(
                output=str(self.output),
                cells=found.cells,
                resumed=found.resumed,
                errors=found.errors,
                rows=len(found.rows),
            )
            typer.echo(to_json(summary.model_dump(mode="json")), nl=False)
            return
        resumed = f", {found.resumed} of them resumed" if found.resumed else ""
        without = f", {found.errors} without a plan" if found.errors else ""
        self._say(f"Wrote {self.output}: {found.cells} cells{resumed}{without}. Next: solve sweep show {self.output}")

    def _swept(self) -> SweepResult:
        with _shown() as draw:

            def tell(progress: Progress) -> None:
                self.progress = progress
                draw(progress)

            return sweep(
                self.spec,
                output=self.output,
                engine=self.engine,
                workers=self.workers,
                profiles=self.profiles,
                cache=self.cache,
                tell=tell,
            )

    def _say(self, text: str) -> None:
        messages().print(text, soft_wrap=True, markup=False)
