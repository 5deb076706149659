"""The bill of a model in service as one table of 80 columns."""

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from solver.catalog import NATIVE
from solver.plan.footprints import FootprintReport, UniformBill
from solver.units import format_count, format_size_both

_WHOLE = 0.5
_WIDEST_NAME = 20
"""Columns of the first column at most: longer names of formats are folded."""


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f}"


def _many(number: int) -> str:
    return str(number) if number < 10_000 else f"{number // 1000}k"


def _scaled(seconds: float | None, scale: int) -> str:
    return "-" if seconds is None else f"{scale * seconds:.3g}"


def _name(bill: UniformBill, stored: str | None) -> str:
    if bill.scheme == NATIVE:
        return "unquantized" if stored is None else f"as stored ({stored})"
    return f"{bill.scheme} ~" if bill.share < _WHOLE else bill.scheme


def _row(bill: UniformBill, stored: str | None) -> tuple[Text, ...]:
    parts = bill.footprint
    rest = parts.activation_bytes + parts.runtime_bytes
    return (
        Text(_name(bill, stored), style="bold"),
        Text(_gigabytes(parts.total_bytes), style="bold" if bill.fits else "red"),
        *(Text(_gigabytes(size)) for size in (parts.weights_bytes, parts.kv_cache_bytes, rest)),
        Text(_many(bill.longest_context)),
        Text(_many(bill.highest_concurrency)),
        Text(_scaled(bill.decode_seconds, 1000)),
        Text(_scaled(bill.prefill_seconds, 1)),
    )


def footprint_table(report: FootprintReport) -> Table:
    """Return one row for each scheme: GB of the parts, what fits at most, and estimated times."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), collapse_padding=True)
    table.add_column("scheme", max_width=_WIDEST_NAME, overflow="fold")
    headings = ("total\nGB", "weights\nGB", "cache\nGB", "rest\nGB", "longest\ncontext", "most\nseqs")
    for heading in (*headings, "step\nms", "prompt\ns"):
        table.add_column(heading, justify="right", no_wrap=True)
    for bill in report.bills:
        table.add_row(*_row(bill, report.stored))
    return table


def _notes(report: FootprintReport) -> list[str]:
    parts = report.bills[0].footprint
    band = f"{_gigabytes(parts.runtime_low_bytes)} to {_gigabytes(parts.runtime_high_bytes)}"
    notes = [
        f"rest     activations {_gigabytes(parts.activation_bytes)} GB, runtime {_gigabytes(parts.runtime_bytes)} GB "
        f"({band})",
        "step     of all sequences, and a whole prompt: estimates by roofline",
    ]
    if any(bill.share < _WHOLE for bill in report.bills if bill.scheme != NATIVE):
        notes.append("~        on less than half of the weights: the stack runs it nowhere else")
    return notes


def print_footprints(report: FootprintReport, console: Console) -> None:
    """Print the service, the table, and what they rest on."""
    service = report.service
    console.print(
        Text.assemble(
            (report.model, "bold"), f"  {report.model_type}, {format_count(report.elements_total)} parameters"
        )
    )
    layout = f"tp {service.tensor_parallel}" + (
        f", pp {report.pipeline_stages}, fullest stage" if report.pipeline_stages > 1 else ""
    )
    console.print(
        f"{service.hardware_title}, {service.backend} {service.backend_version}, {layout}, context {service.context}, "
        f"concurrency {service.concurrency}, KV cache {report.kv_cache_scheme or 'native'}",
        markup=False,
    )
    console.print(f"Budget {format_size_both(service.budget_bytes)} for one device", markup=False)
    console.print(footprint_table(report))
    for note in _notes(report):
        console.print(Text(note, style="dim"))
    for item in report.missing:
        console.print(Text.assemble(("missing", "yellow"), f"  {item}"))
    for item in report.assumptions:
        console.print(Text(f"assumed  {item}", style="dim"))
