"""Known defects of AMD Quark: which versions have them, and what keeps plans from them."""

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import Field, field_validator, model_validator

from solver.catalog.base import Profile


class Defect(Profile):
    """Something that Quark does wrong, or not at all, in some versions."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    quark: str = Field(description="versions that have it, as a PEP 440 specifier; those that were tried")
    sentence: str = Field(description="what happens, for people")
    schemes: tuple[str, ...] = Field(default=(), description="schemes that it concerns")
    algorithms: tuple[str, ...] = Field(
        default=(), description="algorithms that it concerns, with these schemes if any"
    )
    model_types: tuple[str, ...] = ()
    targets: tuple[str, ...] = Field(default=(), description="targets of `solve export` that it concerns")
    unquantized_only: bool = Field(
        default=False, description="whether a checkpoint that is quantized already is spared"
    )
    rule: str | None = Field(default=None, description="name of the rule that keeps plans from it")
    instead: str | None = Field(default=None, description="what is done about it where no rule forbids it")
    source: str = Field(min_length=3)

    @field_validator("quark")
    @classmethod
    def _is_a_specifier(cls, value: str) -> str:
        try:
            SpecifierSet(value)
        except InvalidSpecifier as error:
            raise ValueError(f"no PEP 440 specifier: {error}") from error
        return value

    @model_validator(mode="after")
    def _says_what_is_done(self) -> "Defect":
        if (self.rule is None) == (self.instead is None):
            raise ValueError("either a rule keeps plans from it, or `instead` says what is done")
        return self

    @property
    def done(self) -> str:
        """What keeps plans from it, in words."""
        return f"rule {self.rule}" if self.rule else self.instead or ""

    def affects(self, version: str) -> bool:
        """Return whether a version of Quark has it."""
        return SpecifierSet(self.quark).contains(version, prereleases=True)
