"""`quant_plan.json` and the JSON answer: Quark's contract with our additions."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from solver.cost.footprint import Footprint
from solver.intake.analysis import Risk as RiskNote
from solver.optimize.groups import Granularity
from solver.plan.request import Calibration, EvaluationIntent

SCHEMA_VERSION = 1


class Part(BaseModel):
    """A frozen part of a document that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FootprintPart(Part):
    """Bytes on one device in service; the four parts add up to the total."""

    weights_bytes: int
    kv_cache_bytes: int
    activation_bytes: int
    activation_low_bytes: int
    activation_high_bytes: int
    runtime_bytes: int
    runtime_low_bytes: int
    runtime_high_bytes: int
    total_bytes: int

    @classmethod
    def of(cls, bill: Footprint) -> "FootprintPart":
        """Return the document of a bill."""
        return cls(
            weights_bytes=bill.weights_bytes,
            kv_cache_bytes=bill.kv_cache_bytes,
            activation_bytes=bill.activation_bytes,
            activation_low_bytes=bill.activation_low_bytes,
            activation_high_bytes=bill.activation_high_bytes,
            runtime_bytes=bill.runtime_bytes,
            runtime_low_bytes=bill.runtime_low_bytes,
            runtime_high_bytes=bill.runtime_high_bytes,
            total_bytes=bill.total_bytes,
        )


class RiskPart(Part):
    """Predicted loss in nats per token; exp(delta_nll) - 1 is the rise in perplexity."""

    delta_nll: float
    low: float
    high: float
    source: str


class ProofPart(Part):
    """`optimal`, or a bound on the objective that nothing can beat."""

    status: Literal["optimal", "feasible"]
    objective: str
    bound: float
    gap: float


class Alternative(Part):
    """One plan that is offered."""

    id: int
    name: str
    reason: str
    global_scheme: str
    kv_cache_scheme: str | None
    exclude_layers: tuple[str, ...]
    layer_quant_config: dict[str, str]
    overrides: int = Field(
        default=0, description="patterns beside the global scheme: layer_quant_config and what else is left native"
    )
    fewest_overrides: bool = Field(
        default=False, description="whether it is proven that no fewer of the patterns looked at write the plan"
    )
    algorithm: str | None
    scheme_shares: dict[str, float] = Field(description="share of the linear layers' weights under each scheme")
    footprint: FootprintPart | None = Field(description="null in a draft without an inventory")
    risk: RiskPart | None
    decode_seconds_per_token: float | None = Field(description="of one step of all sequences, estimated by roofline")
    prefill_seconds: float | None = Field(
        default=None, description="of one prompt of full length, estimated by roofline"
    )
    proof: ProofPart | None
    environment: dict[str, str] = Field(
        default_factory=dict, description="environment variables that the stack needs for these schemes"
    )
    risks: tuple[RiskNote, ...]


class StoredPart(Part):
    """How the checkpoint is quantized already."""

    method: str
    place: str
    formats: tuple[str, ...]
    file2file: bool = Field(description="whether Quark's file-to-file mode reads all of these formats")
    kv_cache: str | None = None


class ModelPart(BaseModel):
    """Which model a plan is for."""

    model_config = ConfigDict(frozen=True, extra="allow")

    model_type: str
    analysis_ref: str
    model_path: str
    config_sha256: str | None = None
    revision: str | None = None
    trust_remote_code: bool = False
    template_builtin: bool = True
    template_algorithms: tuple[str, ...] = Field(
        default=(), description="algorithms that Quark's template of the model type has settings for"
    )
    elements_total: int | None = None
    unquantized_total_bytes: int | None = Field(default=None, description="with every layer as the checkpoint holds it")
    stored: StoredPart | None = Field(default=None, description="null where the checkpoint is not quantized")


