"""The docs' page of all rules: `python -m solver.report.rules_page` writes it, and a test holds the two equal."""

from pathlib import Path

from solver.catalog import Catalog
from solver.catalog.rule import RuleFact
from solver.files import write_atomic

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rules.md"
_HEAD = """# Rules of compatibility

Written by `make rules` from `profiles/rules/`. *Of* says whose limit it is. What a rule *yields to* sets it aside:
naming the choice (`--layer`, `--pin`, `--scheme`, `--algorithm`) makes it a risk of the plan, `--force` does where only
the stack refuses, and nothing helps where it cannot work at all. `solve explain` names the rules that refuse a case.

| rule | of | what holds | yields to | source |
|---|---|---|---|---|
"""
_YIELDS = {"nothing": "nothing", "force": "`--force`", "request": "naming it"}


def _cell(text: str) -> str:
    """Return a text as one cell of a table."""
    return " ".join(text.split()).replace("|", r"\|")


def _row(rule: RuleFact) -> str:
    cells = (f"`{rule.name}`", rule.family, _cell(rule.sentence), _YIELDS[rule.yields_to], _cell(rule.source))
    return f"| {' | '.join(cells)} |"


def rules_page(catalog: Catalog) -> str:
    """Return the page as Markdown."""
    return _HEAD + "\n".join(map(_row, catalog.rules)) + "\n"


if __name__ == "__main__":
    write_atomic(PAGE, rules_page(Catalog()))
