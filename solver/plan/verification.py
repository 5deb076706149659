"""The verdict on a written plan: what was compared, how much of it, and where it differs."""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from solver.plan.document import Part

MOST_SHOWN = 20
"""Differences that one check lists; the rest is counted."""


class Difference(Part):
    """One thing that is not as it should be."""

    where: str = Field(description="a field of the plan, a layer, or a flag")
    expected: str = Field(description="what the check came to")
    found: str = Field(description="what the plan says, or what Quark makes of it")


class Check(Part):
    """One question that was asked of a plan."""

    name: str
    verdict: Literal["holds", "differs", "left_out"]
    compared: str = Field(description="what was compared and how many, or why nothing was")
    differences: tuple[Difference, ...] = Field(default=(), description="the first ones")
    more: int = Field(default=0, description="differences beyond those listed")

    @property
    def count(self) -> int:
        """Differences in all."""
        return len(self.differences) + self.more


class Verification(Part):
    """What `solve verify --json` prints."""

    schema_version: Literal[1] = 1
    holds: bool = Field(description="whether no check found a difference")
    plan: str = Field(description="the file, or the model of a plan that is none")
    model: str
    analysed: str = Field(description="what was analysed anew")
    requires_confirmation: bool
    quark_version: str | None = Field(
        default=None, description="of the package that the plan was checked with; null if with none"
    )
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = Field(default=(), description="what is no difference and may matter")


def checked(name: str, compared: str, differences: Iterable[Difference]) -> Check:
    """Return a check with its verdict."""
    found = tuple(differences)
    return Check(
        name=name,
        verdict="differs" if found else "holds",
        compared=compared,
        differences=found[:MOST_SHOWN],
        more=max(0, len(found) - MOST_SHOWN),
    )


def left_out(name: str, why: str) -> Check:
    """Return a check that could not be made."""
    return Check(name=name, verdict="left_out", compared=why)
