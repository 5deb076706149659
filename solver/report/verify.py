"""The verdict on a plan: one line a check, and each difference where it is."""

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from solver.plan.verification import Check, Difference, Verification

_MARKS = {"holds": ("holds", "green"), "differs": ("differs", "bold red"), "left_out": ("left out", "yellow")}


def _difference(item: Difference) -> Iterator[RenderableType]:
    yield Text(item.where, style="bold")
    both = Table.grid(padding=(0, 1, 0, 0))
    both.add_column(no_wrap=True, style="dim")
    both.add_column(overflow="fold")
    both.add_row("  expected", Text(item.expected))
    both.add_row("  found", Text(item.found))
    yield both


def _lines(check: Check) -> Iterator[RenderableType]:
    yield Text(check.compared, style="" if check.verdict == "holds" else _MARKS[check.verdict][1])
    for item in check.differences:
        yield from _difference(item)
    if check.more:
        yield Text(f"and {check.more:,} more", style="dim")


def checks_table(checks: tuple[Check, ...]) -> Table:
    """Return the checks with their verdicts, and below each what differs."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        for number, line in enumerate(_lines(check)):
            mark = Text(*_MARKS[check.verdict]) if number == 0 else Text()
            table.add_row(check.name if number == 0 else "", mark, line)
    return table


def verdict_line(found: Verification) -> Text:
    """Return the verdict in one sentence."""
    differing = [check for check in found.checks if check.verdict == "differs"]
    if not differing:
        made = sum(check.verdict == "holds" for check in found.checks)
        return Text(f"The plan holds: {made} checks, no difference.", style="bold green")
    count = sum(check.count for check in differing)
    names = ", ".join(check.name for check in differing)
    return Text(f"The plan does not hold: {count:,} difference{'s' * (count != 1)} in {names}.", style="bold red")


def print_verification(found: Verification, console: Console) -> None:
    """Print what was verified, each check, and the verdict."""
    draft = ", not confirmed" if found.requires_confirmation else ""
    console.print(Text.assemble((found.plan, "bold"), f"  a plan for {found.model}{draft}"))
    if found.analysed != found.model:
        console.print(Text(f"analysed anew: {found.analysed}"))
    console.print()
    console.print(checks_table(found.checks))
    console.print()
    for note in found.notes:
        console.print(Text(f"note  {note}", style="dim"))
    console.print(verdict_line(found))
