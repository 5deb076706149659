"""The share of a device: SGLang's formula, and shares that keep a budget to the byte."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.catalog import Catalog
from solver.cost.memory_fraction import default_budget, default_fraction, fraction_for
from solver.rules.service import Service
from tests.conftest import Analyse
from tests.rules.test_options import inventory

MI300X = 206_141_652_992


def on(catalog: Catalog, hardware: str, backend: str, tp: int = 1, chunk: int = 2048, sequences: int = 1) -> Service:
    return Service(
        catalog.hardware.get(hardware),
        catalog.backends.get(backend),
        8192,
        1,
        tp,
        max_num_seqs=sequences,
        max_num_batched_tokens=chunk,
    )


class TestDefaultShare:
    def test_of_vllm_is_its_constant(self, catalog: Catalog) -> None:
        assert default_fraction(on(catalog, "mi300x", "vllm")) == Fraction("0.92")

    def test_of_sglang_leaves_ten_gibibytes_of_a_large_device(self, catalog: Catalog) -> None:
        # 512 + 1.5 * 2048 + 2 * 256 + 128 MiB are less.
        assert default_fraction(on(catalog, "mi300x", "sglang", sequences=256)) == round(
            1 - Fraction(10 * 2**30, MI300X), 3
        )

    def test_of_sglang_on_a_large_device_with_a_large_chunk_leaves_more(self, catalog: Catalog) -> None:
        # H100-like sum by hand: 512 + 1.5 * 8192 + 2 * 512 + 8 * 128 = 14848 MiB.
        found = default_fraction(on(catalog, "mi300x", "sglang", tp=8, chunk=8192, sequences=512))
        assert found == round(1 - Fraction(14848 * 2**20, MI300X), 3)

    def test_of_sglang_on_a_small_device_is_the_sum(self, catalog: Catalog) -> None:
        small = on(catalog, "rtx4090", "sglang", chunk=1024, sequences=24)
        assert small.hardware.memory is not None
        reserved = (512 + 3072 + 2 * 24 + 128) * 2**20
        assert default_fraction(small) == round(1 - Fraction(reserved, int(small.hardware.memory.value)), 3)

    def test_without_a_known_memory_is_the_constant(self, catalog: Catalog) -> None:
        unknown = on(catalog, "h100_nvl", "sglang")
        assert default_fraction(unknown) == Fraction("0.88")
        assert default_budget(unknown, inventory(), catalog.roles) is None


class TestDefaultBudget:
    def test_of_vllm_is_the_share_as_vllm_rounds_it(self, catalog: Catalog) -> None:
        assert default_budget(on(catalog, "mi300x", "vllm"), inventory(), catalog.roles) == math.ceil(0.92 * MI300X)

    def test_of_sglang_has_activations_and_runtime_beside_the_pool(self, catalog: Catalog, analyse: Analyse) -> None:
        model = analyse("Qwen/Qwen3-8B").inventory
        assert model is not None
        budget = default_budget(on(catalog, "mi300x", "sglang"), model, catalog.roles)
        assert budget is not None
        pool = math.ceil(default_fraction(on(catalog, "mi300x", "sglang")) * MI300X)
        assert pool < budget < MI300X

    def test_never_exceeds_the_device(self, catalog: Catalog, analyse: Analyse) -> None:
        model = analyse("Qwen/Qwen3-8B").inventory
        assert model is not None
        wide = replace(on(catalog, "t4", "sglang"), max_num_seqs=4096, max_num_batched_tokens=65_536)
        assert wide.hardware.memory is not None
        budget = default_budget(wide, model, catalog.roles)
        assert budget is not None
        assert budget <= wide.hardware.memory.value


class TestShareForABudget:
    @given(memory=st.integers(2**30, 2**40), data=st.data())
    def test_keeps_the_budget_and_holds_the_bill(self, memory: int, data: st.DataObject) -> None:
        budget = data.draw(st.integers(1, memory))
        needed = data.draw(st.integers(0, budget))
        share = fraction_for(budget, needed, memory)
        assert share is not None
        taken = Fraction(share) * memory
        assert 0 <= share <= 1
        assert taken <= budget
        assert math.ceil(taken) >= needed

    def test_has_four_decimals_where_they_do(self) -> None:
        assert str(fraction_for(12 * 10**9, 11 * 10**9, MI300X)) == "0.0582"

    def test_of_all_is_one(self) -> None:
        assert fraction_for(MI300X, MI300X, MI300X) == 1

    @pytest.mark.parametrize(("budget", "needed"), [(10, 11), (MI300X + 1, 1)])
    def test_is_none_where_the_bill_or_the_budget_is_too_large(self, budget: int, needed: int) -> None:
        assert fraction_for(budget, needed, MI300X) is None
