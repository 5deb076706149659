"""Every rule of the catalogue is checked somewhere, and every check has its rule."""

import re
from pathlib import Path

import pytest

import solver
from solver.catalog import Catalog
from solver.catalog.paths import PROFILES_DIR
from solver.rules.machine import MACHINE_RULES
from solver.rules.options import LAYER_RULES
from solver.rules.settings import SETTINGS_RULES

CHECKS = {*LAYER_RULES, *SETTINGS_RULES, *MACHINE_RULES}
RULES = sorted(path.stem for path in (PROFILES_DIR / "rules").glob("*.yaml"))
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.parent.rglob("test_*.py"))
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in Path(solver.__file__).parent.rglob("*.py"))


def test_every_check_has_a_rule() -> None:
    assert set(RULES) >= CHECKS


@pytest.mark.parametrize("name", RULES)
class TestEveryRule:
    def test_is_named_as_its_file(self, name: str, catalog: Catalog) -> None:
        assert catalog.rules.get(name).name == name

    def test_is_cited_by_the_program(self, name: str) -> None:
        assert re.search(rf"\b{name}\b", SOURCES)

    def test_has_a_class_of_tests(self, name: str) -> None:
        words = "".join(word.capitalize() for word in name.split("-"))
        assert re.search(rf"^class Test{words}:", TESTS, re.MULTILINE)

    def test_is_one_sentence_with_a_source(self, name: str, catalog: Catalog) -> None:
        rule = catalog.rules.get(name)
        assert re.fullmatch(r"[A-Z][^.]*\.", re.sub(r"\d\.\d", "", rule.sentence))
        assert len(rule.source) > 20


def test_what_cannot_work_at_all_yields_to_nothing(catalog: Catalog) -> None:
    assert all(catalog.rules.get(name).yields_to == "nothing" for name in ("scheme-exportable", "layer-is-linear"))
    assert all(rule.yields_to == "nothing" or not rule.stands(forced=True) for rule in catalog.rules)
