"""What the exported checkpoint is beside the bill of a plan."""

from collections.abc import Sequence

from solver.catalog import NATIVE
from solver.catalog.algorithm import Algorithm
from solver.cost.checkpoint import float32_scale_bytes
from solver.intake.analysis import Risk as RiskNote
from solver.plan.assignment import Assignment
from solver.plan.context import Context
from solver.rules.service import served_dtype_bytes


def scale_notes(context: Context, assignment: Assignment, algorithms: Sequence[Algorithm]) -> list[RiskNote]:
    """Return that algorithms write scales in float32, and what that adds to the files."""
    dtype_bytes = served_dtype_bytes(context.inventory)
    more = sum(
        member.layers
        * float32_scale_bytes(
            None if scheme == NATIVE else context.catalog.schemes.get(scheme),
            member.family.in_features,
            member.family.out_features,
            algorithms,
            dtype_bytes,
        )
        for member, scheme in assignment.schemes.items()
    )
    if not more:
        return []
    named = ", ".join(algorithm.name for algorithm in algorithms if algorithm.float32_scales)
    return [
        RiskNote(
            severity="low",
            message=f"Quark writes scales in float32 under {named}: {more:,} bytes more on disk than in the bill",
            recovery_hint="none is needed: they are billed in the type that the model is served in",
        )
    ]
