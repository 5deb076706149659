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
    from solver.export.algorithm_config import read_config_file
    from solver.export.configured import standard_note
    from solver.export.defects import defect_notes
    from solver.export.options import ExportOptions, attention_note
    from solver.export.targets import export_plan, unexpressed
    from solver.intake.analysis import ModelAnalysis
    from solver.intake.contradictions import machine_notes
    from solver.intake.environment import ENVIRONMENT_NAME, Machine, hardware_of, read_environment
    from solver.intake.read import ANALYSIS_NAME, is_analysis
    from solver.plan.confirm import choose, confirm, draft, reject
    from solver.plan.decisions import CONFIRM, QUESTION, decision_table
    from solver.plan.document import Alternative, Answer, ErrorAnswer, QuantPlan
    from solver.plan.explain import Question
    from solver.plan.explain_settings import SettingsQuestion
    from solver.plan.explanation import Explanation
    from solver.plan.files import PLAN_NAME, is_plan, read_plan, to_json, write_plan
    from solver.plan.footprints import FootprintReport
    from solver.plan.goals import DEFAULT_GOAL
    from solver.plan.request import Calibration, PlanRequest
    from solver.plan.verification import Verification
    from solver.quark.doctor import Drift

_HOMES = {
    "solver.api.checking": (
        "doctor",
        "verify",
    ),
    "solver.api.frames": ("COLUMNS",),
    "solver.api.models": ("analyze",),
    "solver.api.planning": (
        "explain",
        "footprints",
        "solve",
        "solve_budgets",
    ),
    "solver.api.plans": (
        "Plan",
        "PlanSet",
    ),
    "solver.catalog": ("Catalog",),
    "solver.export.algorithm_config": ("read_config_file",),
    "solver.export.configured": ("standard_note",),
    "solver.export.defects": ("defect_notes",),
    "solver.export.options": (
        "ExportOptions",
        "attention_note",
    ),
    "solver.export.targets": (
        "export_plan",
        "unexpressed",
    ),
    "solver.intake.analysis": ("ModelAnalysis",),
    "solver.intake.contradictions": ("machine_notes",),
    "solver.intake.environment": (
        "ENVIRONMENT_NAME",
        "Machine",
        "hardware_of",
        "read_environment",
    ),
    "solver.intake.read": (
        "ANALYSIS_NAME",
        "is_analysis",
    ),
    "solver.plan.confirm": (
        "choose",
        "confirm",
        "draft",
        "reject",
    ),
    "solver.plan.decisions": (
        "CONFIRM",
        "QUESTION",
        "decision_table",
    ),
    "solver.plan.document": (
        "Alternative",
        "Answer",
        "ErrorAnswer",
        "QuantPlan",
    ),
    "solver.plan.explain": ("Question",),
    "solver.plan.explain_settings": ("SettingsQuestion",),
    "solver.plan.explanation": ("Explanation",),
    "solver.plan.files": (
        "PLAN_NAME",
        "is_plan",
        "read_plan",
        "to_json",
        "write_plan",
    ),
    "solver.plan.footprints": ("FootprintReport",),
    "solver.plan.goals": ("DEFAULT_GOAL",),
    "solver.plan.request": (
        "Calibration",
        "PlanRequest",
    ),
    "solver.plan.verification": ("Verification",),
    "solver.quark.doctor": ("Drift",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ANALYSIS_NAME",
    "COLUMNS",
    "CONFIRM",
    "DEFAULT_GOAL",
    "ENVIRONMENT_NAME",
    "PLAN_NAME",
    "QUESTION",
    "Alternative",
    "Answer",
    "Calibration",
    "Catalog",
    "Drift",
    "ErrorAnswer",
    "Explanation",
    "ExportOptions",
    "FootprintReport",
    "Machine",
    "ModelAnalysis",
    "Plan",
    "PlanRequest",
    "PlanSet",
    "QuantPlan",
    "Question",
    "SettingsQuestion",
    "Verification",
    "analyze",
    "attention_note",
    "choose",
    "confirm",
    "decision_table",
    "defect_notes",
    "doctor",
    "draft",
    "explain",
    "export_plan",
    "footprints",
    "hardware_of",
    "is_analysis",
    "is_plan",
    "machine_notes",
    "read_config_file",
    "read_environment",
    "read_plan",
    "reject",
    "solve",
    "solve_budgets",
    "standard_note",
    "to_json",
    "unexpressed",
    "verify",
    "write_plan",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
