"""What a user asks for, with every default that a plan records."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from solver.errors import BadInputError
from solver.optimize.groups import Granularity

BudgetScope = Literal["total", "weights"]
EvaluationIntent = Literal["none", "smoke", "full"]
CALIBRATION_DATASETS = (
    "pileval",
    "wikitext",
    "cnn_dailymail",
    "pileval_for_awq_benchmark",
    "wikitext_for_gptq_benchmark",
    "HuggingFaceH4/ultrachat_200k",
)
"""Data sets that Quark 0.13 loads; its commands also name ScienceQA, which its loader does not have."""


class Calibration(BaseModel):
    """What Quark calibrates on; the defaults are those of Quark's planning guide."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset: str = "pileval"
    num_calib_data: int = Field(default=128, gt=0)
    seq_len: int = Field(default=512, gt=0)

    @field_validator("dataset")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in CALIBRATION_DATASETS:
            raise BadInputError(
                f"unknown calibration data set {value!r}.",
                where="--calib-dataset",
                mend=f"Quark 0.13 loads {', '.join(CALIBRATION_DATASETS)}.",
            )
        return value


class PlanRequest(BaseModel):
    """One question: which model, where it runs, what it may take, what is fixed.

    `None` leaves a choice to the planner. `kv_cache_scheme` is `none`, `fp8` or open.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    hardware: str | None = Field(default=None, description="none only where the goal implies one")
    budget_bytes: int | None = Field(default=None, gt=0)
    budget_scope: BudgetScope = "total"
    backend: str | None = None
    context: int | None = Field(default=None, gt=0)
    concurrency: int = Field(default=1, gt=0)
    tensor_parallel: int = Field(default=1, gt=0)
    expert_parallel: bool = False
    mtp: Literal["drop", "keep"] = "drop"
    max_num_seqs: int | None = Field(default=None, gt=0, description="sequences that the stack batches at most")
    max_num_batched_tokens: int | None = Field(default=None, gt=0, description="tokens that it batches at most")
    kv_cache_scheme: Literal["none", "fp8"] | None = None
    algorithms: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    layers: dict[str, str] = Field(default_factory=dict, description="scheme by pattern, insisted on")
    pins: dict[str, str] = Field(default_factory=dict, description="scheme by role, insisted on")
    floors: dict[str, Annotated[float, Field(gt=0, le=64)]] = Field(
        default_factory=dict, description="bits of a weight at least, by role; native always has them"
    )
    scheme: str | None = Field(default=None, description="of all layers that may have it, insisted on")
    force: bool = Field(default=False, description="whether what only the stack refuses is kept as a risk")
    allow_emulated: bool = False
    granularity: Granularity = Field(default="unit", description="what is decided as one")
    max_overrides: int | None = Field(default=None, ge=0, description="patterns beside the global scheme at most")
    max_schemes: int | None = Field(default=None, ge=1, description="different schemes at most, native not counted")
    min_decode_tps: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="tokens of each sequence in a second, at least, by roofline",
    )
    alternatives: int | None = Field(default=None, ge=1, le=50, description="plans to pick from the front")
    faster: int = Field(default=0, ge=0, le=20, description="limits on the decoding step to seek further plans at")
    diverse: int = Field(default=0, ge=0, le=10, description="further plans that really differ from those")
    goal: str | None = Field(default=None, description="of `profiles/goals`; accuracy unless one is named")
    calibration: Calibration = Calibration()
    evaluation_intent: EvaluationIntent = "smoke"
    trust_remote_code: bool = False
    notes: tuple[str, ...] = Field(default=(), description="what is recorded first among the assumptions")
    seed: int = 0
    time_limit: float = Field(default=30.0, gt=0, description="deterministic seconds for each solve")

    @model_validator(mode="after")
    def _batch_holds_the_traffic(self) -> "PlanRequest":
        """Refuse a batch that the traffic does not fit, or that a stack would refuse when it starts."""
        sequences = self.max_num_seqs or self.concurrency
        if sequences < self.concurrency:
            raise BadInputError(
                f"{self.concurrency} sequences are in service at once, and the stack would batch {sequences}.",
                where=f"--max-num-seqs {sequences}",
                mend=f"Ask for at least {self.concurrency}, or lower --concurrency.",
            )
        tokens = self.max_num_batched_tokens
        if tokens is not None and tokens < sequences:
            raise BadInputError(
                f"a batch of {sequences} sequences has at least {sequences} tokens.",
                where=f"--max-num-batched-tokens {tokens}",
                mend=f"Ask for at least {sequences}, or batch fewer sequences.",
            )
        return self

    def document(self) -> dict[str, Any]:
        """Return the request as JSON."""
        return self.model_dump(mode="json")
