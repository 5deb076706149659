"""`solve sweep`: plans for a whole zoo, and `solve sweep show`: which model fits where."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from solver.cli.options import BackendOption, NoCacheOption, ProfilesOption
from solver.cli.solve import Kv


class Engine(StrEnum):
    """What runs the cells."""

    processes = "processes"
    ray = "ray"


class _RunsByDefault(TyperGroup):
    """`solve sweep zoo.yaml` is `solve sweep run zoo.yaml`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the command where none is named."""
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["run", *args])


sweep = typer.Typer(cls=_RunsByDefault, help="Plan for many models, budgets, hardware and contexts at once.")

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")]


def _listed(texts: list[str] | None) -> list[str]:
    """Return the values of a flag that may be repeated, and may hold several separated by commas."""
    return [item.strip() for text in texts or () for item in text.split(",") if item.strip()]


@sweep.command()
def run(
    zoo: Annotated[Path | None, typer.Argument(help="YAML file: models, hardware, budgets, contexts, request.")] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="As for `solve`, or a glob over files, folders or bundled models.")
    ] = None,
    budget: Annotated[
        list[str] | None, typer.Option(help="Bytes of one device, 24GB,48GB; by default what the device has.")
    ] = None,
    hardware: Annotated[list[str] | None, typer.Option(help="Accelerators, mi300x,h100.")] = None,
    context: Annotated[list[str] | None, typer.Option(help="Tokens of a sequence, 8k,32k.")] = None,
    backend: BackendOption = None,
    goal: Annotated[str | None, typer.Option(help="What matters most, as for `solve`.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Sequences in service at once.", min=1, max=10**6)] = None,
    tp: Annotated[int | None, typer.Option(help="Devices that share each layer.", min=1, max=4096)] = None,
    kv: Annotated[Kv | None, typer.Option(help="KV cache; by default the planner chooses.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write, .parquet or .csv.")] = Path(
        "sweep.parquet"
    ),
    workers: Annotated[int | None, typer.Option(help="Cells in work at once; by default one a core.", min=1)] = None,
    engine: Annotated[Engine, typer.Option(help="Processes here, or a Ray cluster.")] = Engine.processes,
    as_json: AsJson = False,
    no_cache: NoCacheOption = False,
    profiles: ProfilesOption = None,
) -> None:
    """Plan for every model, hardware, context and budget; `solve sweep show FILE` prints what fits where.

    Flags may be repeated or hold lists with commas, and win over the file. What a kill or an interrupt ends, the same
    command resumes.
    """
    from solver.cli.answering import answering
    from solver.cli.sweeping import Sweeping
    from solver.sweep import read_sweep

    asked = {
        "models": _listed(model),
        "hardware": _listed(hardware),
        "budgets": _listed(budget),
        "contexts": _listed(context),
        "request": {
            name: value
            for name, value in {
                "backend": backend,
                "goal": goal,
                "concurrency": concurrency,
                "tensor_parallel": tp,
                "kv_cache_scheme": None if kv is None else kv.value,
            }.items()
            if value is not None
        },
    }
    with answering(lambda: {"zoo": None if zoo is None else str(zoo), **asked}, as_json=as_json):
        spec = read_sweep(zoo, **asked)
        Sweeping(spec, output, engine.value, workers, profiles, not no_cache, as_json).run()


@sweep.command()
def show(
    table: Annotated[Path, typer.Argument(help="What `solve sweep` wrote.")] = Path("sweep.parquet"),
    as_json: AsJson = False,
) -> None:
    """Print which model fits where, and at what quality."""
    from solver.api import to_json
    from solver.cli.answering import answering
    from solver.report.console import answers
    from solver.sweep import read_rows
    from solver.sweep.matrix import print_matrix
    from solver.sweep.summary import SweepRows

    with answering(lambda: {"table": str(table)}, as_json=as_json):
        rows = read_rows(table)
    if as_json:
        typer.echo(to_json(SweepRows(rows=tuple(rows)).model_dump(mode="json")), nl=False)
    else:
        print_matrix(rows, answers())
