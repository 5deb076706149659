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


class Reader(Profile):
    """A reader takes the first pattern that matches a layer, by fnmatch, as Quark does.

    Excluded layers are listed by their full names in an export. Modules that the stack fuses are looked up by the names
    of their parts, which must agree; experts by the module that holds them all.
    """

    renames: tuple[Rename, ...] = ()
    source: str = Field(min_length=3)
