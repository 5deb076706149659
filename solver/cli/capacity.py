"""`solve capacity`: a fleet of models on nodes."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from solver.cli.options import ProfilesOption


class Minimize(StrEnum):
    """What is to be least."""

    devices = "devices"
    price = "price"


def capacity(
    fleet: Annotated[Path, typer.Argument(help="A fleet.yaml: models with their traffic, and nodes.")],
    survive: Annotated[
        int, typer.Option(help="Nodes that may be lost, whichever they are, with all traffic carried.", min=0, max=100)
    ] = 0,
    minimize: Annotated[Minimize | None, typer.Option(help="By default the price, where every node has one.")] = None,
    measured: Annotated[
        Path | None, typer.Option(help="A CSV of measured throughput, which replaces estimates.")
    ] = None,
    headroom: Annotated[bool, typer.Option(help="Search how much more traffic fits.")] = True,
    alternatives: Annotated[
        int, typer.Option(help="Plans to compare for each layout of a replica.", min=1, max=50)
    ] = 4,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File for the placement, as JSON.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the solver.", min=0, max=2**31 - 1)] = 0,
    time_limit: Annotated[float, typer.Option(help="Deterministic seconds for each solve.", min=0.001)] = 10.0,
    profiles: ProfilesOption = None,
) -> None:
    """Plan a fleet: which plan each model has, how many replicas, and which devices they lie on."""
    from solver.api import to_json
    from solver.capacity.planner import capacity as plan_fleet
    from solver.capacity.tables import print_capacity
    from solver.catalog import Catalog
    from solver.cli.answering import answering
    from solver.files import write_atomic
    from solver.report.console import answers, messages

    def asked() -> dict[str, Any]:
        return {"fleet": str(fleet), "survive": survive, "minimize": None if minimize is None else minimize.value}

    with answering(asked, as_json=as_json):
        with messages().status(f"reading {fleet}") as status:
            plan = plan_fleet(
                fleet,
                catalog=Catalog(profiles),
                survive=survive,
                minimize=None if minimize is None else minimize.value,
                measured=measured or (),
                alternatives=alternatives,
                headroom=headroom,
                seed=seed,
                time_limit=time_limit,
                tell=status.update,
            )
        text = to_json(plan.model_dump(mode="json"))
        if output is not None:
            write_atomic(output, text)
    if as_json:
        typer.echo(text, nl=False)
        return
    print_capacity(plan, answers())
    if output is not None:
        messages().print(f"Wrote {output}.", soft_wrap=True, markup=False)
