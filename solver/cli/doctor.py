"""`solve doctor`: what is installed, and how far AMD Quark has moved on from the profiles."""

from pathlib import Path
from typing import Annotated, Any

import typer

from solver.cli.options import ProfilesOption, Quark, QuarkOption


def doctor(
    write: Annotated[
        Path | None,
        typer.Option(help="Folder for profiles of what is new in the installed Quark, which --profiles takes."),
    ] = None,
    quark: QuarkOption = Quark.auto,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")] = False,
    profiles: ProfilesOption = None,
) -> None:
    """Say what is installed and what it gives. Ends with 1 where the installed Quark is not that of the profiles."""
    from solver import api
    from solver.api import to_json
    from solver.catalog import Catalog
    from solver.cli.answering import answering
    from solver.report.console import answers, messages
    from solver.report.doctor import print_drift

    def asked() -> dict[str, Any]:
        return {"write": None if write is None else str(write), "quark": quark.value}

    with answering(asked, as_json=as_json), messages().status("looking around") as status:
        found = api.doctor(catalog=Catalog(profiles), quark=quark.value, write=write, tell=status.update)
    if as_json:
        typer.echo(to_json(found.model_dump(mode="json")), nl=False)
    else:
        print_drift(found, answers())
    if found.items:
        raise typer.Exit(1)
