"""What a goal implies where the user did not say otherwise."""

from collections.abc import Sequence
from dataclasses import dataclass

from solver.catalog import Catalog
from solver.catalog.goal import Goal
from solver.catalog.template import Template
from solver.errors import MissingError
from solver.plan.names import GUIDE
from solver.plan.request import PlanRequest

DEFAULT_GOAL = "accuracy"


@dataclass(frozen=True, slots=True)
class Settled:
    """A request whose machine is known, its goal, and what was assumed for that."""

    request: PlanRequest
    goal: Goal
    hardware: str
    algorithms: tuple[str, ...] | None
    """Those that the goal implies; None leaves them open."""
    assumptions: tuple[str, ...]


def _algorithms(request: PlanRequest, goal: Goal, template: Template, assumptions: list[str]) -> tuple[str, ...] | None:
    """Return the implied algorithms that Quark configures for the model; another backend than implied lifts them."""
    wanted = goal.implies.algorithms
    if not wanted or request.algorithms is not None or request.backend not in {None, goal.implies.backend}:
        return None
    configured = tuple(name for name in wanted if name in template.algorithms)
    named = " or ".join(configured or wanted)
    lacking = f": left out, Quark 0.13 configures none for {template.model_type}" if not configured else ""
    assumptions.append(f"algorithm {named}, which the goal {goal.name} implies (--algorithm){lacking}")
    return configured or None


def _hardware(request: PlanRequest, goal: Goal, catalog: Catalog, assumptions: list[str]) -> tuple[str, Goal]:
    """Return the machine, and the goal as it is on that: elsewhere than meant, the guide's plan is not recommended."""
    implied = None if goal.implies.hardware is None else catalog.hardware.get(goal.implies.hardware)
    if request.hardware is None:
        if implied is None:
            raise MissingError(
                "no hardware is named.",
                where="--hardware",
                mend="`solve profiles list hardware` lists what there is.",
            )
        assumptions.append(f"{implied.title}, which the goal {goal.name} implies (--hardware)")
        return implied.name, goal
    hardware = catalog.hardware.get(request.hardware)
    if implied is not None and hardware.accelerator != implied.accelerator:
        assumptions.append(
            f"planned for {hardware.title} as named, although the goal is {goal.name} (--hardware {implied.name})"
        )
        goal = goal.model_copy(update={"recommend": tuple(name for name in goal.recommend if name != GUIDE)})
    return request.hardware, goal


def settle(request: PlanRequest, template: Template, catalog: Catalog) -> Settled:
    """Return a request with the gaps filled that its goal fills; what the user said stands.

    Raises
    ------
    MissingError
        If no hardware is named and the goal implies none.
    UnknownNameError
        If the goal, or a name that it implies, is not in the catalogue.
    """
    goal = catalog.goals.get(request.goal or DEFAULT_GOAL)
    assumptions: list[str] = []
    if request.goal is None:
        assumptions.append(f"goal {goal.name}, {goal.summary} (--goal; named, it shows what Quark's guide says too)")
    hardware, goal = _hardware(request, goal, catalog, assumptions)
    backend = request.backend
    if backend is None and goal.implies.backend is not None:
        backend = goal.implies.backend
        assumptions.append(
            f"served by {catalog.backends.get(backend).title}, which the goal {goal.name} implies (--backend)"
        )
    algorithms = _algorithms(request, goal, template, assumptions)
    filled = request.model_copy(update={"hardware": hardware, "backend": backend})
    return Settled(filled, goal, hardware, algorithms, tuple(assumptions))


def recommend(goal: Goal, offered: Sequence[tuple[int, tuple[str, ...], bool]]) -> int:
    """Return the number of the plan to recommend; `offered` are numbers, names, and whether the stack loads them."""
    for wanted in goal.recommend:
        for number, names, loads in offered:
            if loads and wanted in names:
                return number
    return offered[0][0]
