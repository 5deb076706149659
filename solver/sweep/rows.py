"""The rows of a sweep: one for each alternative of a cell, or one that says why a cell has none."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from solver.api.frames import COLUMNS as OF_ALTERNATIVES
from solver.api.frames import Column, Row, rows_of
from solver.errors import EXIT_BUG, PlannerError

if TYPE_CHECKING:
    from solver.api.plans import PlanSet
    from solver.sweep.cells import Cell

COLUMNS = (
    Column("cell", "int64", "-", "number of the question, from 0"),
    Column("model", "string", "-", "as it was named"),
    Column("hardware", "string", "-", "profile of the accelerator"),
    Column("budget_bytes", "int64", "B", "asked for, of one device; null: what the stack takes of it"),
    Column("context", "int64", "tokens", "asked for, of a sequence; null: 8192 or the model's limit"),
    Column("exit_code", "int64", "-", "as that of `solve`: 0 where there is a plan"),
    Column("error", "string", "-", "kind of the error, as in `solve --json`; `bug` with exit code 101"),
    Column("message", "string", "-", "what went wrong, and how to mend it"),
    Column("model_type", "string", "-", "of the configuration"),
    Column("elements", "int64", "parameters", "of the model"),
    Column("unquantized_bytes", "int64", "B", "on one device, with every layer as the checkpoint holds it"),
    Column("backend", "string", "-", "serving stack"),
    Column("planned_budget_bytes", "int64", "B", "that the plan keeps"),
    Column("planned_context", "int64", "tokens", "that the plan is for"),
    *OF_ALTERNATIVES,
)
"""The columns of a sweep's table."""


def _asked(cell: "Cell") -> Row:
    request = cell.request
    return {
        "cell": cell.number,
        "model": cell.label,
        "hardware": request.hardware,
        "budget_bytes": request.budget_bytes,
        "context": request.context,
    }


def plan_rows(cell: "Cell", plans: "PlanSet") -> list[Row]:
    """Return the rows of a cell that has plans."""
    model, service = plans.model, plans.service
    found = {
        "exit_code": 0,
        "model_type": model.model_type,
        "elements": model.elements_total,
        "unquantized_bytes": model.unquantized_total_bytes,
        "backend": service and service.backend,
        "planned_budget_bytes": service and service.budget_bytes,
        "planned_context": service and service.context,
    }
    return [{**_asked(cell), **found, **row} for row in rows_of(plans)]


def error_row(cell: "Cell", error: Exception) -> Row:
    """Return the row of a cell without a plan; what is no `PlannerError` is a bug."""
    if isinstance(error, PlannerError):
        return {**_asked(cell), "exit_code": error.exit_code, "error": error.kind, "message": str(error)}
    message = " ".join(f"{type(error).__name__}: {error}".split())
    return {**_asked(cell), "exit_code": EXIT_BUG, "error": "bug", "message": message}


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return rows by cell, then by alternative."""
    return sorted(rows, key=lambda row: (row["cell"], row.get("alternative") or 0))
