"""Plans LLM quantization for AMD Quark under a memory budget.

The public entry points live in :mod:`solver.api`; they are re-exported here lazily, so that importing the
package costs nothing until a plan is asked for.
"""

from typing import TYPE_CHECKING, Any

from solver.version import __version__

__all__ = ["__version__", "analyze", "capacity", "confirm", "solve"]

if TYPE_CHECKING:
    from solver.api import analyze, confirm, solve
    from solver.capacity.planner import capacity


def __getattr__(name: str) -> Any:
    if name in {"analyze", "confirm", "solve"}:
        from solver import api

        return getattr(api, name)
    if name == "capacity":
        # A callable package: the import system binds its submodules' package to this name whoever imports it first.
        import importlib

        return importlib.import_module("solver.capacity")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