class ServicePart(Part):
    """What the plan is to serve, and where."""

    hardware: str
    hardware_title: str
    backend: str
    backend_version: str
    context: int
    concurrency: int
    tensor_parallel: int
    expert_parallel: bool = Field(default=False, description="whether devices share routed experts out whole")
    max_num_seqs: int
    max_num_batched_tokens: int
    kv_block_tokens: int
    memory_bytes: int | None = Field(description="of one device, as its driver reports it")
    export_target: str | None = Field(description="target of `solve export` that prints the serving command")
    default_memory_fraction: float = Field(description="share of a device that the stack takes unless it is told")
    budget_bytes: int
    budget_scope: Literal["total", "weights"]


class GoalPart(Part):
    """What matters most."""

    name: str
    summary: str


class Provenance(Part):
    """What produced a plan: the same of all these gives the same bytes."""

    tool: str = "quant-plan-solver"
    tool_version: str
    profiles_sha256: str
    ortools_version: str
    quark_version: str
    transformers_version: str | None
    seed: int
    workers: int
    time_limit: float
    risk_steps_per_nat: int


class FrontPart(Part):
    """The front that the alternatives were picked from: plans that none beats in bytes and predicted loss."""

    points: int
    complete: bool = Field(description="whether these are all such plans within the budget")
    interrupted: bool = Field(
        default=False, description="whether an interrupt ended the search before it had all that it seeks"
    )
    limited: bool = Field(
        default=False, description="whether the time limit ended a part of the search, or left a plan with a gap"
    )
    time_levels: int = Field(
        default=0, description="limits on the decoding step at which the least loss in the budget is sought"
    )
    rounding_nats: float = Field(default=0.0, description="what rounding losses to integers may add up to in a plan")


class SimplerPart(Part):
    """The least risky plan that is simpler, at the same budget."""

    granularity: Granularity = Field(description="what is decided as one")
    delta_nll: float | None = Field(description="null where no such plan keeps the budget")
    price_nll: float | None = Field(description="beyond the least risky plan without any such rule")


class Answer(Part):
    """What `solve --json` prints when there is an answer."""

    schema_version: Literal[1] = 1
    request: dict[str, Any]
    model: ModelPart
    service: ServicePart | None
    goal: GoalPart
    alternatives: tuple[Alternative, ...]
    recommended: int
    front: FrontPart | None = Field(default=None, description="null in a draft")
    simpler: tuple[SimplerPart, ...] = ()
    price_nll: float | None = Field(default=None, description="of the side rules asked for, at the same budget")
    assumptions: tuple[str, ...]
    missing: tuple[str, ...] = ()
    provenance: Provenance


class ErrorAnswer(Part):
    """What `solve --json` prints when there is none."""

    schema_version: Literal[1] = 1
    request: dict[str, Any]
    error: dict[str, Any]


class QuantPlan(BaseModel):
    """One chosen plan: the fields of Quark's contract first, ours after them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    model: ModelPart
    global_scheme: str
    kv_cache_scheme: str | None
    exclude_layers: tuple[str, ...]
    layer_quant_config: dict[str, str]
    algorithm: str | None
    calibration: Calibration
    evaluation_intent: EvaluationIntent
    requires_confirmation: bool
    rejected: bool = False
    chosen: int | None
    footprint: FootprintPart | None
    risk: RiskPart | None
    decode_seconds_per_token: float | None = Field(description="of one step of all sequences, estimated by roofline")
    prefill_seconds: float | None = Field(
        default=None, description="of one prompt of full length, estimated by roofline"
    )
    proof: ProofPart | None
    environment: dict[str, str] = Field(
        default_factory=dict, description="environment variables that the stack needs for these schemes"
    )
    service: ServicePart | None
    risks: tuple[RiskNote, ...]
    assumptions: tuple[str, ...]
    missing: tuple[str, ...]
    next_steps: tuple[str, ...] = Field(default=(), description="commands that carry the plan out, PLAN its file")
    request: dict[str, Any]
    provenance: Provenance
    alternatives: tuple[Alternative, ...]
