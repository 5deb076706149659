"""Sweeps over models, budgets, hardware and contexts. The package may be called as `solver.sweep(...)`."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solver.sweep.rows import COLUMNS
    from solver.sweep.run import Progress, SweepResult, sweep
    from solver.sweep.spec import Sweep, read_sweep
    from solver.sweep.table import read_rows, write_rows

__all__ = ["COLUMNS", "Progress", "Sweep", "SweepResult", "read_rows", "read_sweep", "sweep", "write_rows"]

_HOMES = {
    "solver.sweep.rows": ("COLUMNS",),
    "solver.sweep.run": ("Progress", "SweepResult", "sweep"),
    "solver.sweep.spec": ("Sweep", "read_sweep"),
    "solver.sweep.table": ("read_rows", "write_rows"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Callable(ModuleType):
    """The package and its function have one name in `solver`: whichever is found there can be called."""

    def __call__(self, *arguments: Any, **options: Any) -> "SweepResult":
        from solver.sweep.run import sweep

        return sweep(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
