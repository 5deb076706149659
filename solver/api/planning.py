"""What may be asked of the planner: plans, bills, and why not."""

from collections.abc import Sequence

from solver.api.models import analyze
from solver.api.plans import PlanSet
from solver.catalog import Catalog
from solver.errors import MissingError, PlannerError
from solver.intake.analysis import ModelAnalysis
from solver.intake.inventory import Inventory
from solver.intake.read import complete_analysis
from solver.optimize.progress import Watch
from solver.plan.draft import draft_answer
from solver.plan.explain import Question
from solver.plan.explain import explain as explain_layers
from solver.plan.explanation import Explanation
from solver.plan.footprints import FootprintReport, uniform_bills
from solver.plan.memo import Memo
from solver.plan.planner import plan
from solver.plan.request import PlanRequest


def solve(
    request: PlanRequest,
    analysis: ModelAnalysis | None = None,
    *,
    catalog: Catalog | None = None,
    analysis_ref: str | None = None,
    watch: Watch | None = None,
) -> PlanSet:
    """Return the plans that answer a request.

    Parameters
    ----------
    analysis
        What the model is made of; by default `request.model` is analysed. Without an inventory it gives a draft:
        one plan, no numbers, and the facts that are missing.
    analysis_ref
        What the plan records as the analysis that it is built on, for example a path.
    watch
        Called now and then with how far the search is.

    Raises
    ------
    PlannerError
        If the request cannot be used, or has no answer.

    """
    catalog = catalog or Catalog()
    if analysis is None:
        analysis = analyze(request.model, catalog=catalog, trust_remote_code=request.trust_remote_code)
    ref = analysis_ref or f"config-sha256:{analysis.model.config_sha256}"
    completed = complete_analysis(analysis, catalog)
    if completed.inventory is None:
        return PlanSet.of(draft_answer(request, completed, catalog, analysis_ref=ref))
    return PlanSet.of(plan(request, completed, completed.inventory, catalog, analysis_ref=ref, watch=watch))


def solve_budgets(
    request: PlanRequest,
    budgets: Sequence[int | None],
    analysis: ModelAnalysis,
    *,
    catalog: Catalog | None = None,
) -> list[PlanSet | PlannerError]:
    """Return the answer for each budget, or the error where there is none: much faster than one by one.

    The plans are those of `solve`. What only a reader of a single answer needs is not computed: the price of simpler
    plans, and, where no plan fits, what clashes and what would mend it.

    Parameters
    ----------
    budgets
        Bytes of one device; None is what the stack takes of the device by default.

    Raises
    ------
    MissingError
        If nothing is known of the model's layers.

    """
    catalog = catalog or Catalog()
    completed, inventory = _with_layers(request, analysis, catalog, "solve sweep --model MODEL")
    ref, memo = f"config-sha256:{completed.model.config_sha256}", Memo()
    found: dict[int | None, PlanSet | PlannerError] = {}
    # What is found within the largest budget holds what there is within the others.
    for budget in sorted(dict.fromkeys(budgets), key=lambda size: (size is not None, -(size or 0))):
        asked = request.model_copy(update={"budget_bytes": budget})
        try:
            answer = plan(asked, completed, inventory, catalog, analysis_ref=ref, memo=memo)
        except PlannerError as error:
            found[budget] = error
        else:
            found[budget] = PlanSet.of(answer)
    return [found[budget] for budget in budgets]


def footprints(
    request: PlanRequest,
    analysis: ModelAnalysis | None = None,
    *,
    catalog: Catalog | None = None,
    pipeline_stages: int = 1,
) -> FootprintReport:
    """Return the bill of a model in service, as stored and under each scheme wherever the stack runs it.

    Raises
    ------
    PlannerError
        If the request cannot be used, or nothing is known of the model's layers.

    """
    catalog = catalog or Catalog()
    completed, inventory = _with_layers(request, analysis, catalog, "solve footprint MODEL --hardware NAME")
    return uniform_bills(request, completed, inventory, catalog, stages=pipeline_stages)


def explain(
    request: PlanRequest,
    question: Question,
    analysis: ModelAnalysis | None = None,
    *,
    catalog: Catalog | None = None,
) -> Explanation:
    """Return why some layers may not have a scheme, what they may have, and what insisting costs.

    Raises
    ------
    PlannerError
        If the request or a name in the question cannot be used, or nothing is known of the model's layers.

    """
    catalog = catalog or Catalog()
    command = "solve explain MODEL --hardware NAME --layer LAYER"
    completed, inventory = _with_layers(request, analysis, catalog, command)
    return explain_layers(request, completed, inventory, catalog, question)


def _with_layers(
    request: PlanRequest, analysis: ModelAnalysis | None, catalog: Catalog, command: str
) -> tuple[ModelAnalysis, Inventory]:
    """Return the complete analysis of a request's model and its inventory, or raise what `command` would need."""
    if analysis is None:
        analysis = analyze(request.model, catalog=catalog, trust_remote_code=request.trust_remote_code)
    completed = complete_analysis(analysis, catalog)
    if completed.inventory is None:
        raise MissingError(
            f"the analysis lacks {', '.join(completed.missing)}.",
            where=request.model,
            mend=f"Name the model's configuration: `{command}`.",
        )
    return completed, completed.inventory
