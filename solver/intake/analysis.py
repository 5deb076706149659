"""`model_analysis.json`: the contract with Quark's intake, and our inventory beside it."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from solver.intake.inventory import Difference, Inventory
from solver.intake.published import PublishedCount


class Open(BaseModel):
    """A frozen part of a contract of Quark's, which allows further properties."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Risk(Open):
    """Something that may go wrong, and what to do about it."""

    severity: Literal["low", "medium", "high"]
    message: str
    recovery_hint: str = ""


class AnalyzedModel(Open):
    """Which model was analysed."""

    model_path: str
    model_type: str
    trust_remote_code: bool = False
    transformers_version: str | None = None
    architecture: str | None = None
    read_as: str | None = Field(default=None, description="model type read instead, where transformers has no class")
    revision: str | None = None
    config_sha256: str | None = None


class QuantizationTargets(Open):
    """What Quark would quantize."""

    linear_layer_count: int = Field(ge=0)
    exclude_defaults: tuple[str, ...]
    has_non_linear_experts: bool | None = None


class ModelAnalysis(Open):
    """One analysed model. Without an inventory (Quark's own intake has none) it is partial."""

    schema_version: int = 1
    analysis_status: Literal["complete", "partial"]
    model: AnalyzedModel
    quantization_targets: QuantizationTargets
    risks: tuple[Risk, ...]
    inventory: Inventory | None = None
    published: PublishedCount | None = Field(
        default=None, description="of a bundled model's checkpoint; null where nothing is published of it here"
    )
    possible_differences: tuple[Difference, ...] = Field(
        default=(), description="what a checkpoint may hold besides, where neither headers nor a published count tell"
    )
    missing: tuple[str, ...] = Field(default=(), description="facts that could not be known")
    assumptions: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the analysis as JSON, without what is at its default and means nothing."""
        return self.model_dump(mode="json", exclude_none=True)
