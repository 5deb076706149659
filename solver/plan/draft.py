"""A draft for a model whose layers are not known: what can be said, and what is missing."""

from solver.catalog import NATIVE, Catalog
from solver.catalog.backend import Backend
from solver.catalog.hardware import Hardware
from solver.errors import NoAnswerError
from solver.intake.analysis import ModelAnalysis, Risk
from solver.plan.context import template_of
from solver.plan.document import Alternative, Answer, GoalPart, ModelPart
from solver.plan.goals import settle
from solver.plan.planner import provenance
from solver.plan.request import PlanRequest
from solver.rules.settings import KV_FP8


def _safest_scheme(catalog: Catalog, backend: Backend, hardware: Hardware) -> str:
    """Return the least noisy scheme that the stack runs natively for dense layers on this hardware."""
    native = [
        scheme
        for scheme in catalog.schemes
        if scheme.usable
        and any(
            row.support == "native"
            and "dense" in row.kinds
            and {"*", scheme.name} & set(row.schemes)
            and {"*", hardware.kernel_class} & set(row.hardware)
            for row in backend.support
        )
    ]
    prior = catalog.sensitivities.get("prior")
    if not native:
        raise NoAnswerError(
            f"{backend.title} {backend.version} runs no scheme natively on {hardware.title}.",
            mend="`--backend none` plans for the checkpoint alone.",
        )

    def noise(name: str) -> float:
        scheme = catalog.schemes.get(name)
        inputs = max(scheme.noise.activation.values()) if scheme.noise.activation else 0.0
        return max(scheme.noise.weight.values()) + prior.activation_scale.get(name, 1.0) * inputs

    return min((scheme.name for scheme in native), key=noise)


def draft_answer(request: PlanRequest, analysis: ModelAnalysis, catalog: Catalog, *, analysis_ref: str) -> Answer:
    """Return one alternative without numbers: the safest scheme, the analysis's excludes, what the user insists on.

    Raises
    ------
    NoAnswerError
        If the stack runs nothing natively on the hardware.

    """
    template = template_of(analysis, catalog)
    settled = settle(request, template, catalog)
    hardware = catalog.hardware.get(settled.hardware)
    backend = catalog.backends.get(settled.request.backend or hardware.default_backend)
    native = [pattern for pattern, scheme in request.layers.items() if scheme == NATIVE]
    pins = {pattern: catalog.schemes.get(scheme).name for pattern, scheme in request.layers.items() if scheme != NATIVE}
    algorithms = [catalog.algorithms.get(name).name for name in request.algorithms or ()]
    risk = Risk(
        severity="high",
        message=f"the analysis is partial; missing: {', '.join(analysis.missing)}",
        recovery_hint="`solve analyze MODEL -o model_analysis.json` completes it from the model's config.json",
    )
    alternative = Alternative(
        id=1,
        name="draft",
        reason="the safest scheme that the stack runs natively; nothing is known of the layers",
        global_scheme=_safest_scheme(catalog, backend, hardware),
        kv_cache_scheme=KV_FP8 if request.kv_cache_scheme == KV_FP8 else None,
        exclude_layers=(*analysis.quantization_targets.exclude_defaults, *request.exclude, *native),
        layer_quant_config=pins,
        algorithm=",".join(algorithms) or None,
        scheme_shares={},
        footprint=None,
        risk=None,
        decode_seconds_per_token=None,
        prefill_seconds=None,
        proof=None,
        risks=(risk, *analysis.risks),
    )
    return Answer(
        request=request.document(),
        model=ModelPart(
            model_type=analysis.model.model_type,
            analysis_ref=analysis_ref,
            model_path=analysis.model.model_path,
            template_builtin=template.builtin,
            template_algorithms=template.algorithms,
        ),
        service=None,
        goal=GoalPart(name=settled.goal.name, summary=settled.goal.summary),
        alternatives=(alternative,),
        recommended=1,
        assumptions=(*request.notes, *settled.assumptions),
        missing=analysis.missing,
        provenance=provenance(request, analysis, catalog),
    )
