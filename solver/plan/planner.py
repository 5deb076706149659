"""The main job: from a request and an analysis to alternatives."""

from importlib.metadata import version

from solver.catalog import NATIVE, Catalog
from solver.errors import BadInputError, InfeasibleError
from solver.intake.analysis import ModelAnalysis
from solver.intake.inventory import Inventory
from solver.optimize.build import Costs, build_problem
from solver.optimize.cpsat import SolverSettings
from solver.optimize.front import exact_front, fastest, prune_rows, smallest_of_all, uniform_points
from solver.optimize.problem import RISK_STEPS_PER_NAT, Budget, Point, Problem
from solver.plan.alternatives import FASTEST, LOWEST_RISK, SMALLEST, pick
from solver.plan.choices import Choices, find_choices
from solver.plan.context import Context, resolve
from solver.plan.describe import describe
from solver.plan.document import Alternative, Answer, ModelPart, Provenance, ServicePart
from solver.plan.request import PlanRequest
from solver.rules.service import Service
from solver.rules.settings import KV_FP8, Settings, SettingsRequest, kv_refusal, legal_settings
from solver.rules.units import Partition
from solver.units import format_size, format_size_both
from solver.version import __version__

QUARK_VERSION = "0.13"
_PREFERRED = {"accuracy": LOWEST_RISK, "size": SMALLEST, "speed": FASTEST}


def provenance(request: PlanRequest, analysis: ModelAnalysis, catalog: Catalog) -> Provenance:
    """Return what an answer to this request depends on."""
    return Provenance(
        tool_version=__version__,
        profiles_sha256=catalog.fingerprint,
        ortools_version=version("ortools"),
        quark_version=QUARK_VERSION,
        transformers_version=analysis.model.transformers_version,
        seed=request.seed,
        workers=1,
        time_limit=request.time_limit,
        risk_steps_per_nat=RISK_STEPS_PER_NAT,
    )


def _costs(context: Context) -> Costs:
    return Costs(context.catalog, context.inventory, context.service, context.risk)


def _check_kv(context: Context) -> None:
    if context.request.kv_cache_scheme != KV_FP8:
        return
    hardware = context.service.hardware
    refusal = kv_refusal(context.template, context.inventory, context.service.backend, hardware.kernel_class)
    if refusal is not None:
        raise BadInputError(f"{refusal}.", where="--kv fp8", mend="Leave --kv out, or ask for `--kv none`.")


def _rows(context: Context, choices: Choices) -> list[Settings]:
    request = context.request
    asked = request.kv_cache_scheme
    return legal_settings(
        context.catalog,
        context.template,
        context.inventory,
        context.service.backend,
        context.service.hardware.kernel_class,
        frozenset(context.catalog.schemes.get(name).family for name in choices.families),
        SettingsRequest(
            algorithms=request.algorithms,
            kv_open=asked is None,
            kv_cache_scheme=None if asked in {None, "none"} else asked,
        ),
    )


def _without_native(choices: Choices) -> Choices:
    """Return the choices with native dropped wherever a unit may have another scheme."""
    allowed = {
        unit: tuple(name for name in names if name != NATIVE) or names for unit, names in choices.allowed.items()
    }
    return Choices(choices.partition, allowed, choices.excludes, choices.risks)


def unquantized_total_bytes(context: Context, choices: Choices) -> int:
    """Return the bytes on one device of the model left as it is, with a native cache."""
    members = [*choices.partition.native, *(m for unit in choices.partition.units for m in unit.members)]
    whole = Partition((), tuple(members), ())
    problem = build_problem(whole, {}, Settings((), None), _costs(context), ())
    return problem.fixed[0] + problem.service_bytes


def _problems(context: Context, choices: Choices) -> list[Problem]:
    costs = _costs(context)
    problems = [
        build_problem(choices.partition, choices.allowed, row, costs, context.template.kv_layers)
        for row in _rows(context, choices)
    ]
    usable = [problem for problem in problems if all(part.options for part in problem.classes)]
    if not usable:
        named = ", ".join(context.request.algorithms or ())
        raise BadInputError(
            f"{named} breaks every scheme that some layers are given.",
            where="--algorithm",
            mend="Leave --algorithm or the --layer pins out.",
        )
    return usable


