"""Parts of a model beside the type that a translation reads it as: encoders, projectors, learned separators."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from solver.catalog.base import Profile
from solver.catalog.model_tensor import ModelTensor


def field_at(config: Mapping[str, Any], path: str) -> Any:
    """Return the field of a configuration at a path with dots, or None where it is left out."""
    value: Any = config
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


class PartTensor(ModelTensor):
    """A tensor that no class of transformers has, or the weight (out, in) of a linear layer of that name."""

    linear: bool = False
    bias: bool = Field(default=False, description="whether the linear layer has a bias too")
    buffer: bool = Field(default=False, description="whether it is a buffer that the checkpoint stores, no parameter")

    @model_validator(mode="after")
    def _a_linear_layer_is_a_matrix(self) -> Self:
        if self.linear and len(self.shape) != 2:
            raise ValueError(f"{self.name}: the weight of a linear layer has two axes")
        if self.bias and not self.linear:
            raise ValueError(f"{self.name}: only a linear layer has a bias")
        if self.buffer and self.linear:
            raise ValueError(f"{self.name}: the weight of a linear layer is no buffer")
        return self


class BuiltPart(Profile):
    """A part of the model as transformers builds it alone, and tensors beside it."""

    model_type: str = Field(description="model type of transformers")
    architecture: str | None = Field(default=None, description="class of transformers that AutoModel does not find")
    path: str = Field(description="what the names of the part begin with in the real model, without the last dot")
    own_names: bool = Field(
        default=True, description="whether its modules are called as in the real model, else named together by a glob"
    )
    when: dict[str, tuple[Any, ...]] = Field(
        default_factory=dict, description="fields with dots: the values for which the part is known, null if left out"
    )
    same: tuple[str, ...] = Field(
        default=(), description="fields with dots that have one value where the part is known"
    )
    config: dict[str, Any] = Field(default_factory=dict, description="its configuration, unless the file states it")
    fields: dict[str, str] = Field(
        default_factory=dict, description="fields of its configuration: fields of the file that state them, with dots"
    )
    tensors: tuple[PartTensor, ...] = Field(default=(), description="beside the part, under their whole names")

    def fits(self, config: Mapping[str, Any]) -> bool:
        """Return whether a file describes this part."""
        agreed = {repr(field_at(config, path)) for path in self.same}
        return len(agreed) <= 1 and all(field_at(config, path) in values for path, values in self.when.items())

    def configured(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the configuration of the part in the model that a file describes."""
        stated = {name: field_at(config, path) for name, path in self.fields.items()}
        return {**self.config, **{name: value for name, value in stated.items() if value is not None}}
