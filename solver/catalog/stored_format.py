"""Formats of checkpoints that are quantized already: how each is recognized, and what one weight becomes in it."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, model_validator

from solver.catalog.base import Profile
from solver.catalog.roles import RoleKind
from solver.catalog.scheme import StoredTensor

Scalar = bool | int | float | str | None
Conditions = dict[str, Scalar | tuple[Scalar, ...]]


def _keeps(found: Any, wanted: Scalar | tuple[Scalar, ...]) -> bool:
    if isinstance(wanted, tuple):
        return any(_keeps(found, value) for value in wanted)
    if isinstance(found, str) and isinstance(wanted, str):
        return found.lower() == wanted.lower()
    return type(found) is type(wanted) and bool(found == wanted)


class FileToFile(Profile):
    """Whether Quark's file-to-file mode turns this format into another without loading the model."""

    reads: bool
    condition: str | None = Field(default=None, description="what it needs, in a few words")
    source: str


class Variant(Profile):
    """What one format of a family has of its own."""

    name: str
    title: str
    recognized: Conditions
    storage: tuple[StoredTensor, ...] = ()
    storage_of: str | None = None


class StoredFormat(Profile):
    """One format, or a family of formats that are alike but for what each of its `variants` states.

    A weight of (out, in) becomes the tensors of `storage`, or of a scheme of Quark's. `recognized` holds conditions
    that must all be kept: fields of the configuration's statement by their dotted path, `config.` before those of the
    model's own configuration; a list is any of its values, null a field that is missing.
    """

    name: str
    title: str
    recognized: Conditions = Field(default_factory=dict)
    layers: tuple[RoleKind, ...] = Field(description="kinds of layers that it covers unless it names each")
    excludes: tuple[str, ...] = Field(default=(), description="fields of the statement that list what it leaves out")
    never: tuple[str, ...] = Field(default=(), description="globs of layers that it leaves out without listing them")
    storage: tuple[StoredTensor, ...] = ()
    storage_of: str | None = Field(default=None, description="scheme of Quark's whose storage it has")
    kept: bool = Field(
        default=False,
        description="whether Quark writes layers that a plan leaves out in this format again "
        "(amd-quark 0.13, torch/export/prequantized_layer_handler.py)",
    )
    file2file: FileToFile | None = None
    source: str
    variants: tuple[Variant, ...] = Field(default=(), description="formats that differ in these fields alone")

    @model_validator(mode="after")
    def _whole(self) -> "StoredFormat":
        for item in self.variants or (self,):
            if bool(item.storage) == (item.storage_of is not None):
                raise ValueError(f"{item.name} needs either storage or storage_of")
            if not item.recognized:
                raise ValueError(f"{item.name} needs conditions that it is recognized by")
        if self.variants and (self.recognized or self.storage or self.storage_of):
            raise ValueError("a family leaves recognized, storage and storage_of to its variants")
        return self

    @property
    def aliases(self) -> tuple[str, ...]:
        """The names under which its variants are found."""
        return tuple(variant.name for variant in self.variants)

    @property
    def formats(self) -> tuple["StoredFormat", ...]:
        """Its variants, each with what they share; of a format without variants itself."""
        if not self.variants:
            return (self,)
        return tuple(self.model_copy(update={**dict(variant), "variants": ()}) for variant in self.variants)

    def called(self, name: str) -> "StoredFormat | None":
        """Return the format called `name`, or None."""
        return next((item for item in self.formats if item.name == name), None)

    def specificity(self, facts: Mapping[str, Any]) -> int:
        """Return how many conditions there are if all are kept, else 0."""
        kept = all(_keeps(facts.get(field), wanted) for field, wanted in self.recognized.items())
        return len(self.recognized) if kept else 0
