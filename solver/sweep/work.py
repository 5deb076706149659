"""What a worker does: analyse a model, answer the cells of a group. Nothing raises; what goes wrong becomes a row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from solver.api.frames import Row
from solver.api.models import analyze
from solver.api.planning import solve_budgets
from solver.catalog import Catalog
from solver.errors import MissingError, PlannerError
from solver.intake.analysis import ModelAnalysis
from solver.sweep.cells import Group
from solver.sweep.rows import error_row, plan_rows

Answers = list[tuple[int, list[Row]]]
"""Rows by the number of their cell."""


@dataclass(frozen=True, slots=True)
class Means:
    """What every worker has: where more profiles lie, and whether analyses are kept in the user's cache folder."""

    profiles: Path | None = None
    cache: bool = True


@cache
def _catalog(profiles: Path | None) -> Catalog:
    """Return the catalogue, which a process reads once."""
    return Catalog(profiles)


def analysed(groups: Sequence[Group], means: Means) -> ModelAnalysis | Answers:
    """Return the analysis of the model of some groups, or rows that say of all their cells why there is none."""
    first = groups[0]
    try:
        return analyze(
            first.model.location,
            catalog=_catalog(means.profiles),
            trust_remote_code=first.cells[0].request.trust_remote_code,
            cache=means.cache,
        )
    except Exception as error:
        return [(cell.number, [error_row(cell, error)]) for group in groups for cell in group.cells]


def answered(group: Group, analysis: ModelAnalysis, means: Means) -> Answers:
    """Return the rows of a group's cells."""
    first, catalog = group.cells[0].request, _catalog(means.profiles)
    try:
        found = solve_budgets(first, [cell.request.budget_bytes for cell in group.cells], analysis, catalog=catalog)
    except Exception as error:
        if len(group.cells) == 1:
            return [(group.cells[0].number, [error_row(group.cells[0], error)])]
        # A defect: each cell by itself, so that it is told where it belongs.
        alone = (replace(group, cells=(cell,)) for cell in group.cells)
        return [answer for one in alone for answer in answered(one, analysis, means)]
    return [
        (cell.number, [error_row(cell, plans)] if isinstance(plans, PlannerError) else plan_rows(cell, plans))
        for cell, plans in zip(group.cells, found, strict=True)
    ]


def died(times: str = "") -> MissingError:
    """Return what to say when a worker is gone; `times` says how often."""
    return MissingError(
        f"a worker ended{times} before its cells were done; was it killed, or out of memory?",
        where="sweep",
        mend="The same command resumes; fewer `--workers` take less memory.",
    )
