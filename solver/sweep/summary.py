"""What `solve sweep --json` and `solve sweep show --json` print."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class SweepSummary(BaseModel):
    """What became of a sweep."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    output: str = Field(description="file with the rows")
    cells: int
    resumed: int = Field(description="cells that an earlier run had done")
    errors: int = Field(description="cells without a plan; their rows say why")
    rows: int


class SweepRows(BaseModel):
    """The rows of a sweep, as its file holds them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    rows: tuple[dict[str, Any], ...]
