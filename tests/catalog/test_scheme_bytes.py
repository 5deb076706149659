"""Bytes of a quantized layer: equal to what Quark writes, in closed form and in its own exports."""

from collections.abc import Callable
from fractions import Fraction
from itertools import groupby
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.catalog import Catalog
from solver.catalog.scheme import Dimension, Scheme
from tests.conftest import Analyse
from tests.data import rows

Formula = Callable[[int, int, int], int]
"""Bytes by in_features, out_features and the bytes of the model's own type."""

SCHEMES = {scheme.name: scheme for scheme in Catalog().schemes}


def words(nibbles: int) -> int:
    """Return the bytes of 4-bit numbers packed by eight into 32-bit words."""
    return 4 * ceil(nibbles / 8)


def integer_groups(size: int) -> Formula:
    return lambda i, o, s: i * words(o) + i // size * words(o) + s * (i // size) * o


def integer_rows(i: int, o: int, s: int) -> int:
    return o * words(i) + words(o) + s * o


def float_groups(bits: int, size: int, more: Callable[[int], int] = lambda s: 0) -> Formula:
    return lambda i, o, s: o * i * bits // 8 + o * ceil(i / size) + more(s)


FORMULAS: dict[str, Formula] = {
    **{f"{kind}_wo_{size}": integer_groups(size) for kind in ("int4", "uint4") for size in (32, 64, 128)},
    "int4_wa_64": integer_groups(64),
    "int4_wo_per_channel": integer_rows,
    "uint4_wo_per_channel": integer_rows,
    "int8": lambda i, o, s: o * i + 10,
    "fp8": lambda i, o, s: o * i + 2 * s,
    "ptpc_fp8": lambda i, o, s: o * i + s * o,
    "mxfp4": float_groups(4, 32),
    "mxfp4_weight_only": float_groups(4, 32),
    "mxfp4_mxfp6_e2m3": float_groups(4, 32),
    "amdfp4_g32": float_groups(4, 32),
    "mxfp4_fp8": float_groups(4, 32, lambda s: s),
    "mxfp6_e3m2": float_groups(6, 32),
    "mxfp6_e2m3": float_groups(6, 32),
    "amdfp4": float_groups(4, 16),
    "nvfp4": float_groups(4, 16, lambda s: 8),
    "fp4_block16_scale_e4m3": float_groups(4, 16, lambda s: 8),
    "amdfp4_global16": float_groups(4, 16, lambda s: 8),
    "amdfp4_global32": float_groups(4, 32, lambda s: 8),
    "int4_fp8": lambda i, o, s: o * words(i) + words(o) + 4 * o + 4,
}
"""What the exports of amd-quark 0.13 take for one linear layer, from the types and shapes of their tensors."""


class TestFormulas:
    def test_cover_every_scheme_that_is_exported(self) -> None:
        assert set(FORMULAS) == {name for name, scheme in SCHEMES.items() if scheme.storage}

    @pytest.mark.parametrize("name", FORMULAS)
    @settings(deadline=None)
    @given(multiple=st.integers(1, 300), outputs=st.integers(1, 20_000), dtype_bytes=st.sampled_from((2, 4)))
    def test_give_the_bytes_of_a_layer(self, name: str, multiple: int, outputs: int, dtype_bytes: int) -> None:
        scheme = SCHEMES[name]
        inputs = multiple * scheme.in_features_multiple
        expected = FORMULAS[name](inputs, outputs, dtype_bytes)
        assert scheme.size_bytes(inputs, outputs, dtype_bytes) == expected

    @pytest.mark.parametrize("name", FORMULAS)
    def test_hold_for_layers_beyond_32_bits(self, name: str) -> None:
        assert SCHEMES[name].size_bytes(2**20, 2**20, 2) == FORMULAS[name](2**20, 2**20, 2)

    @pytest.mark.parametrize("name", [name for name in SCHEMES if name not in FORMULAS])
    def test_give_nothing_for_what_cannot_be_exported(self, name: str) -> None:
        assert SCHEMES[name].not_exportable
        assert not SCHEMES[name].usable


