"""The cells of a sweep: which requests it makes, in which order, and what its journal is bound to."""

import glob
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from solver.catalog import Catalog
from solver.errors import BadInputError
from solver.plan.request import PlanRequest
from solver.sweep.rows import COLUMNS
from solver.sweep.spec import Sweep, checked
from solver.version import __version__

_WHOLE_FILE_BYTES = 2**24
"""A larger file is no configuration: its size and time stand for its content."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model by the name that rows have, and where to find it from any folder."""

    label: str
    location: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One question of a sweep, by its number from 0."""

    number: int
    label: str
    request: PlanRequest


@dataclass(frozen=True, slots=True)
class Group:
    """Cells that differ in nothing but the budget."""

    model: Model
    cells: tuple[Cell, ...]


def find_models(patterns: Sequence[str], catalog: Catalog) -> tuple[Model, ...]:
    """Return the models that names and globs stand for, each once, those of one glob in the order of their names.

    Raises
    ------
    BadInputError
        If a glob matches neither files, folders nor bundled models.

    """
    found: dict[str, Model] = {}
    for pattern in patterns:
        for label in _matched(pattern, catalog):
            path = Path(label).expanduser()
            location = str(path.resolve()) if path.exists() else label
            found.setdefault(location, Model(label, location))
    return tuple(found.values())


def _matched(pattern: str, catalog: Catalog) -> list[str]:
    if not glob.has_magic(pattern) or Path(pattern).expanduser().exists():
        return [pattern]
    path = Path(pattern).expanduser()
    files = sorted(str(found) for found in Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    bundled = [model.name for model in catalog.models if fnmatchcase(model.name.lower(), pattern.lower())]
    if not files and not bundled:
        raise BadInputError(
            f"{pattern!r} matches no file, no folder and no bundled model.",
            where="--model",
            mend="`solve profiles list models` lists the bundled ones.",
        )
    return files + bundled


def find_groups(sweep: Sweep, catalog: Catalog) -> tuple[Group, ...]:
    """Return all cells: by model, hardware and context as they are listed, those of all budgets together.

    Raises
    ------
    PlannerError
        If a name is not in the catalogue, a glob matches nothing, or no request can be made of the fields.

    """
    hardware = dict.fromkeys(catalog.hardware.get(name).name for name in sweep.hardware)
    goal, backend = sweep.request.get("goal"), sweep.request.get("backend")
    if goal is not None:
        catalog.goals.get(goal)
    if backend is not None:
        catalog.backends.get(backend)
    budgets, groups, number = tuple(dict.fromkeys(sweep.budgets)), [], 0
    for model in find_models(sweep.models, catalog):
        for machine in hardware:
            for context in dict.fromkeys(sweep.contexts):
                fields = {**sweep.request, "model": model.location, "hardware": machine, "context": context}
                base = checked(PlanRequest, fields, where="request")
                asked = [base.model_copy(update={"budget_bytes": budget}) for budget in budgets]
                cells = tuple(Cell(number + index, model.label, item) for index, item in enumerate(asked))
                groups.append(Group(model, cells))
                number += len(cells)
    return tuple(groups)


def _content(model: Model, catalog: Catalog) -> Iterator[Any]:
    """Yield what tells one content of a model's configuration from another."""
    path = Path(model.location)
    file = path / "config.json" if path.is_dir() else path
    if file.is_file():
        size = file.stat().st_size
        whole = size <= _WHOLE_FILE_BYTES
        yield hashlib.sha256(file.read_bytes()).hexdigest() if whole else (size, file.stat().st_mtime_ns)
    elif catalog.extended and (bundled := catalog.models.find(model.label)) is not None:
        yield bundled.config


def fingerprint(groups: Sequence[Group], catalog: Catalog) -> str:
    """Return a hash of all that the rows of a sweep depend on."""
    models = dict.fromkeys(group.model for group in groups)
    content = {
        "version": __version__,
        "profiles": catalog.fingerprint,
        "columns": [column.name for column in COLUMNS],
        "models": [[model.label, *_content(model, catalog)] for model in models],
        "cells": [cell.request.document() for group in groups for cell in group.cells],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
