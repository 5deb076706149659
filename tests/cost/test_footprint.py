"""Weights, activations and the whole bill."""

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.catalog import Catalog
from solver.cost.footprint import footprint
from solver.cost.parameters import other_bytes
from solver.cost.weights import dequantized_bytes, layer_bytes, read_share
from solver.intake.inventory import Inventory, LayerFamily
from solver.rules.service import Service
from solver.rules.shards import shard_shape
from tests.conftest import REQUIRED_MODELS, Analyse, Solve
from tests.cost.test_kv_cache import service


def inventory_of(model: str, analyse: Analyse) -> Inventory:
    inventory = analyse(model).inventory
    assert inventory is not None
    return inventory


def stored_bytes(family: LayerFamily, inventory: Inventory) -> int:
    """Return the bytes of one layer in a checkpoint with fp8 blocks of 128 x 128 and float32 scales."""
    assert family.stored == "fp8_block"
    return family.weight_elements + 4 * ceil(family.out_features / 128) * ceil(family.in_features / 128)


class TestWeights:
    @pytest.mark.parametrize("model", REQUIRED_MODELS)
    def test_native_layers_and_the_rest_are_what_transformers_loads_of_the_checkpoint(
        self, model: str, analyse: Analyse, catalog: Catalog
    ) -> None:
        inventory = inventory_of(model, analyse)
        one = service(4096)
        layers = sum(
            family.count * layer_bytes(family, None, catalog.roles.named(family.role), one, inventory)
            for family in inventory.layers
        )
        kept_in_float32 = sum(group.wide_elements for group in inventory.others)
        assert inventory.checkpoint_bytes is not None
        # MLA's up projections are stored in fp8 and loaded in 16 bits.
        loaded_wider = sum(
            family.count * (2 * family.weight_elements - stored_bytes(family, inventory))
            for family in inventory.layers
            if family.role == "mla_kv_b"
        )
        # No class of transformers has the layers for multi-token prediction, and what it does not load is not served.
        predictor = inventory.mtp.size_bytes if inventory.mtp else 0
        assert predictor is not None
        held = inventory.checkpoint_bytes - predictor + 2 * kept_in_float32 + loaded_wider
        assert layers + other_bytes(one, catalog.roles, inventory) == held
        assert (predictor > 0) == (model == "deepseek-ai/DeepSeek-V3")
        assert (loaded_wider > 0) == (model == "deepseek-ai/DeepSeek-V3")
        assert (kept_in_float32 > 0) == (model == "deepseek-ai/DeepSeek-V3")

    def test_float32_checkpoints_are_served_in_16_bits(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = inventory_of("Qwen/Qwen3-8B", analyse).model_copy(update={"dtype": "float32"})
        assert inventory.dtype_bytes == 4
        family = inventory.layers[0]
        assert layer_bytes(family, None, catalog.roles.named(family.role), service(16), inventory) == (
            2 * family.weight_elements
        )

    def test_shards_of_a_stored_layer_have_scales_of_their_own(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = inventory_of("deepseek-ai/DeepSeek-V3", analyse)
        by_role = {family.role: family for family in inventory.layers}
        for tp in (1, 8):
            at = service(16, tp=tp)
            down, latent = by_role["down"], by_role["mla_kv_a"]
            rows, columns = down.out_features, down.in_features // tp
            shard = layer_bytes(down, None, catalog.roles.named("down"), at, inventory)
            assert shard == rows * columns + 4 * (rows // 128) * ceil(columns / 128)
            # 576 rows are four and a half blocks, on every device.
            whole = layer_bytes(latent, None, catalog.roles.named("mla_kv_a"), at, inventory)
            assert whole == 576 * 7168 + 4 * 5 * 56

    def test_emulated_layers_are_read_in_the_type_they_are_served_in(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = inventory_of("openai/gpt-oss-20b", analyse)
        family = next(family for family in inventory.layers if family.stored)
        role = catalog.roles.named(family.role)
        assert dequantized_bytes(family, role, service(16), inventory) == 2 * family.weight_elements

    def test_shards_of_a_layer_make_it_up(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = inventory_of("meta-llama/Llama-3.1-70B", analyse)
        for family in inventory.layers:
            inputs, outputs = shard_shape(family, catalog.roles.named(family.role), service(16, tp=8), inventory)
            assert inputs * outputs * 8 == family.weight_elements

    def test_mla_up_projections_are_counted_as_vllm_loads_them(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = inventory_of("deepseek-ai/DeepSeek-V3", analyse)
        family = next(family for family in inventory.layers if family.role == "mla_kv_b")
        role, scheme = catalog.roles.named("mla_kv_b"), catalog.schemes.get("ptpc_fp8")
        assert layer_bytes(family, scheme, role, service(16), inventory) == 2 * family.weight_elements


class TestReadShare:
    def test_one_token_reads_the_experts_it_is_routed_to(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = inventory_of("Qwen/Qwen3-30B-A3B", analyse)
        expert = catalog.roles.named("expert_up")
        assert read_share(expert, service(16), inventory) == Fraction(8, 128)

    def test_more_sequences_read_more_experts_up_to_all(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = inventory_of("Qwen/Qwen3-30B-A3B", analyse)
        expert = catalog.roles.named("expert_up")
        shares = [read_share(expert, service(16, concurrency=n), inventory) for n in (1, 2, 8, 64, 4096)]
        assert shares == sorted(shares)
        assert shares[1] == Fraction(8, 128) * 2 - Fraction(8, 128) ** 2
        assert shares[-1] > Fraction(999_999, 10**6)


class TestBill:
    @pytest.mark.parametrize("model", REQUIRED_MODELS)
    def test_adds_up_to_the_last_byte_and_keeps_the_budget(self, model: str, solve: Solve) -> None:
        fields = REQUIRED_MODELS[model]
        for item in solve(model, **fields).alternatives:
            bill = item.footprint
            assert bill is not None
            parts = bill.weights_bytes + bill.kv_cache_bytes + bill.activation_bytes + bill.runtime_bytes
            assert bill.total_bytes == parts <= fields["budget_bytes"]
            assert bill.runtime_low_bytes <= bill.runtime_bytes <= bill.runtime_high_bytes
            assert bill.activation_low_bytes <= bill.activation_bytes <= bill.activation_high_bytes

    @given(
        context=st.integers(1, 40_960),
        concurrency=st.integers(1, 64),
        sequences=st.integers(0, 64),
        tokens=st.integers(0, 8192),
        weights=st.integers(0, 10**12),
        more=st.integers(1, 512),
    )
    def test_only_grows_with_every_argument(
        self,
        catalog: Catalog,
        analyse: Analyse,
        context: int,
        concurrency: int,
        sequences: int,
        tokens: int,
        weights: int,
        more: int,
    ) -> None:
        inventory = inventory_of("Qwen/Qwen3-30B-A3B", analyse)
        base = {
            "context": context,
            "concurrency": concurrency,
            "max_num_seqs": concurrency + sequences + 512,
            "max_num_batched_tokens": concurrency + sequences + tokens + 1024,
        }

        def total(weights: int, *, kv_fp8: bool = False, **changed: int) -> int:
            made = Service(
                catalog.hardware.get("mi300x"), catalog.backends.get("vllm"), tensor_parallel=1, **(base | changed)
            )
            bill = footprint(weights, made, inventory, catalog.roles, kv_fp8=kv_fp8)
            parts = sum(bill.part(name) for name in ("weights", "kv_cache", "activation", "runtime"))
            assert bill.total_bytes == parts
            return parts

        least = total(weights)
        assert total(weights + more) == least + more
        assert total(weights, kv_fp8=True) < least
        for name, value in base.items():
            assert total(weights, **{name: value + more}) >= least

    def test_a_group_of_devices_takes_more_runtime(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = inventory_of("Qwen/Qwen3-8B", analyse)
        alone = footprint(0, service(16), inventory, catalog.roles, kv_fp8=False)
        together = footprint(0, service(16, tp=2), inventory, catalog.roles, kv_fp8=False)
        assert together.runtime_bytes > alone.runtime_bytes
