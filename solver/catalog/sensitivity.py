"""Priors of the risk model: how much each kind of layer matters, before anything is measured."""

from pydantic import Field

from solver.catalog.base import Profile, Quantity
from solver.catalog.scheme import Distribution


class RolePrior(Profile):
    """Multiplier of a role's sensitivity, and of what noise on its input costs."""

    weight: float
    activation: float = 1.0
    per_set: bool = Field(default=False, description="the figure holds for all experts of a block together")


class DepthPrior(Profile):
    """Multiplier for some roles in a part of the depth, as fractions of the number of blocks."""

    roles: tuple[str, ...]
    first: float = 0.0
    last: float = 0.0
    multiplier: float


class KvPrior(Profile):
    """Risk of an 8-bit KV cache."""

    fp8: Quantity
    long_context_tokens: int
    long_context_multiplier: float


class Sensitivity(Profile):
    """One set of priors."""

    name: str
    summary: str
    total: Quantity
    """Sum of all layers' sensitivities: nats per unit of relative squared error."""
    model_types: dict[str, float] = Field(default_factory=dict)
    weight_mix: dict[Distribution, float]
    activation_mix: dict[Distribution, float]
    roles: dict[str, RolePrior]
    depth: tuple[DepthPrior, ...]
    activation_scale: dict[str, float] = Field(description="by scheme: cost of input noise over weight noise")
    kv: KvPrior
    band: float = Field(gt=1, description="the risk lies between 1/band and band times the estimate")
    source: str
