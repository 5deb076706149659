"""An error that has no answer, as a person reads it: the arithmetic, what clashes, what helps."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from solver.errors import InfeasibleError, NoAnswerError, Repair
from solver.report.alternatives import percent_perplexity
from solver.units import format_size

_ITEMS = 4
"""Items of the smallest plan that are named, the largest; the rest is one sum."""


def _block(title: str, rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold", min_width=10)
    for number, row in enumerate(rows):
        table.add_row(title if number == 0 else "", *(Text(cell) for cell in row))
    return table


def _items(error: InfeasibleError) -> list[tuple[str, str]]:
    sizes = list(error.items.items())
    rows = [(format_size(size), name) for name, size in sizes[:_ITEMS]]
    rest = sum(size for _, size in sizes[_ITEMS:])
    return [*rows, (format_size(rest), "the rest")] if rest else rows


def _repair(repair: Repair) -> tuple[str, str, str]:
    return str(repair), format_size(repair.footprint_bytes), f"+{percent_perplexity(repair.delta_nll)} perplexity est."


def print_refusal(error: NoAnswerError, console: Console) -> None:
    """Print the error, the items of the smallest plan, the demands that clash, and the changes that give a plan."""
    console.print(Text(f"error: {error}"))
    if isinstance(error, InfeasibleError) and error.items:
        console.print(_block("smallest", _items(error)))
    if error.rules:
        console.print(_block("clash", ((rule.id, rule.sentence) for rule in error.rules)))
    if error.repairs:
        console.print(_block("what helps", map(_repair, error.repairs)))
