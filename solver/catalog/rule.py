"""Rules of compatibility: what each demands, why, and what sets it aside. The checks are in `solver.rules`."""

from typing import Literal

from pydantic import Field, model_validator

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
    severity: Literal["medium", "high"] | None = Field(
        default=None, description="of the risk that setting it aside is, where it yields at all"
    )
    hint: str | None = Field(default=None, description="what to do instead, where it yields at all")

    @model_validator(mode="after")
    def _says_what_yielding_risks(self) -> "RuleFact":
        yields = self.yields_to != "nothing"
        if (self.severity is not None, self.hint is not None) != (yields, yields):
            raise ValueError("severity and hint belong to rules that yield, and only there")
        return self

    def stands(self, *, forced: bool) -> bool:
        """Return whether the rule refuses even what the user insists on."""
        return self.yields_to == "nothing" or (self.yields_to == "force" and not forced)
