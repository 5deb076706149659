"""The Python interface: analyse a model, ask for plans, choose, confirm, hand over and verify one. Nothing prints.

Every name loads its own module when it is first asked for: reading a plan loads no solver, solving no framework.
Documents are frozen, functions keep no state, and all of it may be called from several threads at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solver.api.checking import doctor, verify
    from solver.api.frames import COLUMNS
    from solver.api.models import analyze
    from solver.api.planning import explain, footprints, solve, solve_budgets
    from solver.api.plans import Plan, PlanSet
    from solver.catalog import Catalog
    from solver.export.options import ExportOptions
    from solver.export.targets import export_plan
    from solver.intake.analysis import ModelAnalysis
    from solver.plan.confirm import choose, confirm, draft
    from solver.plan.document import Alternative, Answer, QuantPlan
    from solver.plan.explain import Question
    from solver.plan.explanation import Explanation
    from solver.plan.files import read_plan
    from solver.plan.footprints import FootprintReport
    from solver.plan.request import Calibration, PlanRequest
    from solver.plan.verification import Verification
    from solver.quark.doctor import Drift

_HOMES = {
    "solver.api.checking": ("doctor", "verify"),
    "solver.api.frames": ("COLUMNS",),
    "solver.api.models": ("analyze",),
    "solver.api.planning": ("explain", "footprints", "solve", "solve_budgets"),
    "solver.api.plans": ("Plan", "PlanSet"),
    "solver.catalog": ("Catalog",),
    "solver.export.options": ("ExportOptions",),
    "solver.export.targets": ("export_plan",),
    "solver.intake.analysis": ("ModelAnalysis",),
    "solver.plan.confirm": ("choose", "confirm", "draft"),
    "solver.plan.document": ("Alternative", "Answer", "QuantPlan"),
    "solver.plan.explain": ("Question",),
    "solver.plan.explanation": ("Explanation",),
    "solver.plan.files": ("read_plan",),
    "solver.plan.footprints": ("FootprintReport",),
    "solver.plan.request": ("Calibration", "PlanRequest"),
    "solver.plan.verification": ("Verification",),
    "solver.quark.doctor": ("Drift",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "COLUMNS",
    "Alternative",
    "Answer",
    "Calibration",
    "Catalog",
    "Drift",
    "Explanation",
    "ExportOptions",
    "FootprintReport",
    "ModelAnalysis",
    "Plan",
    "PlanRequest",
    "PlanSet",
    "QuantPlan",
    "Question",
    "Verification",
    "analyze",
    "choose",
    "confirm",
    "doctor",
    "draft",
    "explain",
    "export_plan",
    "footprints",
    "read_plan",
    "solve",
    "solve_budgets",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
