"""The table of the zoo for the docs: what the intake counts against what is published, and what explains the rest."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from solver.intake.inventory import Inventory
from solver.intake.published import explain

DOCUMENT = Path(__file__).parent.parent / "docs" / "zoo.md"
HEAD = """# The zoo: elements and bytes, counted and published

Written by `python -m bench zoo`. Every row is a published configuration (`tests/data/zoo.jsonl` holds them with their
sources). *Built* are the elements of the model that the configuration describes; *published* those that the hub counts
in the checkpoint's files; *cause* what leads from the one to the other, to the element, or what is left unexplained.
*Bytes* are those of the checkpoint as it is stored, *off* their distance from the published total.

| model | type | built | published | difference | cause | bytes | off |
|---|---|--:|--:|--:|---|--:|--:|
"""
NOTES = {
    "estimate": "the published figure is an estimate",
    "trimmed": "the vision part is cut out of this copy of the configuration",
    "vocab_size differs": "this copy has another vocabulary",
    "no exclude list": "this copy has no list of native layers",
    "exclude list": "the list of native layers in this copy names the first block alone",
    "multiple of 2^22": "the published figure is a multiple of 2^22, as no sum of tensor sizes is: an estimate",
    "preset": "this copy comes from a preset and may differ",
}
"""What the remarks of the zoo say of a difference that no tensor explains."""

HEADERS = "incl. header"


_ROUNDED = 1000
"""Published figures that end in three zeros are taken as rounded to that."""


def _reason(record: Mapping[str, Any], difference: int) -> str:
    if record.get("estimate"):
        return NOTES["estimate"]
    if record["published_elements"] % _ROUNDED == 0 and abs(difference) < _ROUNDED:
        return "the published figure is rounded"
    note = record.get("note", "")
    return next((text for sign, text in NOTES.items() if sign in note), "not explained")


def _rest(record: Mapping[str, Any], missing: tuple[str, ...], difference: int) -> str:
    """Return what is known of a difference that no counted tensor explains."""
    parts = [item for item in missing if "part" in item or "encoder" in item]
    if parts:
        return parts[0]
    return _reason(record, difference)


def _cause(record: Mapping[str, Any], inventory: Inventory, missing: tuple[str, ...]) -> str:
    found = explain(record["published_elements"], inventory)
    names = [f"{cause.cause} {cause.elements:+,}" for cause in found.causes]
    if found.unexplained:
        names.append(f"{_rest(record, missing, found.unexplained)} {found.unexplained:+,}")
    return "; ".join(names) or "equal"


def _bytes(record: Mapping[str, Any], inventory: Inventory) -> tuple[str, str]:
    counted = inventory.checkpoint_bytes
    if counted is None:
        return "format not known", ""
    if "published_bytes" not in record:
        return f"{counted:,}", ""
    off = counted - record["published_bytes"]
    kind = " (file headers)" if off and HEADERS in record["published_bytes_kind"] else ""
    return f"{counted:,}", f"{off:+,}{kind}" if off else "0"


def row(record: Mapping[str, Any], inventory: Inventory, model_type: str, missing: tuple[str, ...]) -> str:
    """Return the line of one analysed model."""
    built = inventory.elements_total
    published = record.get("published_elements")
    size, off = _bytes(record, inventory)
    if published is None:
        cells = [record["name"], model_type, f"{built:,}", "", "", "no count is published", size, off]
    else:
        difference = published - built
        shown = f"{difference:+,}" if difference else "0"
        cause = _cause(record, inventory, missing)
        cells = [record["name"], model_type, f"{built:,}", f"{published:,}", shown, cause, size, off]
    return "| " + " | ".join(cells) + " |"


def refused(record: Mapping[str, Any], reason: str) -> str:
    """Return the line of a model that is refused, with the reason."""
    cells = [record["name"], str(record["config"].get("model_type")), "refused", "", "", reason, "", ""]
    return "| " + " | ".join(cells).replace("\n", " ") + " |"
