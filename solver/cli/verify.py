"""`solve verify`: whether what a plan states is so."""

from pathlib import Path
from typing import Annotated, Any

import typer

from solver.cli.options import NoCacheOption, ProfilesOption, Quark, QuarkOption, RevisionOption, TrustOption


def verify(
    plan: Annotated[Path, typer.Argument(help="A quant_plan.json.")] = Path("quant_plan.json"),
    model: Annotated[
        str | None, typer.Option(help="Model to analyse, as for `solve`; by default the one that the plan names.")
    ] = None,
    quark: QuarkOption = Quark.auto,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")] = False,
    revision: RevisionOption = None,
    trust_remote_code: TrustOption = False,
    no_cache: NoCacheOption = False,
    profiles: ProfilesOption = None,
) -> None:
    """Compute everything that a plan states anew, and compare. Ends with 1 where something differs."""
    from solver import api
    from solver.api import to_json
    from solver.catalog import Catalog
    from solver.cli.answering import answering
    from solver.report.console import answers, messages
    from solver.report.verify import print_verification

    def asked() -> dict[str, Any]:
        return {"plan": str(plan), "model": model}

    with answering(asked, as_json=as_json), messages().status(f"verifying {plan}") as status:
        found = api.verify(
            plan,
            model=model,
            catalog=Catalog(profiles),
            revision=revision,
            trust_remote_code=trust_remote_code,
            cache=not no_cache,
            quark=quark.value,
            tell=status.update,
        )
    if as_json:
        typer.echo(to_json(found.model_dump(mode="json")), nl=False)
    else:
        print_verification(found, answers())
    if not found.holds:
        raise typer.Exit(1)
