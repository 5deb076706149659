"""What the parts of an inventory are made of: frozen records, types of elements, ranges of blocks."""

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

DtypeName = Literal["float64", "float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "int8", "uint8"]

DTYPE_BYTES = {
    "float64": 8,
    "float32": 4,
    "bfloat16": 2,
    "float16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int8": 1,
    "uint8": 1,
}
"""Bytes of one element by torch's name of the type."""


class Record(BaseModel):
    """A frozen part of the inventory that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class BlockRange(Record):
    """Consecutive block indices, both ends included."""

    first: int = Field(ge=0)
    last: int = Field(ge=0)

    @model_validator(mode="after")
    def _in_order(self) -> "BlockRange":
        if self.first > self.last:
            raise ValueError("a range of blocks ends before it begins")
        return self


def to_ranges(blocks: Iterable[int]) -> tuple[BlockRange, ...]:
    """Return block indices as the fewest ranges, in order."""
    ranges: list[BlockRange] = []
    for block in sorted(set(blocks)):
        if ranges and ranges[-1].last == block - 1:
            ranges[-1] = BlockRange(first=ranges[-1].first, last=block)
        else:
            ranges.append(BlockRange(first=block, last=block))
    return tuple(ranges)
