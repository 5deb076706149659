"""What Quark's own guide would plan: one scheme for all layers, priced and judged like any other plan."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from solver.catalog import NATIVE
from solver.catalog.goal import GuideRow
from solver.errors import PlannerError
from solver.optimize.problem import Point, Proof
from solver.plan.choices import Choices, find_choices
from solver.plan.context import Context
from solver.plan.kept import as_guided
from solver.plan.pins import case_of
from solver.plan.problems import find_problems
from solver.rules.options import refusals
from solver.units import format_size


@dataclass(frozen=True)
class GuidePlan:
    """The plan of one line of the guide, and what keeps the stack from loading it, if anything does."""

    row: GuideRow
    scheme: str
    point: Point
    choices: Choices
    context: Context
    obstacle: str | None

    @property
    def loads(self) -> bool:
        """Whether the stack has native kernels for all of it."""
        return self.obstacle is None

    @property
    def reason(self) -> str:
        """Why it is offered, and that it would not load if so."""
        verdict = "" if self.loads else f", which would not load natively: {self.obstacle}"
        return f"{_said(self.row)}{verdict}"

    @property
    def fits(self) -> bool:
        """Whether it keeps the budget."""
        return self.point.weights_bytes <= self.context.budget.weights_limit(self.point.problem)


def _said(row: GuideRow) -> str:
    return f"Quark's guide for '{row.says}': {row.advice}"


def _plan(context: Context, choices: Choices, row: GuideRow, scheme: str, algorithms: tuple[str, ...]) -> GuidePlan:
    request = context.request
    # The guide is silent on the cache: it stays as it is unless the user said otherwise.
    asked = {"scheme": scheme, "algorithms": algorithms, "kv_cache_scheme": request.kv_cache_scheme or "none"}
    inner = replace(context, request=request.model_copy(update=asked))
    found = find_choices(inner)
    added = [note for note in found.risks if note not in choices.risks]
    problem = find_problems(inner, found).reduced[0]
    counts = tuple((part.count,) for part in problem.classes)
    vector = problem.vector(counts)
    point = Point(problem, counts, vector, Proof("optimal", "risk", vector[1], vector[1]))
    obstacle = next(iter(_obstacles(inner, found, scheme)), None)
    risks = tuple(as_guided(note) if note in added else note for note in found.risks)
    return GuidePlan(row, scheme, point, replace(found, risks=risks), inner, obstacle)


def _algorithms(context: Context, row: GuideRow) -> list[tuple[str, ...]]:
    """Return what may be tried: the user's own, else those of the guide that Quark configures for the model."""
    if context.request.algorithms is not None:
        return [context.request.algorithms]
    configured: list[tuple[str, ...]] = [(name,) for name in row.algorithms if name in context.template.algorithms]
    return [(), *configured] if row.optional or not configured else configured


def _obstacles(context: Context, choices: Choices, scheme: str) -> Iterator[str]:
    """Yield what keeps the stack from loading a scheme where layers are given it all the same."""
    profile = context.catalog.schemes.get(scheme)
    given = (unit for unit, names in choices.allowed.items() if names == (profile.name,))
    for family in dict.fromkeys(member.family for unit in given for member in unit.members):
        yield from map(str, refusals(case_of(context, family, profile)))


def _left_native(plan: GuidePlan, choices: Choices) -> str | None:
    """Return why some layer with a choice does not have the guide's scheme."""
    families = (
        member.family
        for unit, names in plan.choices.allowed.items()
        if names == (NATIVE,) and choices.allowed.get(unit) != names
        for member in unit.members
    )
    wanted = plan.context.catalog.schemes.get(plan.scheme)
    found = (refusal for family in families for refusal in refusals(case_of(plan.context, family, wanted)))
    return next((str(refusal) for refusal in found), None)


def _notes(plan: GuidePlan, choices: Choices) -> Iterator[str]:
    row, context = plan.row, plan.context
    if not plan.fits:
        scope = plan.point.weights_bytes if context.budget.scope == "weights" else plan.point.total_bytes
        yield f"{_said(row)}; left out, it takes {format_size(scope)} at least and does not fit the budget"
        return
    configured = set(row.algorithms) & set(context.template.algorithms)
    if row.algorithms and not row.optional and not configured and not context.request.algorithms:
        yield f"{_said(row)}; Quark 0.13 configures no such algorithm for {context.template.model_type}"
    native = _left_native(plan, choices)
    if native is not None:
        yield f"{_said(row)}; some layers stay native, for {native}"


def _of_row(context: Context, choices: Choices, row: GuideRow) -> tuple[GuidePlan | None, list[str]]:
    plans: list[GuidePlan] = []
    refused: list[str] = []
    for scheme in row.schemes:
        for algorithms in _algorithms(context, row):
            try:
                plans.append(_plan(context, choices, row, scheme, algorithms))
            except PlannerError as error:
                refused.append(f"{_said(row)}; left out: {error.what.rstrip('.')}")
    if not plans:
        return None, list(dict.fromkeys(refused))[:1]
    fitting = [plan for plan in plans if plan.fits]
    if not fitting:
        return None, list(_notes(min(plans, key=lambda plan: plan.point.total_bytes), choices))
    best = min(fitting, key=lambda plan: (not plan.loads, plan.point.risk, plan.point.total_bytes))
    return best, list(_notes(best, choices))


def guide_plans(context: Context, choices: Choices) -> tuple[list[GuidePlan], list[str]]:
    """Return the plans of the guide for a named goal and its machine, and what is to be said of them.

    A scheme that the stack loads is given to every layer that may have it; one that it loads nowhere to every layer
    that Quark can give it, as a risk. The user's pins stand.
    """
    request, goal = context.request, context.goal
    if request.goal is None:
        return [], []
    if request.scheme is not None:
        return [], [f"--scheme {request.scheme} stands, whatever Quark's guide says"]
    rows = context.catalog.guide.rows_for(goal, context.service.hardware.name)
    said = [] if any(goal.name in row.goals for row in rows) else [f"Quark's guide says nothing of {goal.name}"]
    plans = []
    for row in rows:
        plan, notes = _of_row(context, choices, row)
        said.extend(notes)
        plans += [] if plan is None else [plan]
    return plans, said
