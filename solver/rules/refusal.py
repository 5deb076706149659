"""A rule's verdict on one case, and whether the user's insistence sets it aside."""

from collections.abc import Iterable
from dataclasses import dataclass

from solver.catalog.rule import RuleFact
from solver.catalog.section import Section


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something is out: the rule's name and its sentence for this case."""

    rule: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.sentence} (rule {self.rule})"


def standing(refusals: Iterable[Refusal], rules: Section[RuleFact], *, forced: bool) -> list[Refusal]:
    """Return the refusals that hold even against what the user names, or also against `--force`."""
    return [refusal for refusal in refusals if rules.get(refusal.rule).stands(forced=forced)]
