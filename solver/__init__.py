"""Plans LLM quantization for AMD Quark under a memory budget.

All of the Python interface lies in :mod:`solver.api`, :mod:`solver.sweep` and :mod:`solver.capacity`. What most
programs need is here too, and loaded when it is first asked for: importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from solver.version import __version__

if TYPE_CHECKING:
    from solver.api import Plan, PlanRequest, PlanSet, analyze, confirm, solve
    from solver.capacity.planner import capacity
    from solver.sweep import Sweep, sweep

__all__ = [
    "Plan",
    "PlanRequest",
    "PlanSet",
    "Sweep",
    "__version__",
    "analyze",
    "capacity",
    "confirm",
    "solve",
    "sweep",
]

_HOMES = {
    "solver.api": ("Plan", "PlanRequest", "PlanSet", "analyze", "confirm", "solve"),
    "solver.capacity.planner": ("capacity",),
    "solver.sweep": ("Sweep", "sweep"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
