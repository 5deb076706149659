"""Whether what was planned holds, and whether what the profiles know does."""

from collections.abc import Callable
from pathlib import Path

from solver.api.models import analyze
from solver.catalog import Catalog
from solver.intake.read import complete_analysis, is_analysis
from solver.plan.document import QuantPlan
from solver.plan.files import plan_document, read_plan
from solver.plan.on_disk import schema_check
from solver.plan.recheck import recheck
from solver.plan.recheck_facts import analysis_check
from solver.plan.verification import Verification
from solver.quark.ask import QuarkUse, ask_quark
from solver.quark.doctor import Drift, examine


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
