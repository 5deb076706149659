"""The answer when nothing fits: the least footprint, its parts, and what would have to give."""

from solver.errors import InfeasibleError
from solver.optimize.cpsat import SolverSettings
from solver.optimize.points import smallest_of_all
from solver.optimize.problem import Point, Problem
from solver.plan.context import Context
from solver.units import format_size, format_size_both

_MARGIN = 10**7
"""What a suggested budget adds, so that it still fits after rounding to two digits."""


def infeasible(context: Context, problems: list[Problem], settings: SolverSettings) -> InfeasibleError:
    """Return the error that explains why no plan keeps the budget."""
    least = smallest_of_all(problems, settings)
    scope, wanted = context.budget.scope, context.budget.size_bytes
    needed = least.weights_bytes if scope == "weights" else least.total_bytes
    parts = {
        "weights": least.weights_bytes,
        "KV cache": least.problem.kv_cache_bytes,
        "activations and runtime": least.problem.overhead_bytes,
    }
    bill = ", ".join(f"{name} {format_size(size)}" for name, size in parts.items())
    what = "weights" if scope == "weights" else "memory"
    return InfeasibleError(
        f"no plan fits {format_size(wanted)} of {what}: the smallest takes {format_size_both(needed)} on each device "
        f"({bill}).",
        least_footprint_bytes=needed,
        mend=_what_gives(context, needed - wanted, least),
    )


def _what_gives(context: Context, missing: int, least: Point) -> str:
    service = context.service
    ways = [
        f"raise --budget to {format_size(context.budget.size_bytes + missing + _MARGIN)}",
        f"spread with --tp {2 * service.tensor_parallel}",
    ]
    if context.budget.scope == "total" and least.problem.kv_cache_bytes > missing:
        ways.append("shorten --context or lower --concurrency")
    ways.append("allow more schemes with --allow-emulated or --backend")
    return f"What would have to give: {'; or '.join(ways)}."
