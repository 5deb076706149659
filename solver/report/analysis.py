"""What an analysis found, in a few lines."""

from rich.console import Group, RenderableType
from rich.text import Text

from solver.intake.analysis import ModelAnalysis
from solver.units import format_count, format_size


def summary(analysis: ModelAnalysis) -> RenderableType:
    """Return the gist of an analysis: size, layers, caches, risks, and what is missing."""
    model, inventory = analysis.model, analysis.inventory
    lines = [Text(f"{model.model_path}  {model.model_type}, {analysis.analysis_status}", style="bold")]
    if inventory is not None:
        lines.append(
            Text(
                f"{format_count(inventory.elements_total)} parameters, {format_size(inventory.checkpoint_bytes)} in "
                f"{inventory.dtype}; {inventory.quantizable_count:,} linear layers in {len(inventory.layers)} families"
            )
        )
    lines.extend(Text(f"{risk.severity} risk  {risk.message}; {risk.recovery_hint}") for risk in analysis.risks)
    lines.extend(Text(f"missing  {item}", style="yellow") for item in analysis.missing)
    return Group(*lines)
