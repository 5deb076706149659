"""Where a bench ran: machine, processors and the versions of what was measured."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
"""Where results go as JSON."""

_PACKAGES = ("amd-quark", "ortools", "pulp", "highspy", "numpy", "torch", "transformers")


def environment() -> dict[str, str | int]:
    """Return processors, machine, Python, and the version of each package that is installed."""
    found: dict[str, str | int] = {
        "cpus": os.cpu_count() or 0,
        "machine": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def installed() -> dict[str, str]:
    """Return the variables of a process that may use bytecode, and write it: what is installed has it."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
