"""Goals in plain words, and what Quark's own planning guide advises for them and for accelerators."""

from pydantic import Field

from solver.catalog.base import Profile


class Implied(Profile):
    """What a goal fills in where the user did not say otherwise."""

    hardware: str | None = None
    backend: str | None = None
    algorithms: tuple[str, ...] = Field(default=(), description="those that Quark configures for the model are used")


class Goal(Profile):
    """One answer to the question what matters most."""

    name: str
    summary: str = Field(min_length=3)
    recommend: tuple[str, ...] = Field(
        min_length=1, description="names of alternatives; the first that is offered and loads is recommended"
    )
    implies: Implied = Implied()
    guide_for_device: bool = Field(default=True, description="whether the guide's word on the accelerator is shown too")
    source: str = Field(min_length=3)


class GuideRow(Profile):
    """One line of the guide: for whom, which schemes, and with which algorithms."""

    says: str = Field(min_length=3, description="whom the guide addresses, in its own words")
    goals: tuple[str, ...] = ()
    hardware: tuple[str, ...] = ()
    schemes: tuple[str, ...] = Field(min_length=1, description="one of them, for all layers")
    algorithms: tuple[str, ...] = Field(default=(), description="one of them")
    optional: bool = Field(default=False, description="whether the guide leaves the algorithm to the user")

    @property
    def advice(self) -> str:
        """The advice in a few words: `int4_wo_32 with awq or gptq`."""
        algorithms = " or ".join(self.algorithms)
        with_algorithms = f"{', optionally' * self.optional} with {algorithms}" if algorithms else ""
        return f"{' or '.join(self.schemes)}{with_algorithms}"


class Guide(Profile):
    """The decision guide that ships with Quark."""

    rows: tuple[GuideRow, ...]
    source: str = Field(min_length=3)

    def rows_for(self, goal: Goal, hardware: str) -> tuple[GuideRow, ...]:
        """Return what the guide says of a goal, then of an accelerator where the goal asks for that."""
        return tuple(
            row for row in self.rows if goal.name in row.goals or (goal.guide_for_device and hardware in row.hardware)
        )
