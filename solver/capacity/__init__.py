"""Plans a fleet: which plan each model has, how many replicas, and which devices they lie on."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solver.capacity.document import CapacityPlan
    from solver.capacity.fleet import Fleet
    from solver.capacity.measured import Measured

__all__ = ["CapacityPlan", "Fleet", "Measured"]

_HOMES = {
    "CapacityPlan": "solver.capacity.document",
    "Fleet": "solver.capacity.fleet",
    "Measured": "solver.capacity.measured",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


class _Callable(ModuleType):
    """The package, callable: `solver.capacity` is its name and that of its entry point."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return `solver.capacity.planner.capacity` of these arguments."""
        from solver.capacity.planner import capacity

        return capacity(*arguments, **named)


sys.modules[__name__].__class__ = _Callable
