"""The decision table and the risks of one plan."""

from rich import box
from rich.console import Console
from rich.table import Table

from solver.plan.decisions import Decision
from solver.plan.document import QuantPlan

_STYLES = {"high": "red", "medium": "yellow", "low": "dim"}


def decision_view(rows: list[Decision]) -> Table:
    """Return the nine decisions as a table."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), expand=False)
    table.add_column("decision", no_wrap=True)
    table.add_column("value", overflow="fold", ratio=3)
    table.add_column("reason", ratio=2)
    for row in rows:
        table.add_row(row.decision, row.value, row.reason)
    return table


def print_plan(plan: QuantPlan, rows: list[Decision], console: Console) -> None:
    """Print the decisions of a plan and what may go wrong with it."""
    console.print(decision_view(rows))
    for risk in plan.risks:
        style = _STYLES[risk.severity]
        console.print(f"[{style}]{risk.severity} risk[/{style}]  {risk.message}; {risk.recovery_hint}", markup=True)
