"""The table of `docs/zoo.md` has every configuration, and what stands in it is what the intake counts today."""

import pytest

from bench.zoo_table import DOCUMENT, row
from tests.data.zoo import ZOO
from tests.intake.conftest import Analysed
from tests.intake.test_zoo import READABLE, REFUSED

LINES = {line.split(" | ")[0].removeprefix("| "): line for line in DOCUMENT.read_text(encoding="utf-8").splitlines()}


def test_states_the_goal_of_cost_and_that_it_is_kept() -> None:
    costs = [line.strip("| ").split(" | ") for line in LINES.values() if line.endswith("| yes |")]
    assert [(cells[0].split(" ")[0], cells[-2], float(cells[-3]) <= float(cells[-2])) for cells in costs] == [
        ("CPU", "1.3", True),
        ("MB", "1", True),
    ]
    assert "| no |" not in DOCUMENT.read_text(encoding="utf-8")


def test_has_every_configuration() -> None:
    assert set(ZOO) <= set(LINES)


@pytest.mark.parametrize("name", READABLE)
def test_shows_what_is_counted(name: str, analysed: Analysed) -> None:
    analysis = analysed(name)
    assert analysis.inventory is not None
    assert LINES[name] == row(ZOO[name], analysis.inventory, analysis.model.model_type, analysis.missing)


@pytest.mark.parametrize("name", REFUSED)
def test_says_why_a_type_is_refused(name: str) -> None:
    assert "| refused |" in LINES[name]
    assert "transformers cannot build this model" in LINES[name]
