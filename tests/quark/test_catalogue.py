"""The profiles say of AMD Quark what the installed package does, as `solve doctor` compares them."""

from typing import Any

import pytest

from solver.catalog import Catalog
from solver.quark.drift import drift_between
from solver.quark.facts import QuarkFacts, read_facts

pytestmark = pytest.mark.usefixtures("quark")


@pytest.fixture(scope="module")
def facts(quark: Any) -> QuarkFacts:
    """Return what the installed package declares."""
    return read_facts()


def test_nothing_is_new_gone_or_otherwise(catalog: Catalog, facts: QuarkFacts) -> None:
    assert drift_between(catalog, facts) == ()


def test_everything_that_quark_declares_was_compared(facts: QuarkFacts, quark: Any) -> None:
    templates = quark.LLMTemplate
    assert set(facts.schemes) == set(templates.get_supported_schemes())
    assert set(facts.templates) == set(templates.list_available())
    assert (len(facts.schemes), len(facts.templates), len(facts.algorithms)) == (28, 51, 9)
    assert [name for name, scheme in facts.schemes.items() if scheme.undescribed or scheme.weight is None] == []
    assert facts.kv_schemes == ("fp8",)


def test_formats_are_as_their_names_say(facts: QuarkFacts) -> None:
    """By names alone: groups, and whether inputs are left alone, as in `wo` for weights only."""
    for name, scheme in facts.schemes.items():
        assert scheme.weight is not None
        assert (scheme.activation is None) == ("_wo_" in name or name.endswith("weight_only")), name
        group = name.rsplit("_", 1)[-1].removeprefix("g")
        if name.startswith(("int4_w", "uint4_w")) and group.isdecimal():
            assert scheme.weight.group_size == int(group)
        assert (scheme.weight.symmetric is False) == name.startswith("uint4"), name
    per_token = {
        name
        for name, scheme in facts.schemes.items()
        if scheme.activation and scheme.activation.granularity == "per_token"
    }
    assert per_token == {"ptpc_fp8"}
