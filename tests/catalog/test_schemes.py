"""The schemes: all names of AMD Quark 0.13, their formats, and the noise that its own quantizers add."""

import pytest

from solver.catalog import Catalog
from solver.catalog.scheme import Scheme, TensorFormat
from tests.data import rows

NAMED = [
    *(f"{kind}_wo_{group}" for kind in ("int4", "uint4") for group in (32, 64, 128, "per_channel")),
    *("int8", "fp8", "ptpc_fp8", "int4_wa_64", "mx6", "bfp16"),
    *("mxfp4", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_mxfp6_e2m3", "mxfp4_fp8", "amdfp4", "amdfp4_g32", "nvfp4"),
]
FURTHER = ["mxfp4_weight_only", "int4_fp8", "mx9", "fp4_block16_scale_e4m3", "amdfp4_global16", "amdfp4_global32"]
NOT_EXPORTED = {"mx6", "mx9", "bfp16"}
"""Quark 0.13 quantizes with them, and fails to write the result."""

DISTRIBUTIONS = ("gauss", "laplace", "student5", "outlier")


def noise_row(scheme: str, tensor: str) -> dict[str, str] | None:
    found = [row for row in rows("noise.csv") if row["scheme"] == scheme and row["tensor"] == tensor]
    return found[0] if found else None


class TestNames:
    def test_are_the_28_of_quark(self, catalog: Catalog) -> None:
        assert len(NAMED) == 22
        assert {scheme.name for scheme in catalog.schemes} == set(NAMED) | set(FURTHER)
        assert len(catalog.schemes) == 28

    @pytest.mark.parametrize("name", NAMED + FURTHER)
    def test_are_found_exactly_as_quark_spells_them(self, catalog: Catalog, name: str) -> None:
        assert catalog.schemes.get(name).name == name


class TestUsability:
    def test_excludes_what_quark_cannot_export(self, catalog: Catalog) -> None:
        assert {scheme.name for scheme in catalog.schemes if scheme.not_exportable} == NOT_EXPORTED

    def test_excludes_what_nobody_should_choose(self, catalog: Catalog) -> None:
        unfit = {scheme.name for scheme in catalog.schemes if scheme.unfit}
        assert unfit == {"fp4_block16_scale_e4m3", "amdfp4_global16", "amdfp4_global32"}

    def test_needs_a_storage_with_its_source(self, catalog: Catalog) -> None:
        for scheme in catalog.schemes:
            assert bool(scheme.storage) == (scheme.not_exportable is None), scheme.name
            assert bool(scheme.storage_source) == bool(scheme.storage), scheme.name


class TestGroups:
    def test_of_integers_must_divide_in_features(self, catalog: Catalog) -> None:
        for scheme in catalog.schemes:
            if scheme.weight.format in {"int4", "uint4"} and scheme.weight.granularity == "per_group":
                assert scheme.in_features_multiple == scheme.weight.group_size, scheme.name

    def test_of_packed_floats_need_whole_bytes_only(self, catalog: Catalog) -> None:
        for scheme in catalog.schemes:
            if scheme.storage and scheme.weight.format.startswith(("fp4", "fp6")):
                whole = 8 / scheme.weight.bits if scheme.weight.bits == 4 else 4
                assert scheme.in_features_multiple == whole, scheme.name

    def test_are_absent_where_a_scale_spans_a_row_or_the_tensor(self, catalog: Catalog) -> None:
        for scheme in catalog.schemes:
            if scheme.weight.granularity != "per_group":
                assert scheme.weight.group_size is None, scheme.name
                assert scheme.in_features_multiple == 1, scheme.name

    @pytest.mark.parametrize(
        ("name", "size"),
        [
            *((f"{kind}_wo_{size}", size) for kind in ("int4", "uint4") for size in (32, 64, 128)),
            ("int4_wa_64", 64),
            ("mxfp4", 32),
            ("mxfp6_e2m3", 32),
            ("amdfp4", 16),
            ("amdfp4_g32", 32),
            ("nvfp4", 16),
        ],
    )
    def test_have_the_size_that_the_name_or_the_format_says(self, catalog: Catalog, name: str, size: int) -> None:
        assert catalog.schemes.get(name).weight.group_size == size

    def test_bits_of_the_weight_are_those_of_its_stored_elements(self, catalog: Catalog) -> None:
        for scheme in catalog.schemes:
            if scheme.storage:
                weight = next(tensor for tensor in scheme.storage if tensor.name == "weight")
                assert weight.size_bytes(1024, 256, 2) * 8 == scheme.weight.bits * 1024 * 256, scheme.name


class TestActivations:
    @pytest.mark.parametrize(
        "name", [name for name in NAMED + FURTHER if "_wo_" in name or name.endswith("weight_only")]
    )
    def test_stay_in_the_model_s_type_under_weight_only_schemes(self, catalog: Catalog, name: str) -> None:
        assert catalog.schemes.get(name).weight_only

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("fp8", ("fp8_e4m3", "per_tensor", False)),
            ("ptpc_fp8", ("fp8_e4m3", "per_token", True)),
            ("int8", ("int8", "per_tensor", False)),
            ("mxfp4_fp8", ("fp8_e4m3", "per_tensor", False)),
            ("mxfp4", ("fp4_e2m1", "per_group", True)),
            ("mxfp4_mxfp6_e2m3", ("fp6_e2m3", "per_group", True)),
            ("nvfp4", ("fp4_e2m1", "per_group", True)),
        ],
    )
    def test_are_quantized_as_the_name_says(self, catalog: Catalog, name: str, expected: tuple[str, str, bool]) -> None:
        activation = catalog.schemes.get(name).activation
        assert isinstance(activation, TensorFormat)
        assert (activation.format, activation.granularity, activation.dynamic) == expected


class TestNoise:
    @pytest.mark.parametrize("name", NAMED + FURTHER)
    def test_of_weights_is_the_measured_one(self, catalog: Catalog, name: str) -> None:
        self.assert_measured(catalog.schemes.get(name), "weight")

    @pytest.mark.parametrize("name", NAMED + FURTHER)
    def test_of_activations_is_the_measured_one(self, catalog: Catalog, name: str) -> None:
        self.assert_measured(catalog.schemes.get(name), "activation")

    def assert_measured(self, scheme: Scheme, tensor: str) -> None:
        row = noise_row(scheme.name, tensor)
        noise: dict[str, float] | None = getattr(scheme.noise, tensor)
        if row is None:
            assert noise is None
        else:
            assert noise == pytest.approx({name: float(row[name]) for name in DISTRIBUTIONS}, rel=1e-5)

    def test_names_every_distribution(self, catalog: Catalog) -> None:
        for scheme in catalog.schemes:
            assert set(scheme.noise.weight) == set(DISTRIBUTIONS), scheme.name

    def test_of_activations_is_there_exactly_where_they_are_quantized(self, catalog: Catalog) -> None:
        for scheme in catalog.schemes:
            assert (scheme.noise.activation is None) == scheme.weight_only, scheme.name
