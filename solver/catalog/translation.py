"""Translations: model types that transformers cannot build, read as one that it can."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from solver.catalog.base import Profile
from solver.catalog.built_part import BuiltPart
from solver.catalog.model_tensor import ModelTensor

Derived = Annotated[str, StringConstraints(pattern=r"^(\d+\*)?[a-z_]+(/[a-z_]+)?$")]
"""A field's value by others: `name`, `4*name` or `name/other`, whole numbers only."""


class UncountedTensor(ModelTensor):
    """A tensor of each block that the type read instead does not have."""

    part: Literal["norm", "other"]


class Translation(Profile):
    """How one model type's configuration becomes that of another, and what differs all the same.

    The steps run in the order of the fields: `nested`, `rename`, `derive`, `divide`, `as_float`, `drop`, `set`,
    `inside`, `default`. Fields of nested objects are written with dots.
    """

    model_type: str
    reads_as: str = Field(description="model type of transformers whose shapes are the same")
    architecture: str | None = Field(default=None, description="class of transformers, if the type has several")
    when: dict[str, Any] = Field(default_factory=dict, description="only where these fields have these values")
    nested: str | None = Field(default=None, description="field that holds the language model's configuration")
    rename: dict[str, str] = Field(default_factory=dict)
    derive: dict[str, Derived] = Field(
        default_factory=dict, description="fields that are missing or null: what they are, for example 4*hidden_size"
    )
    divide: dict[str, int] = Field(default_factory=dict)
    as_float: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    set: dict[str, Any] = Field(default_factory=dict)
    inside: str | None = Field(default=None, description="field into which the language model's configuration goes")
    default: dict[str, Any] = Field(default_factory=dict, description="fields that are missing: what they are")
    modules: dict[str, str] = Field(
        default_factory=dict,
        description="paths of the type read instead: the paths in the real model; what falls together is fused there",
    )
    prefix: str = Field(default="", description="what the real model's paths begin with, before those of the type read")
    buffers: bool = Field(default=True, description="whether the real checkpoint has the buffers of the type read")
    uncounted: tuple[UncountedTensor, ...] = ()
    parts: tuple[BuiltPart, ...] = Field(default=(), description="parts that are built beside the type read instead")
    missing: tuple[str, ...] = Field(
        default=(), description="parts that are not built, or not where the file does not fit all of `parts`"
    )
    evidence: str = Field(description="how the result compares with published counts")
    source: str

    @property
    def note(self) -> str:
        """What an analysis says of it."""
        if self.inside is not None:
            return f"read with the language model's fields inside {self.inside}, where they belong: {self.evidence}"
        if self.reads_as == self.model_type:
            return f"read with changed fields, since transformers refuses those of the file: {self.evidence}"
        return f"read as {self.reads_as}, since transformers has no {self.model_type}: {self.evidence}"

    def parts_of(self, config: Mapping[str, Any]) -> tuple[BuiltPart, ...]:
        """Return the parts to build for a file: all of them or, where one does not fit, none."""
        return self.parts if all(part.fits(config) for part in self.parts) else ()

    def fits(self, config: Mapping[str, Any]) -> bool:
        """Return whether this translation is meant for a configuration."""
        part = config.get(self.nested) if self.nested else config
        # A part that is missing is told when it is translated.
        return not isinstance(part, Mapping) or all(part.get(name) == value for name, value in self.when.items())
