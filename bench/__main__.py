"""Runs benches by name (all by default), prints a table, and fails if a ratio does not hold."""

import json
import sys

from rich.console import Console
from rich.table import Table

import bench.cold_start
import bench.kv_allocator
import bench.loaders.vllm
import bench.optimizer
import bench.quark_exports
import bench.quark_plans
import bench.quark_schemes
import bench.sweep
import bench.weights
import bench.zoo  # noqa: F401  all register themselves
from bench.environment import RESULTS, environment
from bench.registry import SPECS, Row, Skipped


def table(name: str, rows: list[Row]) -> Table:
    """Return the rows of one bench as a table."""
    view = Table(title=f"{name}: {SPECS[name].question}")
    unit = SPECS[name].unit
    for column in ("subject", unit, "baseline", unit, "ratio", "limit"):
        view.add_column(column)
    for row in rows:
        limit = "equal" if row.exact else "-" if row.limit is None else f"{row.limit:g}"
        numbers = (f"{row.value:.4g}", row.baseline, f"{row.baseline_value:.4g}", f"{row.ratio:.2f}", limit)
        view.add_row(row.subject, *numbers)
    return view


def main(names: list[str]) -> int:
    """Run benches and return the exit code: 1 if a ratio does not hold, 2 for an unknown name."""
    console = Console()
    unknown = set(names) - set(SPECS)
    if unknown:
        console.print(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(SPECS)}")
        return 2
    failed = False
    RESULTS.mkdir(exist_ok=True)
    for name in names or list(SPECS):
        try:
            rows = SPECS[name].run()
        except Skipped as reason:
            console.print(f"{name}: skipped, {reason}")
            continue
        console.print(table(name, rows))
        measured = [
            {"subject": row.subject, SPECS[name].unit: row.value, "baseline": row.baseline, "ratio": row.ratio}
            for row in rows
        ]
        document = {"environment": environment(), "rows": measured}
        (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n")
        failed |= not all(row.holds for row in rows)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
