"""Plans a fleet: which plan each model has, how many replicas, and which devices they lie on."""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """The package, callable: `solver.capacity` is its name and that of its entry point."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return `solver.capacity.planner.capacity` of these arguments."""
        from solver.capacity.planner import capacity

        return capacity(*arguments, **named)


sys.modules[__name__].__class__ = _Callable
