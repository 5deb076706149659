"""The decision table and the risks of one plan."""

from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from solver.plan.decisions import Decision
from solver.plan.document import QuantPlan
from solver.plan.serving import next_steps

_STYLES = {"high": "red", "medium": "yellow", "low": "dim"}


def decision_view(rows: list[Decision]) -> Table:
    """Return the nine decisions as a table."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), expand=True)
    table.add_column("decision", no_wrap=True)
    table.add_column("value", overflow="fold", ratio=8)
    table.add_column("reason", ratio=5)
    for row in rows:
        # Text, not markup: `[kqv]` in a pattern is no style.
        table.add_row(row.decision, Text(row.value), Text(row.reason))
    return table


def print_plan(plan: QuantPlan, rows: list[Decision], console: Console) -> None:
    """Print the decisions of a plan and what may go wrong with it."""
    console.print(decision_view(rows))
    for risk in plan.risks:
        label = (f"{risk.severity} risk", _STYLES[risk.severity])
        console.print(Text.assemble(label, f"  {risk.message}; {risk.recovery_hint}"))


def next_line(plan: QuantPlan, path: Path) -> str:
    """Return the commands that carry out the plan in a file: to quantize, then to serve."""
    return ", then ".join(next_steps(plan.model, plan.service, plan.algorithm, str(path)))
