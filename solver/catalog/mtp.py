"""Multi-token-prediction layers, which checkpoints hold and transformers does not build."""

from pydantic import Field

from solver.catalog.base import Profile
from solver.catalog.model_tensor import ModelTensor


class MtpTensor(ModelTensor):
    """A tensor of such a layer that no block has."""

    sharded: bool = Field(default=False, description="whether tensor parallelism cuts it; else every device has it")
    linear: bool = Field(
        default=False, description="whether it is stored as linear layers are: quantized, if those are"
    )


class MtpRule(Profile):
    """What the layers of some model types are made of: a copy of a block, and a few tensors of their own."""

    model_types: tuple[str, ...]
    path: str = Field(description="of the first of them in the checkpoint; {next} is the index after the last block")
    layers: str | int = Field(description="field of the configuration that counts them, or their number")
    default_layers: int = Field(default=0, description="their number where the configuration has no such field")
    like: tuple[tuple[str, ...], ...] = Field(
        default=((),),
        description="a block is copied for each entry: of those with all of its layer and MLP types, the largest",
    )
    without: tuple[str, ...] = Field(default=(), description="modules of the copied block that it lacks")
    own: tuple[str, ...] = Field(default=(), description="modules outside the blocks of which it has one of its own")
    tensors: tuple[MtpTensor, ...]
    evidence: str


class MtpRules(Profile):
    """All rules."""

    source: str
    rules: tuple[MtpRule, ...]

    def of(self, model_type: str) -> MtpRule | None:
        """Return the rule of a model type, or None."""
        return next((rule for rule in self.rules if model_type in rule.model_types), None)
