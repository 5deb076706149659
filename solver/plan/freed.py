"""What the planner would do without the user's insistence, where that keeps what a rule forbids."""

from typing import Any

from solver.plan.document import Alternative
from solver.plan.kept import is_kept
from solver.plan.names import GUIDE, UNBOUND
from solver.plan.request import PlanRequest

_FREE: dict[str, Any] = {
    "layers": {},
    "pins": {},
    "scheme": None,
    "algorithms": None,
    "kv_cache_scheme": None,
    "force": False,
}


def insistences(request: PlanRequest) -> tuple[str, ...]:
    """Return the flags by which a request insists on something that the planner would choose."""
    return tuple(
        flag
        for flag, asked in (
            ("--layer", request.layers),
            ("--pin", request.pins),
            ("--scheme", request.scheme),
            ("--algorithm", request.algorithms is not None),
            ("--kv", request.kv_cache_scheme),
        )
        if asked
    )


def freed(request: PlanRequest, alternatives: tuple[Alternative, ...]) -> PlanRequest | None:
    """Return the request without its insistence, or None where no rule is set aside by it."""
    kept = any(
        note.severity == "high" and is_kept(note) for item in alternatives if item.name != GUIDE for note in item.risks
    )
    return free_request(request) if kept and insistences(request) else None


def free_request(request: PlanRequest) -> PlanRequest:
    """Return a request without its insistence."""
    return request.model_copy(update=_FREE)


def better(offered: Alternative, alternatives: tuple[Alternative, ...], request: PlanRequest) -> Alternative | None:
    """Return a plan of the freed request as one more alternative, unless an insisted one is no worse in any way."""
    if offered.risk is None or offered.footprint is None:
        return None
    for item in alternatives:
        if (
            item.risk is not None
            and item.footprint is not None
            and item.risk.delta_nll <= offered.risk.delta_nll
            and item.footprint.total_bytes <= offered.footprint.total_bytes
        ):
            return None
    return offered.model_copy(
        update={
            "id": len(alternatives) + 1,
            "name": UNBOUND,
            "reason": f"what the planner would do without {', '.join(insistences(request))}",
        }
    )
