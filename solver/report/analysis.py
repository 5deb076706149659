"""What an analysis found, in a few lines."""

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from solver.intake.analysis import ModelAnalysis
from solver.intake.inventory import Difference, Inventory
from solver.units import format_count, format_size


def _size(inventory: Inventory) -> str:
    """Return the bytes of the checkpoint, and beside them those without quantization where they differ."""
    plain = f"{format_size(inventory.unquantized_bytes)} in {inventory.dtype}"
    if inventory.quantized is None:
        return plain
    stored = "an unknown size" if inventory.checkpoint_bytes is None else format_size(inventory.checkpoint_bytes)
    return f"{stored} as stored ({inventory.quantized.method}; {plain})"


def summary(analysis: ModelAnalysis) -> RenderableType:
    """Return the gist of an analysis: size, layers, what is stored, risks, what was assumed and what is missing."""
    model, inventory = analysis.model, analysis.inventory
    parts: list[RenderableType] = [Text(f"{model.model_path}  {model.model_type}, {analysis.analysis_status}", "bold")]
    if inventory is not None:
        parts.append(
            Text(
                f"{format_count(inventory.elements_total)} parameters, {_size(inventory)}; "
                f"{inventory.quantizable_count:,} linear layers in {len(inventory.layers)} families"
            )
        )
        parts.extend([*_stored(inventory), *_beside(analysis)])
    parts.extend(Text(f"{risk.severity} risk  {risk.message}; {risk.recovery_hint}") for risk in analysis.risks)
    parts.extend(Text(f"assumed  {item}", "dim") for item in analysis.assumptions)
    parts.extend(Text(f"missing  {item}", "yellow") for item in analysis.missing)
    return Group(*parts)


def _stored(inventory: Inventory) -> list[RenderableType]:
    """Return the stored total, and why it is another than that of the parameters."""
    parts: list[RenderableType] = []
    if inventory.stored_elements is not None and inventory.checkpoint_bytes is not None:
        parts.append(
            Text(
                f"stored {format_size(inventory.checkpoint_bytes)} ({inventory.checkpoint_bytes:,} B), "
                f"{format_count(inventory.stored_elements)} elements"
                f"{'' if inventory.by_headers else ', by the configuration'}"
            )
        )
    if inventory.differences:
        parts.append(differences_table(inventory.differences))
    return parts


def _more(cause: Difference) -> str:
    size = "" if cause.bytes is None else f" ({format_size(cause.bytes)})"
    return f"{cause.cause} {_signed(cause.elements)}{size}"


def _beside(analysis: ModelAnalysis) -> list[RenderableType]:
    """Return what is published of the checkpoint, or else what it may hold besides."""
    published = analysis.published
    if published is None:
        return [Text(f"a checkpoint may also hold  {_more(item)} elements") for item in analysis.possible_differences]
    parts = [_more(item) for item in published.causes]
    if published.unexplained:
        parts.append(f"not explained {_signed(published.unexplained)}")
    as_stored = analysis.inventory is not None and published.elements == analysis.inventory.stored_elements
    held = "the same" if as_stored else "; ".join(parts) or "those of the built model"
    return [Text(f"published {published.elements:,} elements: {held}")]


def differences_table(differences: tuple[Difference, ...]) -> Table:
    """Return the table of what is stored but not built, or built but not stored."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    table.add_column("stored minus built", overflow="fold")
    for heading in ("elements", "bytes", "tensors"):
        table.add_column(heading, justify="right", no_wrap=True)
    for item in differences:
        details = [text for text in (item.meaning, *item.names[:1]) if text]
        cause = Text.assemble(item.cause, *((f"\n{text}", "dim") for text in details))
        read = item.tensors > 0
        size, tensors = (_signed(item.bytes), f"{item.tensors:,}") if read else ("", "")
        table.add_row(cause, _signed(item.elements), size, tensors)
    return table


def _signed(count: int | None) -> str:
    return "?" if count is None else f"{count:+,}" if count else "0"
