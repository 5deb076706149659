"""What Quark makes of the layers that feed an fp8 cache; `tests/quark/test_verify.py` asks Quark itself."""

import pytest

from solver.catalog import NATIVE
from solver.rules.kv_entries import kv_schemes

LEAVES = ("*k_proj", "*v_proj")
PATHS = ("*self_attn.k_proj", "*self_attn.v_proj")


@pytest.mark.parametrize(
    ("patterns", "entries", "excludes", "expected"),
    [
        (LEAVES, {}, (), ["fp8", "fp8"]),
        (LEAVES, {"*k_proj": "int8"}, (), ["int8", "fp8"]),
        # Any entry of attention layers is the base of those that no entry names.
        (LEAVES, {"*self_attn.q_proj": "int8"}, (), ["int8", "int8"]),
        (LEAVES, {"*self_attn.q_proj": "int8", "*v_proj": "mxfp4"}, (), ["int8", "mxfp4"]),
        # Quark's own entry for the first pattern names attention, and so decides the second.
        (PATHS, {"*k_proj": "int8"}, (), ["int8", "int8"]),
        (PATHS, {"*k_proj": "int8", "*v_proj": "fp8"}, (), ["int8", "fp8"]),
        (PATHS, {"*k_proj": "int8"}, ("*k_proj",), [NATIVE, "fp8"]),
        (LEAVES, {}, ("model.layers.0.self_attn.k_proj",), ["fp8", "fp8"]),
    ],
)
def test_is_one_scheme_for_each_pattern(
    patterns: tuple[str, ...], entries: dict[str, str], excludes: tuple[str, ...], expected: list[str]
) -> None:
    assert list(kv_schemes(patterns, entries, "fp8", excludes).values()) == expected
