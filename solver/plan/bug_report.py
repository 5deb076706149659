"""What a report of a failed re-check holds: the request and the exact problems, as JSON."""

from typing import Any

from solver.optimize.problem import Problem
from solver.plan.choices import find_choices
from solver.plan.context import Context
from solver.plan.problems import find_problems


def _document(problem: Problem) -> dict[str, Any]:
    return {
        "settings": str(problem.settings),
        "fixed": problem.fixed,
        "service_bytes": problem.service_bytes,
        "cache_ticks": problem.cache_ticks,
        "avoids_native": problem.avoids_native,
        "classes": [
            {
                "units": [unit.name for unit in part.units],
                "options": {option.scheme: option.vector for option in part.options},
            }
            for part in problem.classes
        ],
    }


def bug_report(context: Context) -> dict[str, Any]:
    """Return what it takes to solve a request again elsewhere: names of layers and integers, no weights."""
    problems = find_problems(context, find_choices(context)).whole
    budget = {"size_bytes": context.budget.size_bytes, "scope": context.budget.scope}
    return {
        "request": context.request.document(),
        "profiles_sha256": context.catalog.fingerprint,
        "budget": budget,
        "problems": [_document(problem) for problem in problems],
    }
