"""What a fleet is to serve and what it has: the types of `fleet.yaml`."""

import math
import re
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from solver.errors import BadInputError
from solver.units import parse_size

_LOSS = r"^\s*[0-9]+(\.[0-9]+)?\s*(%|nats)\s*$"

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]
Loss = Annotated[str, StringConstraints(pattern=_LOSS, strict=True)]


class FleetPart(BaseModel):
    """A frozen part of `fleet.yaml` that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelLoad(FleetPart):
    """One model and its traffic."""

    model: str = Field(min_length=1, description="as for `solve`: a bundled model, a folder, a config.json, a hub id")
    name: str = Field(default="", description="what answers call it; by default the end of `model`")
    requests_per_second: Positive | None = Field(default=None, description="that arrive on average")
    concurrency: int | None = Field(default=None, gt=0, strict=True, description="sequences in service at once")
    prompt_tokens: int = Field(gt=0, strict=True, description="of a request")
    output_tokens: int = Field(gt=0, strict=True, description="of its answer")
    max_risk: Loss | None = Field(
        default=None, description="predicted rise in perplexity at most (`2%`), or loss in nats per token (`0.02 nats`)"
    )
    min_tokens_per_second: Positive | None = Field(default=None, description="of output that each user gets at least")
    backend: str | None = Field(default=None, description="serving stack; by default the hardware's own")

    @model_validator(mode="before")
    @classmethod
    def _named(cls, values: object) -> object:
        if isinstance(values, dict) and isinstance(values.get("model"), str) and not values.get("name"):
            return values | {"name": values["model"].rstrip("/").rpartition("/")[2]}
        return values

    @model_validator(mode="after")
    def _has_traffic(self) -> "ModelLoad":
        if self.requests_per_second is None and self.concurrency is None:
            raise ValueError("has no traffic: give requests_per_second, concurrency, or both")
        return self

    @property
    def context(self) -> int:
        """Tokens of one sequence, prompt and answer together."""
        return self.prompt_tokens + self.output_tokens

    @property
    def most_loss(self) -> float | None:
        """The greatest predicted loss, in nats per token; a rise r in perplexity is ln(1 + r)."""
        return None if self.max_risk is None else loss_of(self.max_risk)


class NodeGroup(FleetPart):
    """Some nodes of one kind."""

    hardware: str = Field(min_length=1)
    name: str = Field(default="", description="what answers call them; by default the hardware")
    count: int = Field(default=1, gt=0, le=1000, strict=True)
    devices: int | None = Field(
        default=None, gt=0, le=64, strict=True, description="of one node; by default the hardware's usual number"
    )
    memory: str | None = Field(
        default=None, description="bytes of one device that may be used, such as `170GB`; by default the stack's share"
    )
    price_per_hour: Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)] | None = Field(
        default=None, description="of one node"
    )

    @model_validator(mode="before")
    @classmethod
    def _named(cls, values: object) -> object:
        if isinstance(values, dict) and isinstance(values.get("hardware"), str) and not values.get("name"):
            return values | {"name": values["hardware"]}
        return values

    @field_validator("memory")
    @classmethod
    def _a_size(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                parse_size(value, flag="memory")
            except BadInputError as error:
                raise ValueError(f"{error.what} {error.mend}") from error
        return value

    @property
    def memory_bytes(self) -> int | None:
        """Bytes of one device that may be used, where they are said."""
        return None if self.memory is None else parse_size(self.memory, flag="memory")


class Fleet(FleetPart):
    """Models with their traffic, and nodes."""

    schema_version: Literal[1] = 1
    models: tuple[ModelLoad, ...] = Field(min_length=1, max_length=50)
    nodes: tuple[NodeGroup, ...] = Field(min_length=1, max_length=50)

    @field_validator("models", "nodes")
    @classmethod
    def _names_differ(cls, value: tuple[ModelLoad, ...] | tuple[NodeGroup, ...]) -> object:
        names = [item.name for item in value]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{twice!r} stands twice: give each a `name` of its own")
        return value

    @property
    def priced(self) -> bool:
        """Whether every node has a price."""
        return all(group.price_per_hour is not None for group in self.nodes)


def loss_of(text: str) -> float:
    """Return the nats per token of `2%` (a rise in perplexity) or `0.02 nats`."""
    amount = float(Fraction(re.sub(r"[^0-9.]", "", text)))
    return math.log1p(amount / 100) if "%" in text else amount
