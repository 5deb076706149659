"""`solve confirm`: from draft to plan."""

from pathlib import Path
from typing import Annotated

import typer

from solver.errors import BadInputError, DeclinedError


def confirm(
    plan: Annotated[Path, typer.Argument(help="A quant_plan.json.")] = Path("quant_plan.json"),
    choose: Annotated[int | None, typer.Option("--choose", help="Take another of its alternatives.")] = None,
    reject: Annotated[bool, typer.Option("--reject", help="Record that the plan is not wanted.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Confirm without asking.")] = False,
) -> None:
    """Confirm a drafted plan, or reject it. Without a terminal, naming the plan is the confirmation."""
    from solver import api
    from solver.api import CONFIRM, decision_table, read_plan, write_plan
    from solver.catalog import Catalog
    from solver.report.console import answers, messages, on_terminal, read_line
    from solver.report.decisions import next_line, print_plan

    if reject and (choose is not None or yes):
        raise BadInputError("a plan is confirmed or rejected, not both.", where="--reject")
    drafted = read_plan(plan)
    was_draft = drafted.requires_confirmation
    if reject:
        write_plan(plan, api.reject(drafted))
        raise DeclinedError("the plan is recorded as rejected.", where=str(plan))
    if choose is not None:
        drafted = api.choose(drafted, choose)
    confirmed = api.confirm(drafted)
    print_plan(drafted, decision_table(drafted, Catalog()), answers())
    if not yes and on_terminal() and read_line(f"{CONFIRM} [y/N]", "no", shown=False).lower() not in {"y", "yes"}:
        raise DeclinedError(f"the plan stays {'a draft' if was_draft else 'confirmed as it was'}.", where=str(plan))
    write_plan(plan, confirmed)
    messages().print(f"Confirmed {plan}. Next: {next_line(confirmed, plan)}", soft_wrap=True, markup=False)
