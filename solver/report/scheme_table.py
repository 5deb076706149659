"""All schemes for some layers, as one table of 80 columns."""

from collections.abc import Collection, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from solver.catalog.rule import Yields
from solver.plan.explanation import SchemeRow
from solver.report.alternatives import percent_perplexity
from solver.units import format_size

_WHEN: dict[Yields, str] = {"nothing": "never", "force": "forced", "request": "named"}


def scheme_table(rows: Sequence[SchemeRow], given: Collection[str]) -> Table:
    """Return one row for each scheme, those in `given` marked."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), collapse_padding=True)
    table.add_column("scheme", no_wrap=True)
    table.add_column("on a\ndevice", justify="right", no_wrap=True)
    table.add_column("perplexity\nalone", justify="right", no_wrap=True)
    table.add_column("allowed, or when,\nand the rule against it", overflow="fold")
    for row in rows:
        chosen = row.scheme in given
        verdict = "allowed" if row.refusal is None else f"{_WHEN[row.refusal.yields_to]}: {row.refusal.rule}"
        table.add_row(
            Text(f"{'>' if chosen else ' '}{row.scheme}", style="bold" if chosen else ""),
            "-" if row.weights_bytes is None else format_size(row.weights_bytes),
            "-" if row.delta_nll is None else f"+{percent_perplexity(row.delta_nll)}",
            Text(verdict, style="" if row.refusal is None else "dim"),
        )
    return table
