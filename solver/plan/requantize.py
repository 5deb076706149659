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


def _format(context: Context, name: str) -> StoredFormat | None:
    """Return a stored format, or None: an analysis may name one that these profiles do not have."""
    family = context.catalog.stored_formats.find(name)
    return None if family is None else family.called(name)


def _formats_of(context: Context, families: Iterable[LayerFamily]) -> list[tuple[str, StoredFormat | None]]:
    """Return each format that some layer is stored in: what it is called, and the format if it is known."""
    names = dict.fromkeys(family.stored for family in families if family.stored is not None)
    found = ((name, _format(context, name)) for name in names)
    return [(name if stored is None else stored.title, stored) for name, stored in found]


def requantizing_notes(context: Context, used: Iterable[tuple[LayerFamily, str]]) -> list[RiskNote]:
    """Return one note for each stored format of which the plan quantizes layers once more."""
    return [
        RiskNote(
            severity="medium",
            message=f"re-quantizes layers that are stored as {title}: what they lose comes on top of what the "
            "checkpoint has lost already",
            recovery_hint=_hint(stored),
        )
        for title, stored in _formats_of(context, (family for family, _ in used))
    ]


def unkept_notes(context: Context, native: Iterable[LayerFamily]) -> list[RiskNote]:
    """Return one note for each stored format that native layers have and that Quark does not write again."""
    return [
        RiskNote(
            severity="medium",
            message=f"native layers are counted as they are stored, {title}; AMD Quark 0.13 is not known to keep that "
            "format",
            recovery_hint=_ORIGINAL,
        )
        for title, stored in _formats_of(context, native)
        if stored is None or not stored.kept
    ]


def stored_part(context: Context) -> StoredPart | None:
    """Return how the plan's checkpoint is stored and whether Quark's file-to-file mode reads it, or None."""
    quantized = context.inventory.quantized
    if quantized is None:
        return None
    found = [_format(context, layout.name) for layout in quantized.formats]
    reads = [stored is not None and stored.file2file is not None and stored.file2file.reads for stored in found]
    return StoredPart(
        method=quantized.method,
        place=quantized.place,
        formats=tuple(layout.name for layout in quantized.formats),
        file2file=all(reads) and bool(reads) and not quantized.unknown,
        kv_cache=quantized.kv_cache,
    )
