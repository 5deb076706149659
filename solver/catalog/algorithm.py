"""Quantization algorithms of AMD Quark and the scheme families that each fits."""

from typing import Any, Literal

from pydantic import Field

from solver.catalog.base import Profile


class Gain(Profile):
    """Multipliers on the weight and the activation part of the risk for one scheme family."""

    weight: float = 1.0
    activation: float = 1.0


class AlgorithmConfig(Profile):
    """The settings of an algorithm as Quark takes them in JSON, with the class that holds them."""

    type: str
    module: str
    name: str = Field(description="what a configuration calls the algorithm")
    fields: dict[str, tuple[Literal["string", "integer", "number", "boolean", "array", "object", "null"], ...]]
    required: tuple[str, ...] = ()
    standard: dict[str, Any] | None = Field(
        default=None, description="Quark's own for llama: of blocks whose modules are called as those of Llama"
    )

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of a configuration."""
        return {
            "type": "object",
            "properties": {"name": {"type": "string"}}
            | {name: {"type": list(kinds)} for name, kinds in self.fields.items()},
            "required": ["name", *self.required],
            "additionalProperties": False,
        }


class Algorithm(Profile):
    """One algorithm name of AMD Quark 0.13."""

    name: str
    summary: str
    offered: bool
    """Whether plans choose it unasked; the others are listed and must be named."""
    fits: tuple[str, ...]
    """Scheme families that the algorithm is made for: one of them must be in the plan."""
    breaks: tuple[str, ...] = ()
    """Scheme families that crash under it: none of them may be in the plan."""
    scales_together: tuple[tuple[str, ...], ...] = Field(
        default=(), description="roles within a module that it scales together: they have one scheme, or are native"
    )
    stops_at_native_cache_layers: bool = Field(
        default=False, description="whether it fails where layers that feed a quantized KV cache are native"
    )
    float32_scales: bool = Field(
        default=False, description="whether an export holds scales in float32 that are else in the model's own type"
    )
    requires_calibration: bool = True
    gain: dict[str, Gain] = Field(default_factory=dict)
    """By scheme family; a family that is not named gains nothing."""
    config: AlgorithmConfig | None = Field(default=None, description="its settings; null where they are not known")
    gain_confidence: Literal["measured", "published", "judgement"]
    source: str