def _infeasible(context: Context, problems: list[Problem], settings: SolverSettings) -> InfeasibleError:
    least = smallest_of_all(problems, settings)
    scope, wanted = context.budget.scope, context.budget.size_bytes
    needed = least.weights_bytes if scope == "weights" else least.total_bytes
    service = context.service
    parts = {
        "weights": least.weights_bytes,
        "KV cache": least.problem.kv_cache_bytes,
        "activations and runtime": least.problem.overhead_bytes,
    }
    bill = ", ".join(f"{name} {format_size(size)}" for name, size in parts.items())
    return InfeasibleError(
        f"no plan fits {format_size(wanted)} of {'weights' if scope == 'weights' else 'memory'}: the smallest takes "
        f"{format_size_both(needed)} on each device ({bill}).",
        least_footprint_bytes=needed,
        mend=_what_gives(service, needed, wanted, least),
    )


def _what_gives(service: Service, needed: int, wanted: int, least: Point) -> str:
    ways = [
        f"raise --budget to {format_size(needed + 10**7)}",
        f"spread with --tp {2 * service.tensor_parallel}",
    ]
    if least.problem.kv_cache_bytes > needed - wanted and service.context > 1:
        ways.append("shorten --context or lower --concurrency")
    ways.append("allow more schemes with --allow-emulated or --backend")
    return f"What would have to give: {'; or '.join(ways)}."


def recommended(alternatives: tuple[Alternative, ...], priority: str) -> int:
    """Return the number of the alternative that a priority prefers."""
    wanted = _PREFERRED[priority]
    return next((item.id for item in alternatives if wanted in item.name.split(", ")), alternatives[0].id)


def _answer(
    context: Context, choices: Choices, alternatives: tuple[Alternative, ...], *, ref: str, fits: bool
) -> Answer:
    analysis, service = context.analysis, context.service
    unquantized = unquantized_total_bytes(context, choices)
    assumptions = list(context.assumptions)
    if fits:
        assumptions.append(
            f"the unquantized model fits too ({format_size(unquantized)}): plans quantize every layer that they may"
        )
    return Answer(
        request=context.request.document(),
        model=ModelPart(
            model_type=analysis.model.model_type,
            analysis_ref=ref,
            model_path=analysis.model.model_path,
            config_sha256=analysis.model.config_sha256,
            revision=analysis.model.revision,
            trust_remote_code=context.request.trust_remote_code,
            template_builtin=context.template.builtin,
            elements_total=context.inventory.elements_total,
            unquantized_total_bytes=unquantized,
        ),
        service=ServicePart(
            hardware=service.hardware.name,
            hardware_title=service.hardware.title,
            backend=service.backend.name,
            backend_version=service.backend.version,
            context=service.context,
            concurrency=service.concurrency,
            tensor_parallel=service.tensor_parallel,
            budget_bytes=context.budget.size_bytes,
            budget_scope=context.budget.scope,
        ),
        alternatives=alternatives,
        recommended=recommended(alternatives, context.request.priority),
        assumptions=tuple(assumptions),
        missing=analysis.missing,
        provenance=provenance(context.request, analysis, context.catalog),
    )


def _fits_unquantized(context: Context, choices: Choices) -> bool:
    total = unquantized_total_bytes(context, choices)
    problem_free = Budget(total, "total")
    if context.budget.scope == "weights":
        problem_free = Budget(context.inventory.checkpoint_bytes, "weights")
    return problem_free.size_bytes <= context.budget.size_bytes


def plan(
    request: PlanRequest,
    analysis: ModelAnalysis,
    inventory: Inventory,
    catalog: Catalog,
    *,
    analysis_ref: str,
) -> Answer:
    """Return the alternatives for a request, at least one.

    Raises
    ------
    BadInputError
        If a name, a pattern or a pin cannot be used.
    InfeasibleError
        If no plan keeps the budget; it says what the least footprint is and what would have to give.
    NoAnswerError
        If no layer may be quantized at all.
    LimitReachedError
        If the time limit ended the search before it had a plan.

    """
    context = resolve(request, analysis, inventory, catalog)
    _check_kv(context)
    choices = find_choices(context)
    fits = _fits_unquantized(context, choices)
    if fits:
        choices = _without_native(choices)
    problems = prune_rows(_problems(context, choices))
    settings = SolverSettings(seed=request.seed, deterministic_seconds=request.time_limit)
    front = exact_front(problems, context.budget, settings)
    if not front:
        raise _infeasible(context, problems, settings)
    picks = pick(front, fastest(problems, context.budget, settings), uniform_points(problems, context.budget))
    alternatives = tuple(describe(number, item, choices, context) for number, item in enumerate(picks, start=1))
    return _answer(context, choices, alternatives, ref=analysis_ref, fits=fits)
