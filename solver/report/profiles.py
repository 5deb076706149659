"""What the catalogue holds, as lists and as single entries."""

from collections.abc import Callable
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from solver.catalog import Catalog
from solver.catalog.section import Section
from solver.units import format_count, format_size

Row = tuple[str, ...]


def _schemes(catalog: Catalog) -> list[Row]:
    return [
        (
            item.name,
            f"{item.weight.bits:g}",
            f"{item.activation.bits:g}" if item.activation else "-",
            item.summary,
        )
        for item in catalog.schemes
    ]


def _algorithms(catalog: Catalog) -> list[Row]:
    return [(item.name, "yes" if item.offered else "when named", ", ".join(item.fits)) for item in catalog.algorithms]


def _templates(catalog: Catalog) -> list[Row]:
    return [
        (item.model_type, " ".join(item.exclude_layers), ", ".join(item.algorithms) or "-")
        for item in catalog.templates
    ]


def _hardware(catalog: Catalog) -> list[Row]:
    return [
        (
            item.name,
            item.title,
            "-" if item.memory is None else format_size(int(item.memory.value), binary=True, digits=1),
            "-" if item.bandwidth is None else f"{item.bandwidth.value / 1e12:.3g} TB/s",
        )
        for item in catalog.hardware
    ]


def _backends(catalog: Catalog) -> list[Row]:
    return [(item.name, item.title, item.version, item.summary) for item in catalog.backends]


def _stored_formats(catalog: Catalog) -> list[Row]:
    return [
        (
            item.name,
            "yes" if item.file2file is not None and item.file2file.reads else "no",
            ", ".join(item.layers),
            item.title,
        )
        for item in catalog.stored_formats
    ]


def _kv_schemes(catalog: Catalog) -> list[Row]:
    return [(item.name, item.summary) for item in catalog.kv_schemes]


def _translations(catalog: Catalog) -> list[Row]:
    return [(item.model_type, item.reads_as, item.evidence) for item in catalog.translations]


def _rules(catalog: Catalog) -> list[Row]:
    return [(item.name, item.family, item.yields_to, item.sentence) for item in catalog.rules]


def _defects(catalog: Catalog) -> list[Row]:
    return [(item.name, item.quark, item.sentence, item.done) for item in catalog.defects]


def _goals(catalog: Catalog) -> list[Row]:
    return [
        (item.name, item.summary, " or ".join(item.recommend), _advice(catalog, item.name)) for item in catalog.goals
    ]


def _advice(catalog: Catalog, goal: str) -> str:
    return "; ".join(row.advice for row in catalog.guide.rows if goal in row.goals) or "-"


def _models(catalog: Catalog) -> list[Row]:
    return [
        (
            item.name,
            str(item.config.get("model_type")),
            "-" if item.published_elements is None else format_count(item.published_elements),
        )
        for item in catalog.models
    ]


_SECTIONS: dict[str, tuple[Row, Callable[[Catalog], list[Row]]]] = {
    "schemes": (("scheme", "weight bits", "input bits", "what it is"), _schemes),
    "algorithms": (("algorithm", "chosen unasked", "made for"), _algorithms),
    "templates": (("model type", "native by default", "algorithms configured"), _templates),
    "goals": (("goal", "what it is", "recommends", "Quark's guide says"), _goals),
    "hardware": (("name", "accelerator", "memory", "bandwidth"), _hardware),
    "backends": (("name", "stack", "version", "what it loads"), _backends),
    "stored_formats": (("format", "file to file", "layers", "what it is"), _stored_formats),
    "kv_schemes": (("KV cache", "what it is"), _kv_schemes),
    "translations": (("model type", "read as", "how the result compares"), _translations),
    "rules": (("rule", "of", "yields to", "what holds"), _rules),
    "defects": (("defect of Quark", "versions", "what happens", "what keeps plans from it"), _defects),
    "models": (("model", "type", "elements"), _models),
}
SECTION_NAMES = tuple(_SECTIONS)


def section_of(catalog: Catalog, name: str) -> Section[Any]:
    """Return the section of the catalogue called `name`."""
    section: Section[Any] = getattr(catalog, name)
    return section


def listing(catalog: Catalog, name: str) -> Table:
    """Return all entries of a section as a table."""
    columns, rows = _SECTIONS[name]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for column in columns:
        table.add_column(column, no_wrap=column == columns[0], overflow="fold")
    for row in rows(catalog):
        table.add_row(*(Text(cell) for cell in row))
    return table
