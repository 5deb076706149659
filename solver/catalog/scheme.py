"""Quantization schemes of AMD Quark: what they quantize, what they store, how much noise they add."""

import re
from math import prod
from typing import Literal

from pydantic import Field, GetJsonSchemaHandler, field_validator, model_serializer, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from solver.catalog.base import Profile
from solver.units import ceil_div

Distribution = Literal["gauss", "laplace", "student5", "outlier"]
StoredType = Literal[
    "I64", "I32", "U32", "F32", "BF16", "F16", "I8", "U8", "F8_E4M3", "F8_E5M2", "F8_E8M0", "model"
]  # fmt: skip

_STORED_BYTES: dict[str, int] = {
    "I64": 8,
    "I32": 4,
    "U32": 4,
    "F32": 4,
    "BF16": 2,
    "F16": 2,
    "I8": 1,
    "U8": 1,
    "F8_E4M3": 1,
    "F8_E5M2": 1,
    "F8_E8M0": 1,
}
_DIMENSION = re.compile(r"(?:(?P<factor>\d+)\*)?(?P<axis>in\*out|in|out)(?:/(?P<divisor>\d+))?")


class Dimension(Profile):
    """One axis of a stored tensor: `ceil(factor * axis / divisor)`, written `3*in/4`, or a number of its own."""

    axis: Literal["in", "out", "in*out", "1"]
    factor: int = Field(default=1, gt=0)
    divisor: int = Field(default=1, gt=0)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema of the written form."""
        written = {"type": "string", "pattern": r"^((\d+\*)?(in|out|in\*out)(/\d+)?|\d+)$"}
        return {"anyOf": [written, {"type": "integer", "exclusiveMinimum": 0}], "description": cls.__doc__}

    @model_serializer
    def _written(self) -> str:
        if self.axis == "1":
            return str(self.factor)
        factor = f"{self.factor}*" if self.factor != 1 else ""
        return f"{factor}{self.axis}" + (f"/{self.divisor}" if self.divisor != 1 else "")

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, value: object) -> object:
        if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()):
            return {"axis": "1", "factor": value}
        if not isinstance(value, str):
            return value
        match = _DIMENSION.fullmatch(value)
        if match is None:
            raise ValueError(f"{value!r} is not a dimension; write for example in, out/8, 3*in/4 or 16")
        return {key: part for key, part in match.groupdict().items() if part is not None}

    def size(self, in_features: int, out_features: int) -> int:
        """Return the length of the axis for a weight of shape (out_features, in_features)."""
        lengths = {"in": in_features, "out": out_features, "in*out": in_features * out_features, "1": 1}
        return ceil_div(self.factor * lengths[self.axis], self.divisor)


class StoredTensor(Profile):
    """A tensor that is written for one quantized layer; without a shape it is a scalar."""

    name: str
    dtype: StoredType
    shape: tuple[Dimension, ...] = ()

    def elements(self, in_features: int, out_features: int) -> int:
        """Return the elements of this tensor as it is stored; packed ones count by their words."""
        return prod(dimension.size(in_features, out_features) for dimension in self.shape)

    def size_bytes(self, in_features: int, out_features: int, model_dtype_bytes: int) -> int:
        """Return the bytes of this tensor; `model_dtype_bytes` is what `model` stands for."""
        element = model_dtype_bytes if self.dtype == "model" else _STORED_BYTES[self.dtype]
        return self.elements(in_features, out_features) * element


class TensorFormat(Profile):
    """How one operand of the matrix product is represented."""

    format: str
    bits: float = Field(gt=0)
    granularity: Literal["per_tensor", "per_channel", "per_token", "per_group"]
    group_size: int | None = None
    symmetric: bool = True
    dynamic: bool | None = None

    @model_validator(mode="after")
    def _group_named(self) -> "TensorFormat":
        if (self.granularity == "per_group") != (self.group_size is not None):
            raise ValueError("group_size belongs to granularity per_group, and only there")
        return self


class Noise(Profile):
    """Relative squared error of quantizing, E|x - q(x)|^2 / E|x|^2, by distribution of x."""

    weight: dict[Distribution, float]
    activation: dict[Distribution, float] | None = None
    unit: Literal["1"]
    source: str

    @field_validator("weight", "activation")
    @classmethod
    def _not_negative(cls, value: dict[str, float] | None) -> dict[str, float] | None:
        if value is not None and any(error < 0 for error in value.values()):
            raise ValueError("a squared error is not negative")
        return value


class Scheme(Profile):
    """One scheme name of AMD Quark 0.13."""

    name: str
    aliases: tuple[str, ...] = ()
    summary: str
    family: str
    weight: TensorFormat
    activation: TensorFormat | None = None
    storage: tuple[StoredTensor, ...] = ()
    storage_source: str | None = None
    not_exportable: str | None = Field(default=None, description="why Quark cannot write it, if it cannot")
    unfit: str | None = Field(default=None, description="why no plan should choose it, if none should")
    unmeasured: str | None = Field(
        default=None,
        description="why its bytes or its noise are not known, if they are not: nothing can be planned with it",
    )
    in_features_multiple: int = Field(default=1, description="what in_features must be divisible by")
    elements_multiple: int = Field(default=1, description="what in_features * out_features must be divisible by")
    spoils_as_global: tuple[str, ...] = Field(
        default=(), description="scheme families that lose their weights beside this one as global scheme"
    )
    noise: Noise

    @model_validator(mode="after")
    def _measured_or_said(self) -> "Scheme":
        if self.unmeasured is None and not self.noise.weight:
            raise ValueError("noise.weight is empty, and `unmeasured` does not say why")
        return self

    @property
    def weight_only(self) -> bool:
        """Whether activations stay in the model's own type."""
        return self.activation is None

    @property
    def usable(self) -> bool:
        """Whether a plan may choose this scheme at all."""
        return self.not_exportable is None and self.unfit is None and self.unmeasured is None

    def packs(self, in_features: int, out_features: int) -> bool:
        """Return whether Quark can pack a layer of this shape; else it stops at the whole model."""
        return in_features % self.in_features_multiple == 0 and (
            in_features * out_features % self.elements_multiple == 0
        )

    def size_bytes(self, in_features: int, out_features: int, model_dtype_bytes: int) -> int:
        """Return the bytes that Quark's export writes for one layer of this shape, its bias left out."""
        return sum(tensor.size_bytes(in_features, out_features, model_dtype_bytes) for tensor in self.storage)
