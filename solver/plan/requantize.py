"""What it means to quantize a checkpoint that is quantized already."""

from collections.abc import Iterable

from solver.catalog.stored_format import StoredFormat
from solver.intake.analysis import Risk as RiskNote
from solver.intake.inventory import LayerFamily
from solver.plan.context import Context
from solver.plan.document import StoredPart

_ORIGINAL = "plan from the 16-bit original where there is one"


def _hint(stored: StoredFormat | None) -> str:
    mode = stored.file2file if stored is not None else None
    if mode is None or not mode.reads:
        return _ORIGINAL
    needs = f" (needs {mode.condition})" if mode.condition else ""
    return f"{_ORIGINAL}; else `solve export --to quantize-quark --file2file` reads this format file by file{needs}"


def requantizing_notes(context: Context, used: Iterable[tuple[LayerFamily, str]]) -> list[RiskNote]:
    """Return one note for each stored format of which the plan quantizes layers once more."""
    names = dict.fromkeys(family.stored for family, _ in used if family.stored is not None)
    found = {name: context.catalog.stored_formats.find(name) for name in names}
    return [
        RiskNote(
            severity="medium",
            message=f"re-quantizes layers that are stored as {stored.title if stored is not None else name}: what they "
            "lose comes on top of what the checkpoint has lost already",
            recovery_hint=_hint(stored),
        )
        for name, stored in found.items()
    ]


def unkept_notes(context: Context, native: Iterable[LayerFamily]) -> list[RiskNote]:
    """Return one note for each stored format that native layers have and that Quark does not write again."""
    names = dict.fromkeys(family.stored for family in native if family.stored is not None)
    found = {name: context.catalog.stored_formats.find(name) for name in names}
    return [
        RiskNote(
            severity="medium",
            message=f"native layers are counted as they are stored, {stored.title if stored is not None else name}; "
            "AMD Quark 0.13 is not known to keep that format",
            recovery_hint=_ORIGINAL,
        )
        for name, stored in found.items()
        if stored is None or not stored.kept
    ]


def stored_part(context: Context) -> StoredPart | None:
    """Return how the plan's checkpoint is stored and whether Quark's file-to-file mode reads it, or None."""
    quantized = context.inventory.quantized
    if quantized is None:
        return None
    found = [context.catalog.stored_formats.find(layout.name) for layout in quantized.formats]
    reads = [stored is not None and stored.file2file is not None and stored.file2file.reads for stored in found]
    return StoredPart(
        method=quantized.method,
        place=quantized.place,
        formats=tuple(layout.name for layout in quantized.formats),
        file2file=all(reads) and bool(reads) and not quantized.unknown,
        kv_cache=quantized.kv_cache,
    )
