"""Patterns keep their meaning in the order of the alphabet, in which an export lists them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import PretrainedConfig

from solver.intake.inventory import LayerFamily
from solver.plan.alphabet import spelled_in_order
from solver.plan.written import QuarkPatterns
from solver.rules.units import Member

LEAVES = ("self_attn.k_proj", "self_attn.o_proj", "mlp.up_proj", "mlp.down_proj")
BLOCKS = 4
PATTERNS = (
    "*",
    "*.mlp.*",
    "*k_proj",
    "*layers.0.*",
    "*layers.[1-2].*",
    "*_proj",
    "*up_proj",
    "*mlp.down_proj",
    "*o_proj",
)


def members() -> list[Member]:
    fields = {"role": "o", "in_features": 64, "out_features": 64, "blocks": [{"first": 0, "last": BLOCKS - 1}]}
    families = [LayerFamily.model_validate({"name": f"model.layers.{{block}}.{leaf}", **fields}) for leaf in LEAVES]
    return [Member(family, block) for family in families for block in range(BLOCKS)]


def on_disk(patterns: QuarkPatterns) -> QuarkPatterns:
    """Return patterns as `config.json` keeps them: transformers writes it."""
    config = PretrainedConfig(layer_quant_config=dict(patterns.layer_quant_config))
    entries = json.loads(config.to_json_string(use_diff=False))["layer_quant_config"]
    return QuarkPatterns(patterns.global_scheme, patterns.exclude_layers, entries)


def meaning(patterns: QuarkPatterns) -> list[str]:
    return [patterns.scheme_of(member) for member in members()]


def test_transformers_does_not_keep_the_order() -> None:
    patterns = QuarkPatterns("fp8", (), {"*mlp.up_proj": "mxfp4", "*layers.0.*": "ptpc_fp8"})
    assert meaning(on_disk(patterns)) != meaning(patterns)


@given(
    entries=st.lists(st.sampled_from(PATTERNS), unique=True).flatmap(
        lambda chosen: st.tuples(*(st.tuples(st.just(item), st.sampled_from(["a", "b", "c"])) for item in chosen))
    ),
    exclude=st.sampled_from([(), ("*o_proj",), ("*layers.1.*",)]),
)
def test_any_list_means_the_same_on_disk(entries: tuple[tuple[str, str], ...], exclude: tuple[str, ...]) -> None:
    patterns = QuarkPatterns("g", exclude, dict(entries))
    spelled = spelled_in_order(patterns, members())
    assert list(spelled.layer_quant_config) == sorted(spelled.layer_quant_config)
    assert meaning(on_disk(spelled)) == meaning(spelled) == meaning(patterns)
    assert len(spelled.layer_quant_config) == len(entries)


@pytest.mark.parametrize(
    ("entries", "spelled"),
    [
        ({"*layers.0.*": "a", "*mlp.*": "b"}, ["*layers.0.*", "*mlp.*"]),
        ({"*mlp.up_proj": "a", "*layers.0.*": "b"}, ["**mlp.up_proj", "*layers.0.*"]),
        ({"*mlp.up_proj": "a", "*layers.0.*": "a"}, ["*layers.0.*", "*mlp.up_proj"]),
        ({"*o_proj": "a", "*k_proj": "b"}, ["*k_proj", "*o_proj"]),
    ],
)
def test_an_asterisk_is_written_only_where_the_order_matters(entries: dict[str, str], spelled: list[str]) -> None:
    assert list(spelled_in_order(QuarkPatterns("g", (), entries), members()).layer_quant_config) == spelled
