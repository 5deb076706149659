"""Which model fits where, at what quality: a table of 80 columns for each hardware and context."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from solver.api.frames import Row
from solver.errors import InfeasibleError
from solver.units import format_size

_COLUMNS = 5
"""Budgets beside each other; more follow below."""
_NAME = 26
_NO_PLAN = "-"
_ERROR = "!"
_LEGEND = (
    "%        predicted rise in perplexity of the recommended plan, and its scheme",
    "-        no plan fits",
)
_UNQUANTIZED = "*        the unquantized model fits too; the plan quantizes all layers that may be"


def _budget(size: int | None) -> str:
    return "own memory" if size is None else format_size(size, digits=4 if size % 10**7 else 2)


def _risen(delta_nll: float | None) -> str:
    from math import expm1

    return "?" if delta_nll is None else f"+{100 * expm1(delta_nll):.2g} %"


def _fits_unquantized(row: Row) -> bool:
    return row["unquantized_bytes"] is not None and row["unquantized_bytes"] <= (row["planned_budget_bytes"] or 0)


def _cell(rows: Sequence[Row]) -> Text:
    """Return what stands for a cell: the recommended plan, or that there is none."""
    chosen = next((row for row in rows if row["recommended"]), None)
    if chosen is not None:
        star = "*" if _fits_unquantized(chosen) else ""
        return Text.assemble(_risen(chosen["delta_nll"]) + star, "\n", (chosen["global_scheme"] or "", "dim"))
    if any(row["error"] == InfeasibleError.kind for row in rows):
        return Text(_NO_PLAN, style="dim")
    return Text(_ERROR if rows else "", style="red")


def _short(model: str) -> str:
    """Return a name that fits: the end of one that is too long tells more than its beginning."""
    return model if len(model) <= _NAME else f"…{model[1 - _NAME :]}"


def _tables(rows: Sequence[Row]) -> Iterator[tuple[str, Table]]:
    """Yield the tables with their titles, everything in the order of the cells."""
    places = dict.fromkeys((row["hardware"], row["context"]) for row in rows)
    models = dict.fromkeys(row["model"] for row in rows)
    budgets = list(dict.fromkeys(row["budget_bytes"] for row in rows))
    by_cell: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        by_cell.setdefault((row["hardware"], row["context"], row["model"], row["budget_bytes"]), []).append(row)
    for hardware, context in places:
        for first in range(0, len(budgets), _COLUMNS):
            shown = budgets[first : first + _COLUMNS]
            table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1))
            table.add_column("model", no_wrap=True, max_width=_NAME)
            for budget in shown:
                table.add_column(_budget(budget), justify="right", no_wrap=True)
            for model in models:
                cells = (_cell(by_cell.get((hardware, context, model, budget), ())) for budget in shown)
                table.add_row(_short(model), *cells)
            yield f"{hardware}, {'default context' if context is None else f'context {context}'}", table


def print_matrix(rows: Sequence[Row], console: Console) -> None:
    """Print all tables, what their signs mean, and the errors with how many cells have each."""
    for title, table in _tables(rows):
        console.print(Text(title, style="bold"))
        console.print(table)
    for line in _LEGEND:
        console.print(Text(line, style="dim"))
    if any(row["recommended"] and _fits_unquantized(row) for row in rows):
        console.print(Text(_UNQUANTIZED, style="dim"))
    errors = Counter(
        f"{row['model']}: {row['message']}" for row in rows if row["exit_code"] and row["error"] != InfeasibleError.kind
    )
    for message, count in errors.items():
        console.print(Text.assemble(("!", "red"), f"        {count} cell{'s' * (count != 1)}, {message}"))
