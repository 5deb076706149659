"""What is kept because the user asked for it, although a rule forbids it: a risk of the plan."""

from solver.intake.analysis import Risk as RiskNote
from solver.plan.context import Context
from solver.rules.refusal import Refusal


def kept_as_asked(context: Context, asked: str, refusal: Refusal) -> RiskNote:
    """Return the risk of keeping what a rule forbids that yields to what the user says."""
    rule = context.catalog.rules.get(refusal.rule)
    return RiskNote(
        severity=rule.severity or "high",
        message=f"kept as asked, {asked}: {refusal}",
        recovery_hint=rule.hint or "leave it to the planner",
    )
