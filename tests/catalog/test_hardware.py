"""Figures of accelerators: those of public sources, in base units, for the device that the runtime sees."""

from fractions import Fraction

import pytest

from solver.catalog import Catalog
from solver.catalog.base import Quantity
from solver.catalog.hardware import Hardware
from tests.data import rows

ROWS = rows("hardware.csv")
TWO_DIES = {"mi250": (3200, "362.1"), "mi250x": (3200, "383")}
"""GB/s and 10^12 FLOP/s of a card of which the runtime sees each half as one device."""

PEAKS = ("bf16", "fp8", "int8", "fp6", "fp4")


def of(catalog: Catalog, row: dict[str, str]) -> Hardware:
    return catalog.hardware.get(row["name"])


def with_figure(*fields: str) -> list[dict[str, str]]:
    return [row for row in ROWS if any(row[field] for field in fields)]


def same(quantity: Quantity | None, figure: str, scale: int) -> bool:
    """Return whether a figure is that of the source, or both are absent."""
    if quantity is None:
        return not figure
    return not figure or Fraction(quantity.value) == Fraction(figure) * scale


class TestFigures:
    def test_are_there_for_the_same_devices(self, catalog: Catalog) -> None:
        assert {row["name"] for row in ROWS} == {item.name for item in catalog.hardware}

    @pytest.mark.parametrize("row", with_figure("driver_mib"), ids=lambda row: row["name"])
    def test_of_memory_are_what_the_driver_reports(self, catalog: Catalog, row: dict[str, str]) -> None:
        memory = of(catalog, row).memory
        assert memory is not None
        assert memory.value == int(row["driver_mib"]) * 2**20

    @pytest.mark.parametrize(
        "row", [row for row in with_figure("memory_gib") if not row["driver_mib"]], ids=lambda row: row["name"]
    )
    def test_of_memory_are_binary_where_amd_says_gb(self, catalog: Catalog, row: dict[str, str]) -> None:
        memory = of(catalog, row).memory
        assert memory is not None
        assert memory.value == int(row["memory_gib"]) * 2**30

    @pytest.mark.parametrize("row", with_figure("bandwidth_gb_s"), ids=lambda row: row["name"])
    def test_of_bandwidth_are_the_published_ones(self, catalog: Catalog, row: dict[str, str]) -> None:
        bandwidth = of(catalog, row).bandwidth
        assert bandwidth is not None
        assert same(bandwidth, row["bandwidth_gb_s"], 10**9)

    @pytest.mark.parametrize("row", with_figure(*PEAKS), ids=lambda row: row["name"])
    def test_of_peaks_are_the_published_dense_ones(self, catalog: Catalog, row: dict[str, str]) -> None:
        peaks = of(catalog, row).peak_flops
        for name in PEAKS:
            assert name in peaks or not row[name], name
            assert same(peaks.get(name), row[name], 10**12), name

    @pytest.mark.parametrize(
        "row", with_figure("sustained_bf16", "sustained_fp8", "sustained_mxfp4"), ids=lambda row: row["name"]
    )
    def test_of_sustained_rates_are_those_of_quark(self, catalog: Catalog, row: dict[str, str]) -> None:
        sustained = of(catalog, row).sustained_flops
        for name, column in (("bf16", "bf16"), ("fp8", "fp8"), ("fp4", "mxfp4")):
            assert name in sustained or not row[f"sustained_{column}"], name
            assert same(sustained.get(name), row[f"sustained_{column}"], 10**12), name

    @pytest.mark.parametrize("name", TWO_DIES)
    def test_of_two_die_cards_are_those_of_one_die(self, catalog: Catalog, name: str) -> None:
        bandwidth, peak = TWO_DIES[name]
        hardware = catalog.hardware.get(name)
        assert hardware.memory is not None
        assert hardware.memory.value == 64 * 2**30
        assert same(hardware.bandwidth, str(bandwidth // 2), 10**9)
        assert Fraction(hardware.peak_flops["bf16"].value) == Fraction(peak) * 10**12 / 2

    def test_are_absent_where_no_source_is(self, catalog: Catalog) -> None:
        for name in ("mi400_mi430x", "r9700", "gh200", "h100_nvl"):
            hardware = catalog.hardware.get(name)
            assert hardware.memory is None, name
            assert hardware.bandwidth is None, name


class TestDialects:
    @pytest.mark.parametrize("row", with_figure("fp8_dialect"), ids=lambda row: row["name"])
    def test_of_fp8_are_the_published_ones(self, catalog: Catalog, row: dict[str, str]) -> None:
        assert of(catalog, row).fp8_dialect == row["fp8_dialect"]

    def test_leave_no_peak_for_formats_that_the_device_lacks(self, catalog: Catalog) -> None:
        claimed = {
            (hardware.name, name)
            for hardware in catalog.hardware
            for name in ("bf16", "fp8", "int8")
            if name in hardware.peak_flops and name not in " ".join(hardware.native_formats)
        }
        # Blackwell Ultra computes in int8 at a thirtieth of its fp8 rate, which is not called native.
        assert claimed == {("b300", "int8"), ("gb300", "int8")}


class TestIdentity:
    @pytest.mark.parametrize("row", with_figure("isa"), ids=lambda row: row["name"])
    def test_names_the_architecture_that_kernels_are_built_for(self, catalog: Catalog, row: dict[str, str]) -> None:
        assert of(catalog, row).isa == row["isa"]

    @pytest.mark.parametrize("row", with_figure("devices_per_node"), ids=lambda row: row["name"])
    def test_names_the_devices_of_a_node(self, catalog: Catalog, row: dict[str, str]) -> None:
        assert of(catalog, row).devices_per_node == int(row["devices_per_node"])

    def test_puts_devices_of_one_architecture_into_one_class(self, catalog: Catalog) -> None:
        classes: dict[str, set[str | None]] = {}
        for hardware in catalog.hardware:
            if hardware.isa:
                classes.setdefault(hardware.isa, set()).add(hardware.kernel_class)
        assert {isa: found for isa, found in classes.items() if len(found) > 1} == {}
