"""What all profile types share: strictness, and numbers that carry their unit and source."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Unit = Literal["B", "B/s", "FLOP/s", "1", "nat", "tokens", "s"]


class Profile(BaseModel):
    """A frozen record that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Quantity(Profile):
    """A number with its unit and the source that it was read from."""

    value: float = Field(ge=0, allow_inf_nan=False, strict=True)
    unit: Unit
    source: str = Field(min_length=3)
    note: str | None = None


class PositiveQuantity(Quantity):
    """A number that something is divided by, or that is nothing at zero."""

    value: float = Field(gt=0, allow_inf_nan=False, strict=True)


class Band(Quantity):
    """A number known only between two ends."""

    low: float = Field(ge=0, allow_inf_nan=False)
    high: float = Field(ge=0, allow_inf_nan=False)
