"""Runs benches by name (all by default), prints a table, and fails if a row does not hold."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

import bench.cold_start  # registers itself
import bench.quark_exports  # noqa: F401  registers itself
from bench.registry import SPECS, Row

RESULTS = Path(__file__).parent / "results"


def table(name: str, rows: Sequence[Row]) -> Table:
    """Return the rows of one bench as a table."""
    view = Table(title=f"{name}: {SPECS[name].question}")
    for column in rows[0].columns:
        view.add_column(column)
    for row in rows:
        view.add_row(*row.cells())
    return view


def main(names: list[str]) -> int:
    """Run benches and return the exit code: 1 if a row does not hold, 2 for an unknown name."""
    console = Console()
    unknown = set(names) - set(SPECS)
    if unknown:
        console.print(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(SPECS)}")
        return 2
    failed = False
    RESULTS.mkdir(exist_ok=True)
    for name in names or list(SPECS):
        rows = SPECS[name].run()
        console.print(table(name, rows))
        document = [row.record() for row in rows]
        (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n")
        failed |= not all(row.holds for row in rows)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
