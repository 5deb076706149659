"""What is kept because the user asked for it, although a rule forbids it: a risk of the plan."""

from solver.intake.analysis import Risk as RiskNote
from solver.plan.context import Context
from solver.rules.refusal import Refusal

_KEPT = "kept as asked, "
_GUIDED = "as Quark's guide says, "


def kept_as_asked(context: Context, asked: str, refusal: Refusal) -> RiskNote:
    """Return the risk of keeping what a rule forbids that yields to what the user says."""
    rule = context.catalog.rules.get(refusal.rule)
    return RiskNote(
        severity=rule.severity or "high",
        message=f"{_KEPT}{asked}: {refusal}",
        recovery_hint=rule.hint or "leave it to the planner",
    )


def is_kept(note: RiskNote) -> bool:
    """Return whether a risk is that of keeping what a rule forbids."""
    return note.message.startswith(_KEPT)


def as_guided(note: RiskNote) -> RiskNote:
    """Return a risk of what the user asked for as one of following Quark's guide."""
    return note.model_copy(update={"message": note.message.replace(_KEPT, _GUIDED)})
