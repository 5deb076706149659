"""How a serving stack reads the patterns of Quark's exports."""

from typing import Literal

from pydantic import Field

from solver.catalog.base import Profile


class Rename(Profile):
    """A part of module paths that the stack looks layers up by under another name.

    `renames_entries` says which entries of the configuration the stack renames alike: those that hold the part
    `anywhere`, patterns among them; those that begin with it (`prefix`), and so names but no pattern that begins with
    `*`; or `none`, so that an excluded layer is not known for one.
    """

    model_types: tuple[str, ...]
    part: str = Field(min_length=1)
    read_as: str
    renames_entries: Literal["anywhere", "prefix", "none"]


class GlobalOnly(Profile):
    """Layers to which the stack gives the global scheme, whatever the patterns say; excluded ones stay native."""

    model_types: tuple[str, ...]
    leaves: tuple[str, ...] = Field(description="last parts of their module paths")
    source: str = Field(min_length=3)


class Unloaded(Profile):
    """Layers whose weights the stack looks for under other names than those of Quark's exports."""

    model_types: tuple[str, ...]
    part: str = Field(min_length=1, description="part of their module paths")
    wanted: str = Field(description="what the stack expects in its place")
    source: str = Field(min_length=3)


class MethodRow(Profile):
    """What the stack makes of a scheme: its keys of weight and activation, and the methods that run it."""

    schemes: tuple[str, ...]
    weight: str
    activation: str | None = None
    dense: str | None = Field(default=None, description="method for linear layers; none if it refuses them")
    experts: str | None = Field(default=None, description="method for experts; none if it refuses them")


class Reader(Profile):
    """A reader takes the first pattern that matches a layer, by fnmatch, as Quark does.

    Excluded layers are listed by their full names in an export. Modules that the stack fuses are looked up by the names
    of their parts, which must agree; experts by the module that holds them all.
    """

    renames: tuple[Rename, ...] = ()
    global_only: tuple[GlobalOnly, ...] = ()
    unloaded: tuple[Unloaded, ...] = ()
    methods: tuple[MethodRow, ...] = Field(default=(), description="where its loader was asked; others it refuses")
    source: str = Field(min_length=3)
