"""The rules refuse what Quark's `get_config` refuses: every scheme, algorithm and template of the catalogue."""

from typing import Any

import pytest

from solver.catalog import Catalog
from solver.intake.inventory import Inventory
from solver.rules.settings import Settings, Target, settings_refusals
from tests.conftest import Analyse

ASKED = "algorithm-is-configured"
"""The one rule that Quark's configuration checks; it finds out about the others while it quantizes."""


@pytest.fixture(scope="module")
def inventory(analyse: Analyse) -> Inventory:
    found = analyse("HuggingFaceTB/SmolLM2-135M-Instruct").inventory
    assert found is not None
    return found


class Verdicts:
    """What our rules and Quark say of one template, each scheme and each algorithm."""

    def __init__(self, catalog: Catalog, inventory: Inventory, quark: Any) -> None:
        self._catalog, self._inventory, self._quark = catalog, inventory, quark

    def ours(self, model_type: str, scheme: str, algorithms: list[str]) -> bool:
        """Return whether no rule that Quark checks beforehand forbids this."""
        target = Target(
            self._catalog.templates.get(model_type),
            self._inventory,
            self._catalog.backends.get("none"),
            None,
            frozenset({self._catalog.schemes.get(scheme).family}),
        )
        row = Settings(tuple(self._catalog.algorithms.get(name) for name in algorithms), None)
        return ASKED not in {refusal.rule for refusal in settings_refusals(row, target)}

    def theirs(self, model_type: str, **choices: Any) -> bool:
        """Return whether Quark makes a configuration of this."""
        try:
            self._quark.LLMTemplate.get(model_type).get_config(**choices)
        except (KeyError, NotImplementedError, ValueError):
            return False
        return True


@pytest.fixture
def verdicts(catalog: Catalog, inventory: Inventory, quark: Any) -> Verdicts:
    return Verdicts(catalog, inventory, quark)


def test_every_scheme_algorithm_and_template_has_the_verdict_of_quark(catalog: Catalog, verdicts: Verdicts) -> None:
    differing, refused = [], 0
    for template in catalog.templates:
        for scheme in catalog.schemes:
            for algorithms in ([], *([item.name] for item in catalog.algorithms)):
                ours = verdicts.ours(template.model_type, scheme.name, algorithms)
                theirs = verdicts.theirs(template.model_type, scheme=scheme.name, algorithm=algorithms or None)
                refused += not theirs
                if ours != theirs:
                    differing.append((template.model_type, scheme.name, algorithms, theirs))
    assert differing == []
    assert refused > 5000


@pytest.mark.parametrize(
    "algorithms", [["gptq", "awq"], ["smoothquant", "awq"], ["rotation", "gptq"], ["awq", "qronos"]]
)
def test_of_several_algorithms_each_needs_a_configuration(
    algorithms: list[str], catalog: Catalog, verdicts: Verdicts
) -> None:
    verdict = {
        template.model_type: verdicts.ours(template.model_type, "int4_wo_128", algorithms)
        for template in catalog.templates
    }
    assert verdict == {name: verdicts.theirs(name, scheme="int4_wo_128", algorithm=algorithms) for name in verdict}
    assert set(verdict.values()) == {True, False}


class TestNames:
    @pytest.mark.parametrize("name", ["int8", "int8_per_token", "fp8_per_token", "mxfp4"])
    def test_of_kv_schemes_are_those_of_quark(self, name: str, catalog: Catalog, verdicts: Verdicts) -> None:
        assert verdicts.theirs("llama", scheme="fp8", kv_cache_scheme=name) == (
            catalog.kv_schemes.find(name) is not None
        )

    def test_of_the_one_kv_scheme_is_accepted(self, verdicts: Verdicts) -> None:
        assert verdicts.theirs("llama", scheme="fp8", kv_cache_scheme="fp8")

    @pytest.mark.parametrize(
        "choices",
        [{"scheme": "nope"}, {"scheme": "fp8", "algorithm": ["quarot"]}, {"scheme": "fp8", "attention_scheme": "int8"}],
    )
    def test_that_are_not_known_are_refused(self, choices: dict[str, Any], verdicts: Verdicts) -> None:
        assert not verdicts.theirs("llama", **choices)