class TestDimension:
    @settings(deadline=None)
    @given(
        axis=st.sampled_from(("in", "out")),
        factor=st.integers(1, 64),
        divisor=st.integers(1, 256),
        inputs=st.integers(0, 10**9),
        outputs=st.integers(0, 10**9),
    )
    def test_is_the_quotient_rounded_up(self, axis: str, factor: int, divisor: int, inputs: int, outputs: int) -> None:
        dimension = Dimension.model_validate(f"{factor}*{axis}/{divisor}")
        features = inputs if axis == "in" else outputs
        assert dimension.size(inputs, outputs) == ceil(Fraction(factor * features, divisor))

    def test_may_be_that_of_the_flat_weight_or_a_number(self) -> None:
        assert Dimension.model_validate("in*out/64").size(3, 100) == 5
        assert Dimension.model_validate(16) == Dimension.model_validate("16")
        assert Dimension.model_validate(16).size(3, 100) == 16

    @pytest.mark.parametrize("text", ["in", "out", "in/32", "out/8", "3*in/4", "2*out", "in*out/64", "16"])
    def test_is_written_as_it_was_read(self, text: str) -> None:
        dimension = Dimension.model_validate(text)
        assert str(dimension.model_dump()) == text
        assert Dimension.model_validate(dimension.model_dump()) == dimension

    @pytest.mark.parametrize("text", ["", "inn", "in /2", "in/2.5", "-1*in", "3*4", "in/0", "0*in", "in*in"])
    def test_refuses_what_is_no_axis(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"(?i)dimension"):
            Dimension.model_validate(text)


class TestExportsOfQuark:
    @pytest.mark.parametrize("row", rows("quark_exports.csv"), ids=lambda row: row["scheme"])
    def test_of_a_whole_model_have_these_bytes(self, row: dict[str, str], analyse: Analyse) -> None:
        inventory = analyse("HuggingFaceTB/SmolLM2-135M-Instruct").inventory
        assert inventory is not None
        scheme = SCHEMES[row["scheme"]]
        linears = [family for family in inventory.layers if not family.tied]
        assert sum(family.count for family in linears) == 210
        native = 2 * sum(group.elements for group in inventory.others)
        quantized = sum(
            family.count * scheme.size_bytes(family.in_features, family.out_features, 2) for family in linears
        )
        assert native + quantized == int(row["tensor_bytes"])

    def test_consist_of_these_tensors(self) -> None:
        key = ("scheme", "in_features", "out_features", "model_dtype_bytes")
        measured = [row for row in rows("quark_tensors.csv") if row["tensor"] != "refused"]
        layers = [list(layer) for _, layer in groupby(measured, lambda row: tuple(row[field] for field in key))]
        assert len(layers) > 80
        for layer in layers:
            self.assert_same(SCHEMES[layer[0]["scheme"]], layer)

    def assert_same(self, scheme: Scheme, layer: list[dict[str, str]]) -> None:
        inputs, outputs, size = (int(layer[0][field]) for field in ("in_features", "out_features", "model_dtype_bytes"))
        own_type = {2: "model", 4: "F32"}[size]
        stored = {
            tensor.name: (
                own_type if tensor.dtype == "model" else tensor.dtype,
                "x".join(str(axis.size(inputs, outputs)) for axis in tensor.shape),
                tensor.size_bytes(inputs, outputs, size),
            )
            for tensor in scheme.storage
        }
        exported = {row["tensor"]: (row["dtype"], row["shape"], int(row["bytes"])) for row in layer}
        assert stored == exported, (scheme.name, inputs, outputs)

    def test_exist_only_for_widths_that_the_scheme_takes(self) -> None:
        for row in rows("quark_tensors.csv"):
            fits = int(row["in_features"]) % SCHEMES[row["scheme"]].in_features_multiple == 0
            assert fits == (row["tensor"] != "refused"), row
