"""What an analysis found, in a few lines."""

from rich.console import Group, RenderableType
from rich.text import Text

from solver.intake.analysis import ModelAnalysis
from solver.intake.inventory import Inventory
from solver.units import format_count, format_size


def _size(inventory: Inventory) -> str:
    """Return the bytes of the checkpoint, and beside them those without quantization where they differ."""
    plain = f"{format_size(inventory.unquantized_bytes)} in {inventory.dtype}"
    if inventory.quantized is None:
        return plain
    stored = "an unknown size" if inventory.checkpoint_bytes is None else format_size(inventory.checkpoint_bytes)
    return f"{stored} as stored ({inventory.quantized.method}; {plain})"


def summary(analysis: ModelAnalysis) -> RenderableType:
    """Return the gist of an analysis: size, layers, caches, risks, and what is missing."""
    model, inventory = analysis.model, analysis.inventory
    lines = [Text(f"{model.model_path}  {model.model_type}, {analysis.analysis_status}", style="bold")]
    if inventory is not None:
        lines.append(
            Text(
                f"{format_count(inventory.elements_total)} parameters, {_size(inventory)}; "
                f"{inventory.quantizable_count:,} linear layers in {len(inventory.layers)} families"
            )
        )
    lines.extend(Text(f"{risk.severity} risk  {risk.message}; {risk.recovery_hint}") for risk in analysis.risks)
    lines.extend(Text(f"missing  {item}", style="yellow") for item in analysis.missing)
    return Group(*lines)
