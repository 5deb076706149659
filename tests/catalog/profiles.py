"""Builders of small `--profiles` folders."""

from pathlib import Path

from solver.catalog import Catalog
from solver.catalog.paths import PROFILES_DIR

Changes = dict[str, str]


def text_of(relative: str, changes: Changes | None = None, *, more: str = "") -> str:
    """Return a bundled profile as text, with parts replaced (each must be there) and lines appended."""
    text = (PROFILES_DIR / relative).read_text(encoding="utf-8")
    for old, new in (changes or {}).items():
        assert old in text, old
        text = text.replace(old, new)
    return text + more


def catalog_with(folder: Path, files: dict[str, str | bytes]) -> Catalog:
    """Return the catalogue with a folder of these files on top."""
    for relative, content in files.items():
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Catalog(folder)
