"""One run of `solve explain`: from a model or a written plan and its flags to an answer."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import typer

from solver import api
from solver.api import Explanation, PlanRequest, QuantPlan, Question, SettingsQuestion, is_plan, read_plan, to_json
from solver.catalog import Catalog
from solver.cli.answering import answering
from solver.cli.machine import settle_hardware, tell
from solver.report.console import answers, messages
from solver.report.explanation import print_explanation


@dataclass(frozen=True)
class Asking:
    """What was typed; `typed` reads the flags of the request, those alone that were given."""

    model: str
    layer: str | None
    scheme: str | None
    algorithms: tuple[str, ...] | None
    kv: Literal["none", "fp8"] | None
    typed: Callable[[], dict[str, Any]]
    revision: str | None
    cache: bool
    profiles: Path | None
    as_json: bool

    def document(self) -> dict[str, Any]:
        """Return the question as JSON, for an error about it."""
        asked = ("model", "layer", "scheme", "algorithms", "kv")
        return {name: getattr(self, name) for name in asked}


def _request(asking: Asking, plan: QuantPlan | None, catalog: Catalog) -> PlanRequest:
    """Return the request of a plan, or an empty one, with what was typed on top.

    Raises
    ------
    PlannerError
        If a flag cannot be read, or no hardware is named.
    """
    fields = asking.typed()
    if asking.layer is not None:
        # Beside a layer, settings are those of the plan that the layer is in.
        fields |= {} if asking.algorithms is None else {"algorithms": asking.algorithms}
        fields |= {} if asking.kv is None else {"kv_cache_scheme": asking.kv}
    if plan is not None:
        return PlanRequest.model_validate(PlanRequest.model_validate(plan.request).model_dump() | fields)
    settled = settle_hardware(fields.get("hardware"), catalog)
    notes = settled.notes(settled.hardware, fields.get("tensor_parallel", 1), catalog)
    if not asking.as_json:
        tell(notes)
    fields |= {"hardware": settled.hardware, "notes": notes}
    return PlanRequest.model_validate(fields | {"model": asking.model})


def _explanation(asking: Asking) -> Explanation:
    catalog = Catalog(asking.profiles)
    plan = read_plan(Path(asking.model)) if is_plan(Path(asking.model)) else None
    settings = SettingsQuestion() if asking.layer is not None else SettingsQuestion(asking.algorithms, asking.kv)
    question = Question(asking.layer, asking.scheme, settings, plan)
    question.check()
    request = _request(asking, plan, catalog)
    with messages().status(f"analysing {request.model}"):
        analysis = api.analyze(
            request.model,
            catalog=catalog,
            revision=asking.revision or (None if plan is None else plan.model.revision),
            trust_remote_code=request.trust_remote_code,
            cache=asking.cache,
        )
    with messages().status("solving"):
        return api.explain(request, question, analysis, catalog=catalog)


def run(asking: Asking) -> None:
    """Answer on stdout; with `--json` an error becomes the document.

    Raises
    ------
    PlannerError
        If there is no answer, and no JSON was asked for.
    """
    with answering(asking.document, as_json=asking.as_json):
        answer = _explanation(asking)
    if asking.as_json:
        typer.echo(to_json(answer.model_dump(mode="json")), nl=False)
    else:
        print_explanation(answer, answers())
