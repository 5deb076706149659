"""KV bytes against published measurements, and the rules that hold for each kind of cache."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.catalog import Catalog
from solver.cost.kv_cache import CacheNeed, cache_need
from solver.errors import BadInputError
from solver.intake.cache_group import CacheGroup, StateTensor
from solver.intake.inventory import Inventory
from solver.rules.service import Service
from tests.catalog.profiles import catalog_with, text_of
from tests.rules.test_options import inventory


def service(context: int, *, concurrency: int = 1, tp: int = 1, backend: str = "vllm") -> Service:
    return Service(CATALOG.hardware.get("mi300x"), CATALOG.backends.get(backend), context, concurrency, tp)


def model(*caches: CacheGroup) -> Inventory:
    return inventory().model_copy(update={"caches": caches})


def need(of: Service, *caches: CacheGroup, fp8: bool = False) -> CacheNeed:
    return cache_need(of, model(*caches), fp8=fp8)


CATALOG = Catalog()
GQA = CacheGroup(kind="full", blocks=40, kv_heads=8, key_elements=128, value_elements=128)
MLA = CacheGroup(kind="mla", blocks=61, key_elements=576)
INDEXER = CacheGroup(kind="mla", blocks=61, key_elements=132, dtype="uint8")
SLIDING = CacheGroup(kind="sliding", blocks=1, kv_heads=1, key_elements=1, value_elements=1, window=1024)
CHUNKED = CacheGroup(kind="chunked", blocks=1, kv_heads=1, key_elements=1, value_elements=1, window=1024)
STATE = CacheGroup(
    kind="state", blocks=3, recurrence="gated_delta_net", state=(StateTensor(shape=(10, 100), cut_axis=1),)
)
MIXED = (GQA, SLIDING.model_copy(update={"blocks": 50, "kv_heads": 8, "key_elements": 128, "value_elements": 128}))
HYBRID = (GQA.model_copy(update={"blocks": 4}), STATE.model_copy(update={"blocks": 12}))


class TestFullAttention:
    def test_one_token_of_mistral_small_takes_what_was_measured(self) -> None:
        # Mistral-Small-24B: 40 blocks, 8 heads of 128; llm-d-planner measured 163,840 bytes a token on vLLM.
        assert need(service(16), GQA).request_bytes == 16 * 163_840

    def test_fp8_halves_it(self) -> None:
        assert 2 * need(service(4096), GQA, fp8=True).total_bytes == need(service(4096), GQA).total_bytes

    def test_sequences_fill_whole_blocks(self) -> None:
        found = need(service(17), GQA)
        assert found.request_bytes == 32 * 163_840
        assert found.payload_bytes == 17 * 163_840

    def test_heads_are_shared_out_until_there_is_one_a_device(self) -> None:
        at = {tp: need(service(4096, tp=tp), GQA).total_bytes for tp in (1, 2, 8, 16)}
        assert at[2] * 2 == at[1]
        assert at[8] * 8 == at[1]
        assert at[16] == at[8]


class TestOtherCaches:
    def test_a_latent_is_576_elements_a_block_and_token_on_every_device(self) -> None:
        # DeepSeek-V3: 512 of the latent and 64 rotary, in 61 blocks.
        for tp in (1, 8):
            assert need(service(4096, tp=tp), MLA).request_bytes == 4096 * 61 * 576 * 2

    def test_an_indexer_keeps_its_own_type(self) -> None:
        # DeepSeek-V3.2: 128 bytes and one float32 scale a token, beside a latent in either type.
        for fp8, element in ((False, 2), (True, 1)):
            assert need(service(4096), MLA, INDEXER, fp8=fp8).request_bytes == 4096 * 61 * (576 * element + 132)

    def test_a_window_bounds_what_is_kept(self) -> None:
        # 1023 tokens and two batches of 2048 in flight, in whole blocks, and one block more.
        assert need(service(100_000), SLIDING).request_bytes == (5120 + 16) * 2 * 2
        assert need(service(100_000), SLIDING).payload_bytes == 5119 * 2 * 2

    def test_a_chunk_bounds_what_is_kept(self) -> None:
        assert need(service(100_000), CHUNKED).request_bytes == (1024 + 4096) * 2 * 2

    def test_a_short_context_is_kept_whole(self) -> None:
        assert need(service(512), CHUNKED).request_bytes == 512 * 2 * 2

    def test_a_state_does_not_grow_with_the_context_and_stays_native(self) -> None:
        for context, fp8 in ((16, True), (16_000, False)):
            assert need(service(context), STATE, fp8=fp8).payload_bytes == 3 * 1000 * 2

    def test_a_state_is_cut_where_it_can_be(self) -> None:
        whole = STATE.model_copy(update={"state": (StateTensor(shape=(10, 100)),)})
        assert need(service(16, tp=4), STATE).payload_bytes * 4 == need(service(16, tp=4), whole).payload_bytes

    def test_every_device_holds_a_whole_group_of_a_state(self) -> None:
        # 8 devices hold 8 copies of one group of 256 beside their share of 8192 (vLLM, mamba2_state_shape).
        tensor = StateTensor(shape=(3, 8192 + 256), cut_axis=1, groups=1, group_elements=256)
        shared = STATE.model_copy(update={"blocks": 1, "state": (tensor,)})
        assert need(service(16, tp=8), shared).payload_bytes == 3 * (8192 // 8 + 256) * 2


class TestPool:
    @pytest.mark.parametrize("caches", [(GQA,), MIXED, HYBRID, (MLA, INDEXER)])
    def test_sequences_share_one_pool_whose_first_block_is_never_used(self, caches: tuple[CacheGroup, ...]) -> None:
        one, seven = need(service(4096), *caches), need(service(4096, concurrency=7), *caches)
        assert seven.request_bytes == one.request_bytes
        assert seven.total_bytes == 7 * one.request_bytes + one.reserved_bytes
        assert one.request_bytes % one.reserved_bytes == 0

    @pytest.mark.parametrize("caches", [(GQA,), MIXED, HYBRID, (MLA, INDEXER)])
    @pytest.mark.parametrize("fp8", [False, True])
    @given(context=st.integers(1, 300_000), concurrency=st.integers(1, 64))
    def test_payload_and_padding_are_the_total(
        self, caches: tuple[CacheGroup, ...], fp8: bool, context: int, concurrency: int
    ) -> None:
        found = need(service(context, concurrency=concurrency), *caches, fp8=fp8)
        assert found.payload_bytes + found.padding_bytes == found.total_bytes
        assert 0 < found.payload_bytes <= found.request_bytes * concurrency

    def test_states_of_two_sizes_have_pages_of_the_larger(self) -> None:
        # vLLM, MambaSpec.is_uniform_with_collection: pages of one type are equal. 3 layers and 5 make 3 groups of 3,
        # each of one state: without attention vLLM has no prefix caching.
        small = STATE.model_copy(update={"blocks": 5, "state": (StateTensor(shape=(1, 100), cut_axis=1),)})
        found = need(service(4096), STATE, small)
        assert found.reserved_bytes == 3 * 1000 * 2
        assert found.request_bytes == 3 * found.reserved_bytes

    def test_a_profile_says_the_copies_of_every_kind_of_state(self, tmp_path: Path) -> None:
        text = text_of(
            "backends/vllm.yaml",
            {"gated_delta_net: 2, kimi_delta_attention: 2, mamba2: 3, mamba1: 2, short_conv: 2": "mamba2: 3"},
        )
        kinds = "gated_delta_net, kimi_delta_attention, mamba1, short_conv"
        with pytest.raises(BadInputError, match=rf"state_blocks.*lacks {kinds}"):
            list(catalog_with(tmp_path, {"backends/vllm.yaml": text}).backends)

    def test_other_stacks_add_up_their_layers(self) -> None:
        found = need(service(4096, concurrency=2, backend="sglang"), *HYBRID)
        assert found.reserved_bytes == found.padding_bytes == 0
        assert found.total_bytes == 2 * (4096 * 4 * 8 * 256 * 2 + 12 * 1000 * 2)

    def test_sglang_keeps_recurrent_tensors_in_32_bits_unless_the_model_says_otherwise(self) -> None:
        # SGLang 0.5.23, srt/configs/mamba_utils.py: BaseLinearStateParams.mamba_cache_per_req and mamba2_state_dtype.
        window, matrix = StateTensor(shape=(3, 100), cut_axis=1), StateTensor(shape=(4, 16, 16), cut_axis=0)
        stated = matrix.model_copy(update={"dtype": "bfloat16"})
        state = STATE.model_copy(update={"state": (window, matrix)})
        found = need(service(4096, backend="sglang"), state)
        assert found.total_bytes == 3 * (3 * 100 * 2 + 4 * 16 * 16 * 4)
        narrow = need(service(4096, backend="sglang"), state.model_copy(update={"state": (window, stated)}))
        assert narrow.total_bytes == 3 * (3 * 100 * 2 + 4 * 16 * 16 * 2)
        assert need(service(4096), state).payload_bytes == narrow.total_bytes

    def test_nothing_is_needed_without_caches(self) -> None:
        assert need(service(4096)).total_bytes == 0
