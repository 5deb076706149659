"""Rules of compatibility: what each demands, why, and what sets it aside. The checks are in `solver.rules`."""

from typing import Literal

from pydantic import Field

from solver.catalog.base import Profile

Yields = Literal["nothing", "force", "request"]


class RuleFact(Profile):
    """One rule for people: its name is what explanations and errors cite."""

    name: str = Field(pattern=r"^[a-z]+(-[a-z]+)*$")
    family: Literal["quark", "serving", "hardware", "target"]
    yields_to: Yields = Field(
        description="what sets it aside: nothing (it cannot work at all), --force, or naming the choice (a high risk)"
    )
    sentence: str = Field(description="what holds, for people")
    source: str = Field(min_length=3, description="where it was read or tried, with versions")

    def stands(self, *, forced: bool) -> bool:
        """Return whether the rule refuses even what the user insists on."""
        return self.yields_to == "nothing" or (self.yields_to == "force" and not forced)
