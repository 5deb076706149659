"""The environment: what is installed and good for what, what the profiles know, and how far Quark has moved on."""

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from pydantic import Field

from solver.catalog import Catalog
from solver.errors import MissingError
from solver.plan.document import Part
from solver.plan.planner import QUARK_VERSION
from solver.quark.additions import additions, write_additions
from solver.quark.ask import QuarkUse
from solver.quark.drift import DriftItem, drift_between
from solver.quark.facts import read_facts
from solver.quark.installed import PACKAGE, quark_torch, quark_version
from solver.version import __version__

_PACKAGES = (
    ("ortools", "solves", False),
    ("torch", "builds models that are not bundled", False),
    ("transformers", "knows their architectures", False),
    (PACKAGE, "checks plans in `solve verify`, and carries them out", True),
    ("datasets", "lets quark-cli's parser be imported, and loads what Quark calibrates on", True),
    ("accelerate", "lets Quark load a checkpoint", True),
)
"""Distributions, what each is good for, and whether planning does without."""


class Package(Part):
    """A distribution that is installed here, or is not."""

    name: str
    version: str | None = Field(description="null where it is not installed")
    optional: bool = Field(description="whether planning does without it")
    gives: str


class KnownDefect(Part):
    """A defect that the installed Quark has."""

    name: str
    sentence: str
    done: str = Field(description="the rule that keeps plans from it, or what is done about it")


class SectionPart(Part):
    """What a section of the profiles holds."""

    section: str
    entries: int
    of: str = Field(description="what its facts were read from, with versions")


class Drift(Part):
    """What `solve doctor --json` prints."""

    schema_version: Literal[1] = 1
    tool_version: str = __version__
    packages: tuple[Package, ...]
    profiles: tuple[SectionPart, ...]
    profiles_sha256: str
    quark_version: str | None = Field(description="of the package that was compared; null if none was")
    quark_of_profiles: str = QUARK_VERSION
    not_compared: str | None = Field(default=None, description="why no Quark was compared")
    defects: tuple[KnownDefect, ...] = Field(default=(), description="known ones that the installed Quark has")
    items: tuple[DriftItem, ...] = Field(default=(), description="what the profiles and Quark do not say alike")
    written: tuple[str, ...] = Field(default=(), description="files of --write")
    left: tuple[DriftItem, ...] = Field(default=(), description="of the items, those that no profile is written of")


def _installed(name: str) -> str | None:
    if name == PACKAGE:
        return quark_version()
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _sections(catalog: Catalog) -> tuple[SectionPart, ...]:
    quark = f"{PACKAGE} {QUARK_VERSION}"
    stacks = ", ".join(f"{item.title} {item.version}" for item in catalog.backends if item.serve is not None)
    found = (
        ("schemes", len(catalog.schemes), quark),
        ("algorithms", len(catalog.algorithms), quark),
        ("templates", len(catalog.templates), quark),
        ("kv_schemes", len(catalog.kv_schemes), quark),
        ("defects", len(catalog.defects), quark),
        ("backends", len(catalog.backends), stacks),
        ("hardware", len(catalog.hardware), "vendors, each number with its source"),
        ("models", len(catalog.models), "published configurations"),
    )
    return tuple(SectionPart(section=section, entries=entries, of=of) for section, entries, of in found)


def _defects(catalog: Catalog) -> tuple[KnownDefect, ...]:
    """Return the known defects that the installed Quark has; none where none is installed."""
    installed = quark_version()
    return tuple(
        KnownDefect(name=item.name, sentence=item.sentence, done=item.done)
        for item in catalog.defects
        if installed is not None and item.affects(installed)
    )


def _why_not(use: QuarkUse, tell: Callable[[str], None]) -> str | None:
    """Return why Quark is not compared, or None where it was imported.

    Raises
    ------
    MissingError
        If it is to be compared in any case, and cannot be imported.
    """
    if use == "no":
        return "not asked (--quark no)"
    try:
        tell(f"importing {PACKAGE} {quark_version() or ''}, which takes a while")
        quark_torch()
    except MissingError:
        if use == "yes":
            raise
        # Said again without where and how to mend it: planning does without.
        return f"{PACKAGE} is not installed" if quark_version() is None else f"{PACKAGE} cannot be imported"
    return None


def examine(catalog: Catalog, *, use: QuarkUse, write: Path | None, tell: Callable[[str], None]) -> Drift:
    """Return what is installed and known, and the drift of Quark; written as profiles where a folder is named.

    Raises
    ------
    MissingError
        If Quark is to be compared, or profiles of it are to be written, and it cannot be imported.
    BadInputError
        If the profiles cannot be written.
    """
    why = _why_not("yes" if write is not None else use, tell)
    found = Drift(
        packages=tuple(
            Package(name=name, version=_installed(name), optional=optional, gives=gives)
            for name, gives, optional in _PACKAGES
        ),
        profiles=_sections(catalog),
        profiles_sha256=catalog.fingerprint,
        defects=_defects(catalog),
        quark_version=None if why is not None else quark_version(),
        not_compared=why,
    )
    if why is not None:
        return found
    facts = read_facts()
    items = drift_between(catalog, facts)
    profiles, left = additions(items, facts)
    written = [] if write is None else write_additions(profiles, write)
    return found.model_copy(update={"items": items, "left": tuple(left), "written": tuple(map(str, written))})
