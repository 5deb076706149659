"""What an analysis says of a checkpoint that is quantized already."""

from solver.intake.analysis import Risk
from solver.intake.stored_layout import Quantized


def stored_risk(quantized: Quantized, dtype: str) -> Risk:
    """Return the risk of planning from a quantized checkpoint, with the method and the place that names it."""
    formats = ", ".join(layout.name for layout in quantized.formats)
    if quantized.unknown:
        sized = f"its format is not known ({'; '.join(quantized.unknown)}): bytes are those of the model in {dtype}"
    elif formats:
        sized = f"bytes are those of its files ({formats})"
    else:
        sized = f"none of the layers found here is stored so, and bytes are those of the model in {dtype}"
    return Risk(
        severity="high",
        message=f"the checkpoint is already quantized ({quantized.method}, by {quantized.place}); {sized}",
        recovery_hint="quantize from the original 16-bit checkpoint where there is one",
    )


def unsized(quantized: Quantized | None) -> tuple[str, ...]:
    """Return what could not be known of the checkpoint's bytes."""
    unknown = quantized.unknown if quantized is not None else ()
    return tuple(f"bytes of the checkpoint as it is stored: {stated} is not known" for stated in unknown)
