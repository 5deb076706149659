"""What `solve explain` answers, as a document."""

from typing import Any, Literal

from pydantic import Field

from solver.catalog.rule import Yields
from solver.plan.document import Part, ServicePart


class RuleVerdict(Part):
    """One rule that refuses what was asked, in its words for this case."""

    rule: str
    family: str = Field(description="whose limit it is: quark, serving, hardware or target")
    sentence: str
    yields_to: Yields
    source: str


class LayerPart(Part):
    """The layers of one family that the question is about."""

    name: str
    role: str
    layers: int
    out_features: int
    in_features: int
    shard_out_features: int = Field(description="of the part that one device holds")
    shard_in_features: int


class UnitPart(Part):
    """Units of one form that hold these layers: what is decided together, and by which rules."""

    name: str = Field(description="of the first one")
    units: int
    members: tuple[str, ...] = Field(description="families of layers in one unit")
    fused: bool = Field(description="whether the stack loads them as one module (rule fused-groups-share-scheme)")
    kv_patterns: tuple[str, ...] = Field(
        description="patterns by which an fp8 KV cache ties all layers that they match (rule kv-layers-share-scheme)"
    )
    native_because: str | None = Field(description="why the planner leaves them native unless told otherwise")


class PlanPart(Part):
    """The least risky plan of a request."""

    given: dict[str, int] = Field(description="how many of the layers asked about have each scheme")
    total_bytes: int
    weights_bytes: int
    delta_nll: float
    decode_seconds_per_token: float | None
    kv_cache_scheme: str | None
    algorithm: str | None
    proof: Literal["optimal", "feasible"]


class Outcome(Part):
    """The least risky plan within the budget, or why there is none."""

    status: Literal["fits", "no_plan"]
    plan: PlanPart | None = None
    why: str | None = None
    least_footprint_bytes: int | None = Field(default=None, description="of the smallest plan, where none fits")


class SchemeRow(Part):
    """One scheme for the units asked about."""

    scheme: str
    refusal: RuleVerdict | None = Field(description="the first rule against it; null where it may be chosen unasked")
    weights_bytes: int | None = Field(description="of these units on one device; null where they cannot have it")
    delta_nll: float | None = Field(description="predicted loss of these units alone, in nats per token")


class SchemeAnswer(Part):
    """Why not this scheme for these layers, and what it takes to have it."""

    scheme: str
    refusals: tuple[RuleVerdict, ...]
    needs: Yields | None = Field(description="what has it all the same: request, force, nothing; null if none refuses")
    beaten_by: str | None = Field(description="a scheme that is no worse here in bytes, loss and decoding time, if any")
    insisted: Outcome | None = Field(description="the least risky plan that has it; null where nothing helps")


class SettingAnswer(Part):
    """Why not this algorithm or KV cache, and what the plan is with it."""

    flag: str
    refusals: tuple[RuleVerdict, ...]
    needs: Yields | None
    chosen_unasked: bool = Field(description="whether the planner ever chooses it without being told")
    used: bool = Field(description="whether the optimum uses it")
    insisted: Outcome | None


class Explanation(Part):
    """What `solve explain --json` prints when there is an answer."""

    schema_version: Literal[1] = 1
    request: dict[str, Any]
    model: str
    model_type: str
    service: ServicePart
    layer: str | None = Field(description="the path, glob or role asked about; null for a question about settings")
    layers: tuple[LayerPart, ...]
    units: tuple[UnitPart, ...]
    optimum: Outcome = Field(description="without the scheme, algorithm or KV cache asked about")
    written: dict[str, int] | None = Field(
        default=None, description="how many of these layers have each scheme in the plan that was read"
    )
    scheme: SchemeAnswer | None
    schemes: tuple[SchemeRow, ...] = Field(description="all of them, where none was asked about")
    settings: tuple[SettingAnswer, ...]
    assumptions: tuple[str, ...]
