"""Plans LLM quantization for AMD Quark under a memory budget.

All of the Python interface lies in :mod:`solver.api`. What most programs need is here too, and
loaded when it is first asked for: importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from solver.version import __version__

if TYPE_CHECKING:
    from solver.api import Plan, PlanRequest, PlanSet, analyze, confirm, solve

__all__ = ["Plan", "PlanRequest", "PlanSet", "__version__", "analyze", "confirm", "solve"]

_HOMES = {
    "solver.api": ("Plan", "PlanRequest", "PlanSet", "analyze", "confirm", "solve"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
