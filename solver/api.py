"""The Python interface: analyse a model, ask for plans, confirm and verify one. Nothing here prints."""

from collections.abc import Callable
from pathlib import Path

from solver.catalog import Catalog
from solver.errors import MissingError
from solver.intake.analysis import ModelAnalysis
from solver.intake.analyze import analyze_source
from solver.intake.cache import cache_path, cached_analysis, keep_analysis
from solver.intake.inventory import Inventory
from solver.intake.read import complete_analysis, is_analysis, load_analysis
from solver.intake.shipped import shipped_analysis
from solver.intake.source import find_source
from solver.optimize.progress import Watch
from solver.plan.confirm import choose, confirm, draft
from solver.plan.document import Answer, QuantPlan
from solver.plan.draft import draft_answer
from solver.plan.explain import Question
from solver.plan.explain import explain as explain_layers
from solver.plan.explanation import Explanation
from solver.plan.files import plan_document, read_plan
from solver.plan.footprints import FootprintReport, uniform_bills
from solver.plan.on_disk import schema_check
from solver.plan.planner import plan
from solver.plan.recheck import recheck
from solver.plan.recheck_facts import analysis_check
from solver.plan.request import PlanRequest
from solver.plan.verification import Verification
from solver.quark.ask import QuarkUse, ask_quark
from solver.quark.doctor import Drift, examine

__all__ = [
    "Answer",
    "Drift",
    "Explanation",
    "FootprintReport",
    "ModelAnalysis",
    "PlanRequest",
    "QuantPlan",
    "Question",
    "Verification",
    "analyze",
    "choose",
    "confirm",
    "doctor",
    "draft",
    "explain",
    "footprints",
    "solve",
    "verify",
]


def analyze(
    model: str,
    *,
    catalog: Catalog | None = None,
    revision: str | None = None,
    trust_remote_code: bool = False,
    cache: bool = True,
) -> ModelAnalysis:
    """Return the analysis of a model from its configuration, and from its checkpoint's headers where they lie there.

    Parameters
    ----------
    model
        A config.json, a checkpoint's folder, a GGUF file, the name of a bundled model, a hub id, or a
        `model_analysis.json`.
    trust_remote_code
        Whether transformers may run code that lies beside the configuration.
    cache
        Whether an analysis that was built before may be read, and a new one kept, in the user's cache folder.

    Raises
    ------
    PlannerError
        If the model cannot be found or built.

    """
    catalog = catalog or Catalog()
    path = Path(model)
    if is_analysis(path):
        return complete_analysis(load_analysis(path), catalog)
    source = find_source(model, catalog, revision=revision)
    if trust_remote_code:
        return analyze_source(source, catalog, trust_remote_code=True)
    # A user's own roles, templates or field names may change what an analysis says.
    shipped = None if catalog.extended else shipped_analysis(source)
    if shipped is not None:
        return shipped
    place = cache_path(source, catalog) if cache else None
    kept = cached_analysis(place) if place is not None else None
    if kept is not None:
        return kept
    analysis = analyze_source(source, catalog)
    if place is not None:
        keep_analysis(analysis, place)
    return analysis


def footprints(
    request: PlanRequest,
    analysis: ModelAnalysis | None = None,
    *,
    catalog: Catalog | None = None,
    pipeline_stages: int = 1,
) -> FootprintReport:
    """Return the bill of a model in service, unquantized and under each scheme wherever the stack runs it.

    Raises
    ------
    PlannerError
        If the request cannot be used, or nothing is known of the model's layers.

    """
    catalog = catalog or Catalog()
    completed, inventory = _with_layers(request, analysis, catalog, "solve footprint MODEL --hardware NAME")
    return uniform_bills(request, completed, inventory, catalog, stages=pipeline_stages)


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


def solve(
    request: PlanRequest,
    analysis: ModelAnalysis | None = None,
    *,
    catalog: Catalog | None = None,
    analysis_ref: str | None = None,
    watch: Watch | None = None,
) -> Answer:
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
        return draft_answer(request, completed, catalog, analysis_ref=ref)
    return plan(request, completed, completed.inventory, catalog, analysis_ref=ref, watch=watch)


def _unheard(_: str) -> None:
    """Take what is done next, where nobody listens."""


def _planned_model(written: QuantPlan, catalog: Catalog) -> str:
    """Return the model that a plan is for, where it is at hand: what was asked for, else what was analysed then."""
    names = (str(written.request.get("model")), written.model.model_path)
    at_hand = (name for name in names if Path(name).exists() or catalog.models.find(name) is not None)
    return next(at_hand, written.model.model_path)


def verify(
    plan: QuantPlan | Path,
    *,
    model: str | None = None,
    catalog: Catalog | None = None,
    revision: str | None = None,
    trust_remote_code: bool = False,
    cache: bool = True,
    quark: QuarkUse = "auto",
    tell: Callable[[str], None] = _unheard,
) -> Verification:
    """Return what of a plan holds: everything that it states is computed anew from its request, and compared.

    Parameters
    ----------
    plan
        A plan, or the file of one.
    model
        What to analyse instead of the model that the plan names.
    quark
        Whether the installed AMD Quark is asked too what it would do: `yes`, `no`, or `auto`, where it can be imported.
    tell
        Called with what is done next.

    Raises
    ------
    PlannerError
        If the plan or the model cannot be read, or its request cannot be used any more; MissingError too if Quark is
        to be asked and cannot be imported.

    """
    catalog = catalog or Catalog()
    written = read_plan(plan) if isinstance(plan, Path) else plan
    document = plan_document(plan) if isinstance(plan, Path) else written.model_dump(mode="json")
    name = model or _planned_model(written, catalog)
    fetched = revision or (written.model.revision if model is None else None)
    tell(f"analysing {name}")
    analysis = analyze(name, catalog=catalog, revision=fetched, trust_remote_code=trust_remote_code, cache=cache)
    tell("computing the plan anew")
    found = recheck(written, complete_analysis(analysis, catalog), catalog)
    read = (analysis_check(analysis, catalog),) if is_analysis(Path(name)) else ()
    asked, version = ask_quark(
        written,
        found.chosen,
        analysis.model.model_path,
        catalog,
        use=quark,
        tell=tell,
        revision=fetched,
        trust_remote_code=trust_remote_code,
    )
    checks = (schema_check(document), *read, *found.checks, *asked)
    return Verification(
        holds=all(check.verdict != "differs" for check in checks),
        plan=str(plan) if isinstance(plan, Path) else written.model.model_path,
        model=written.model.model_path,
        analysed=name,
        requires_confirmation=written.requires_confirmation,
        quark_version=version,
        checks=checks,
        notes=found.notes,
    )


def doctor(
    *,
    catalog: Catalog | None = None,
    quark: QuarkUse = "auto",
    write: Path | None = None,
    tell: Callable[[str], None] = _unheard,
) -> Drift:
    """Return what is installed and what it gives, what the profiles know, and how the installed Quark differs.

    Parameters
    ----------
    quark
        Whether the installed AMD Quark is compared: `yes`, `no`, or `auto`, where it can be imported.
    write
        A folder for profiles of what is new or otherwise in the installed Quark, laid out for `Catalog`.
    tell
        Called with what is done next.

    Raises
    ------
    PlannerError
        If Quark is to be compared and cannot be imported, or the profiles cannot be written.

    """
    return examine(catalog or Catalog(), use=quark, write=write, tell=tell)
