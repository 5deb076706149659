"""Times by roofline, computed by hand for a model whose sizes are round."""

import pytest

from solver.catalog import Catalog
from solver.cost.kv_cache import cache_need
from solver.cost.roofline import Placed, Roofline, Times
from solver.intake.inventory import Inventory
from solver.rules.service import Service
from tests.conftest import Analyse

DENSE, MOE = "Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B"
BANDWIDTH = 0.8 * 5.3e12
"""What vLLM reaches of an MI300X, in bytes a second."""
BF16, FP8 = 708e12, 1273e12
"""What an MI300X sustains, in FLOP a second."""


def inventory_of(model: str, analyse: Analyse) -> Inventory:
    found = analyse(model).inventory
    assert found is not None
    return found


def times(
    inventory: Inventory,
    catalog: Catalog,
    scheme: str | None = None,
    *,
    hardware: str = "mi300x",
    context: int = 1,
    concurrency: int = 1,
    tp: int = 1,
    model_type: str = "qwen3",
) -> Times:
    """Return the times with one scheme on every layer but the head."""
    service = Service(catalog.hardware.get(hardware), catalog.backends.get("vllm"), context, concurrency, tp)
    chosen = None if scheme is None else catalog.schemes.get(scheme)
    placed = tuple(
        Placed(family, None if family.role == "lm_head" else chosen, max(1, len(family.block_indices)))
        for family in inventory.layers
    )
    return Roofline(catalog, inventory, service, model_type).times(placed, kv_fp8=False)


def kv_bytes(inventory: Inventory, catalog: Catalog, context: int, concurrency: int) -> int:
    service = Service(catalog.hardware.get("mi300x"), catalog.backends.get("vllm"), context, concurrency, 1)
    return cache_need(service, inventory, fp8=False).payload_bytes


class TestDecoding:
    def test_of_one_sequence_takes_as_long_as_its_bytes(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = inventory_of(DENSE, analyse)
        weights = 2 * sum(family.count * family.weight_elements for family in inventory.layers)
        moved = weights + kv_bytes(inventory, catalog, 4096, 1)
        assert times(inventory, catalog, context=4096).decode_seconds == pytest.approx(moved / BANDWIDTH)

    def test_of_many_sequences_takes_as_long_as_it_computes(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = inventory_of(DENSE, analyse)
        elements = sum(family.count * family.weight_elements for family in inventory.layers)
        computed = 2 * elements * 4096 / BF16
        moved = kv_bytes(inventory, catalog, 1, 4096) / BANDWIDTH
        assert times(inventory, catalog, concurrency=4096).decode_seconds == pytest.approx(computed + moved)

    def test_is_cut_by_tensor_parallelism(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = inventory_of(DENSE, analyse)
        alone, four = (times(inventory, catalog, tp=tp).decode_seconds for tp in (1, 4))
        assert alone is not None
        assert four == pytest.approx(alone / 4, rel=1e-3)

    def test_reads_the_experts_that_tokens_are_routed_to(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = inventory_of(MOE, analyse)
        experts = sum(family.count * family.weight_elements for family in inventory.layers if family.experts)
        rest = sum(family.count * family.weight_elements for family in inventory.layers if not family.experts)
        moved = 2 * (rest + experts * 8 / 128) + kv_bytes(inventory, catalog, 1, 1)
        found = times(inventory, catalog, model_type="qwen3_moe").decode_seconds
        assert found == pytest.approx(moved / BANDWIDTH, rel=1e-6)

    def test_is_not_guessed_without_a_bandwidth(self, analyse: Analyse, catalog: Catalog) -> None:
        assert times(inventory_of(DENSE, analyse), catalog, hardware="h100_nvl") == Times(None, None)


class TestPrompts:
    def test_take_as_long_as_they_compute(self, analyse: Analyse, catalog: Catalog) -> None:
        # Four chunks of 2048 tokens; the head sees one row in each, and 32 heads of 128 attend to half of a square.
        inventory = inventory_of(DENSE, analyse)
        head = inventory.vocab_size * inventory.hidden_size
        elements = sum(family.count * family.weight_elements for family in inventory.layers) - head
        attention = 36 * 2 * 32 * 128 * 8192**2
        expected = (2 * elements * 8192 + attention) / BF16 + 4 * 2 * head / BANDWIDTH
        assert times(inventory, catalog, context=8192).prefill_seconds == pytest.approx(expected)

    def test_with_quantized_inputs_compute_at_their_rate(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = inventory_of(DENSE, analyse)
        head = inventory.vocab_size * inventory.hidden_size
        elements = sum(family.count * family.weight_elements for family in inventory.layers) - head
        attention = 36 * 2 * 32 * 128 * 8192**2 / BF16
        expected = 2 * elements * 8192 / FP8 + attention + 4 * 2 * head / BANDWIDTH
        found = times(inventory, catalog, "ptpc_fp8", context=8192).prefill_seconds
        assert found == pytest.approx(expected)

    @pytest.mark.parametrize("scheme", ["mxfp4", "mxfp6_e3m2", "nvfp4"])
    def test_under_an_emulated_scheme_are_never_faster(self, scheme: str, analyse: Analyse, catalog: Catalog) -> None:
        inventory = inventory_of(DENSE, analyse)
        for context in (1, 64, 8192):
            native, emulated = (times(inventory, catalog, name, context=context) for name in (None, scheme))
            assert native.decode_seconds is not None
            assert native.prefill_seconds is not None
            assert emulated.decode_seconds is not None
            assert emulated.prefill_seconds is not None
            assert emulated.decode_seconds > native.decode_seconds
            assert emulated.prefill_seconds >= native.prefill_seconds

    def test_on_a_device_without_a_sustained_rate_compute_at_a_share_of_its_peak(
        self, analyse: Analyse, catalog: Catalog
    ) -> None:
        hardware = catalog.hardware.get("h100")
        assert not hardware.sustained_flops
        inventory = inventory_of(DENSE, analyse)
        found = times(inventory, catalog, hardware="h100", context=8192).prefill_seconds
        sustained = times(inventory, catalog, context=8192).prefill_seconds
        assert found is not None
        assert sustained is not None
        share = catalog.backends.get("vllm").compute_fraction.value
        rate = hardware.peak_flops["bf16"].value * share
        assert found == pytest.approx(sustained * BF16 / rate, rel=0.02)
