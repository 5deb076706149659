"""What a worker does: analyse a model, answer the cells of a group. Nothing raises; what goes wrong becomes a row."""

from collections.abc import Sequence
from dataclasses import dataclass
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
    budgets = [cell.request.budget_bytes for cell in group.cells]
    answers: Answers = []
    found = solve_budgets(group.cells[0].request, budgets, analysis, catalog=_catalog(means.profiles))
    for cell in group.cells:
        try:
            plans = next(found)
            rows = [error_row(cell, plans)] if isinstance(plans, PlannerError) else plan_rows(cell, plans)
        except Exception as error:
            # A generator that raised has ended: its other cells are asked in a new one.
            rows = [error_row(cell, error)]
            left = budgets[len(answers) + 1 :]
            found = solve_budgets(group.cells[0].request, left, analysis, catalog=_catalog(means.profiles))
        answers.append((cell.number, rows))
    return answers


def died() -> MissingError:
    """Return what to say when a worker is gone."""
    return MissingError(
        "a worker ended before its cells were done; was it killed, or out of memory?",
        where="sweep",
        mend="The same command resumes; fewer `--workers` take less memory.",
    )
