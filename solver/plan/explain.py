"""Why not this scheme for this layer: which rules refuse it, and what insisting on it costs."""

from collections import Counter
from dataclasses import dataclass

from solver.catalog import NATIVE, Catalog
from solver.catalog.scheme import Scheme
from solver.errors import BadInputError
from solver.intake.analysis import ModelAnalysis
from solver.intake.inventory import Inventory
from solver.optimize.problem import RISK_STEPS_PER_NAT, Vector
from solver.plan.context import Context, resolve
from solver.plan.document import QuantPlan
from solver.plan.explain_settings import SettingsQuestion, answer_settings
from solver.plan.explanation import Explanation, Outcome, RuleVerdict, SchemeAnswer, SchemeRow
from solver.plan.insistence import Safest, insist, solved_or_why
from solver.plan.patterns import QuarkPatterns
from solver.plan.pins import case_of
from solver.plan.planner import service_part
from solver.plan.problems import costs_of
from solver.plan.request import PlanRequest
from solver.plan.subject import Subject, find_subject, layer_parts, unit_parts
from solver.plan.verdicts import needed, verdicts
from solver.rules.options import refusals
from solver.rules.patterns import matches
from solver.rules.settings import Settings

_NO_SUBJECT = Subject((), (), ())
_NO_SETTINGS = SettingsQuestion()


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: about layers, about settings, or both; None was not asked about.

    Parameters
    ----------
    layer
        A path, a glob, or the name of a role.
    scheme
        A scheme for these layers, or `native`; None asks what they may have.
    settings
        Algorithms and a KV cache.
    written
        A plan whose own choice for these layers is told besides.
    """

    layer: str | None = None
    scheme: str | None = None
    settings: SettingsQuestion = _NO_SETTINGS
    written: QuantPlan | None = None

    def check(self) -> None:
        """Raise if nothing is asked.

        Raises
        ------
        BadInputError
            If no layer and no setting is named, or a scheme without a layer.
        """
        if self.layer is None and self.scheme is not None:
            raise BadInputError(
                "a scheme is asked about, and no layer.",
                where=f"--scheme {self.scheme}",
                mend="Name one with --layer; `--layer '*'` means all.",
            )
        if self.layer is None and not self.settings:
            raise BadInputError("nothing is asked about.", mend="Name --layer, --algorithm or --kv.")


def scheme_verdicts(subject: Subject, scheme: Scheme, context: Context) -> tuple[RuleVerdict, ...]:
    """Return every rule that refuses a scheme for the units asked about."""
    found = [refusal for family in subject.families for refusal in refusals(case_of(context, family, scheme))]
    return verdicts(found, context.catalog)


def _cost(subject: Subject, name: str, context: Context, settings: Settings) -> Vector:
    """Return bytes on a device, risk steps and decode ticks of the units asked about under one scheme."""
    scheme = None if name == NATIVE else context.catalog.schemes.get(name)
    return costs_of(context).of([member for unit in subject.units for member in unit.members], scheme, settings)


def _rows(subject: Subject, context: Context, settings: Settings) -> tuple[SchemeRow, ...]:
    rows = []
    for name in (NATIVE, *(scheme.name for scheme in context.catalog.schemes)):
        against = () if name == NATIVE else scheme_verdicts(subject, context.catalog.schemes.get(name), context)
        # The rule that is hardest to set aside decides.
        first = next((verdict for verdict in against if verdict.yields_to == needed(against)), None)
        cost = None if needed(against) == "nothing" else _cost(subject, name, context, settings)
        rows.append(
            SchemeRow(
                scheme=name,
                refusal=first,
                weights_bytes=None if cost is None else cost[0],
                delta_nll=None if cost is None else cost[1] / RISK_STEPS_PER_NAT,
            )
        )
    return tuple(rows)


def _beaten_by(subject: Subject, name: str, context: Context, settings: Settings) -> str | None:
    """Return the allowed scheme of least loss that is no worse in anything and better in something, or None."""
    own = _cost(subject, name, context, settings)
    better = []
    for scheme in context.catalog.schemes:
        if scheme.name != name and not scheme_verdicts(subject, scheme, context):
            cost = _cost(subject, scheme.name, context, settings)
            if cost != own and all(map(int.__le__, cost, own)):
                better.append((cost[1], cost[0], scheme.name))
    return min(better)[2] if better else None


def _pinned(subject: Subject, name: str, request: PlanRequest) -> PlanRequest:
    """Return a request that insists on a scheme for these layers, before all that it insists on already."""
    pins = dict.fromkeys(subject.patterns, name)
    layers = pins | {pattern: scheme for pattern, scheme in request.layers.items() if pattern not in pins}
    held = [member for unit in subject.units for member in unit.members]
    exclude = tuple(p for p in request.exclude if not any(matches(p, m.family, m.block) for m in held))
    return request.model_copy(update={"layers": layers, "exclude": exclude})


def _answer_scheme(
    subject: Subject, asked: str, context: Context, safest: Safest | None, optimum: Outcome
) -> SchemeAnswer:
    name = NATIVE if asked == NATIVE else context.catalog.schemes.get(asked).name
    against = () if name == NATIVE else scheme_verdicts(subject, context.catalog.schemes.get(name), context)
    needs = needed(against)
    beaten = None if needs == "nothing" else _beaten_by(subject, name, context, _settings(safest))
    if optimum.plan is not None and set(optimum.plan.given) == {name}:
        insisted: Outcome | None = optimum
    else:
        insisted = insist(_pinned(subject, name, context.request), needs, context, subject.members)
    return SchemeAnswer(scheme=name, refusals=against, needs=needs, beaten_by=beaten, insisted=insisted)


def _settings(safest: Safest | None) -> Settings:
    return Settings((), None) if safest is None else safest.point.problem.settings


def _written(subject: Subject, plan: QuantPlan | None) -> dict[str, int] | None:
    """Return how many of these layers have each scheme under the patterns of a plan."""
    if plan is None:
        return None
    patterns = QuarkPatterns(plan.global_scheme, plan.exclude_layers, plan.layer_quant_config)
    counts: Counter[str] = Counter()
    for member in subject.members:
        counts[patterns.scheme_of(member) if member.family.quantizable else NATIVE] += member.layers
    return dict(counts)


def explain(
    request: PlanRequest, analysis: ModelAnalysis, inventory: Inventory, catalog: Catalog, question: Question
) -> Explanation:
    """Return why some layers may not have a scheme, or what they may have; and the same of settings.

    Raises
    ------
    BadInputError
        If nothing is asked, or `question.layer` matches no layer.
    UnknownNameError
        If a name is not known.
    """
    question.check()
    context = resolve(question.settings.left_open(request), analysis, inventory, catalog)
    subject = _NO_SUBJECT if question.layer is None else find_subject(question.layer, context)
    if question.scheme not in {None, NATIVE}:
        catalog.schemes.get(str(question.scheme))  # an unknown name before the slow part
    question.settings.check(catalog)
    safest, optimum = solved_or_why(context, subject.members)
    asks_all = question.layer is not None and question.scheme is None
    return Explanation(
        request=request.document(),
        model=analysis.model.model_path,
        model_type=analysis.model.model_type,
        service=service_part(context),
        layer=question.layer,
        layers=layer_parts(subject, context),
        units=unit_parts(subject, context),
        optimum=optimum,
        written=_written(subject, question.written) if question.layer is not None else None,
        scheme=None if question.scheme is None else _answer_scheme(subject, question.scheme, context, safest, optimum),
        schemes=_rows(subject, context, _settings(safest)) if asks_all else (),
        settings=answer_settings(question.settings, context, optimum),
        assumptions=context.assumptions,
    )
