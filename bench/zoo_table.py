"""The table of the zoo for the docs: what the intake counts against what is published, and what explains the rest."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.registry import Row
from solver.intake.inventory import Inventory
from solver.intake.published import explain

DOCUMENT = Path(__file__).parent.parent / "docs" / "zoo.md"
HEAD = """# The zoo: elements and bytes, counted and published

Written by `python -m bench zoo`. Every row is a published configuration (`tests/data/zoo.jsonl` holds them with their
sources). *Built* are the elements of the model that the configuration describes; *published* those that the hub counts
in the checkpoint's files; *cause* what leads from the one to the other, to the element, or what is left unexplained.
*Bytes* are those of the checkpoint as it is stored, *off* their distance from the published total.

{cost}
| model | type | built | published | difference | cause | bytes | off |
|---|---|--:|--:|--:|---|--:|--:|
"""
COST = """The goal: to analyse all models costs at most {limit:g} times the CPU seconds that transformers' own
construction of them on the meta device costs in the same run, and at most {most:,} MB of memory. The bench fails where
it is missed.

| what | measured | against | | ratio | limit | holds |
|---|--:|---|--:|--:|--:|---|
"""
ESTIMATE_SIGN = "multiple of 2^22"
NOTES = {
    "estimate": "the published figure is an estimate",
    "trimmed": "the vision part is cut out of this copy of the configuration",
    "vocab_size differs": "this copy has another vocabulary",
    "no exclude list": "this copy has no list of native layers",
    "exclude list": "the list of native layers in this copy names the first block alone",
    ESTIMATE_SIGN: "the published figure is a multiple of 2^22, as no sum of tensor sizes is: an estimate",
    "preset": "this copy comes from a preset and may differ",
}
"""What the remarks of the zoo say of a difference that no tensor explains."""

HEADERS = "incl. header"


_ROUNDED = 1000
"""Published figures that end in three zeros are taken as rounded."""


def _unit(published: int) -> int:
    """Return the greatest power of ten that a figure is a multiple of."""
    zeros = len(str(published)) - len(str(published).rstrip("0"))
    return 10**zeros


def _reason(record: Mapping[str, Any], difference: int) -> str:
    unit = _unit(record["published_elements"])
    if unit >= _ROUNDED and 2 * abs(difference) <= unit:
        return "the published figure is rounded"
    if record.get("estimate"):
        return NOTES["estimate"]
    note = record.get("note", "")
    return next((text for sign, text in NOTES.items() if sign in note), "not explained")


def _estimated(record: Mapping[str, Any]) -> bool:
    return bool(record.get("estimate")) or ESTIMATE_SIGN in record.get("note", "")


def _rest(record: Mapping[str, Any], missing: tuple[str, ...], difference: int) -> str:
    """Return what is known of a difference that no counted tensor explains."""
    parts = [item for item in missing if "part" in item or "encoder" in item]
    if parts:
        return parts[0]
    return _reason(record, difference)


def _cause(record: Mapping[str, Any], inventory: Inventory, missing: tuple[str, ...]) -> str:
    found = explain(record["published_elements"], inventory, estimated=_estimated(record))
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


def _cost_line(line: Row) -> str:
    cells = [line.subject, f"{line.value:.1f}", line.baseline, f"{line.baseline_value:.1f}"]
    cells += [f"{line.ratio:.2f}", f"{line.limit:g}", "yes" if line.holds else "no"]
    return "| " + " | ".join(cells) + " |\n"


def document(lines: Sequence[str], costs: Sequence[Row], *, limit: float, memory_mb: int) -> str:
    """Return the page: what the analyses cost beside the goal, and one line for each model."""
    cost = COST.format(limit=limit, most=memory_mb) + "".join(map(_cost_line, costs))
    return HEAD.format(cost=cost) + "\n".join(lines) + "\n"


def refused(record: Mapping[str, Any], reason: str) -> str:
    """Return the line of a model that is refused, with the reason."""
    cells = [record["name"], str(record["config"].get("model_type")), "refused", "", "", reason, "", ""]
    return "| " + " | ".join(cells).replace("\n", " ") + " |"
