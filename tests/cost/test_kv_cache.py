"""KV bytes against published measurements and against the formulas for each kind of cache."""

from solver.catalog import Catalog
from solver.cost.kv_cache import cache_bytes
from solver.intake.inventory import CacheGroup, Inventory
from solver.rules.service import Service
from tests.rules.test_options import inventory


def service(catalog: Catalog, context: int, *, concurrency: int = 1, tp: int = 1) -> Service:
    return Service(catalog.hardware.get("mi300x"), catalog.backends.get("vllm"), context, concurrency, tp)


def model(*caches: CacheGroup) -> Inventory:
    return inventory().model_copy(update={"caches": caches})


GQA = CacheGroup(kind="full", blocks=40, kv_heads=8, key_elements=128, value_elements=128)
MLA = CacheGroup(kind="mla", blocks=61, key_elements=576)
SLIDING = CacheGroup(kind="sliding", blocks=1, kv_heads=1, key_elements=1, value_elements=1, window=1024)


class TestFullAttention:
    def test_one_token_of_mistral_small_takes_what_was_measured(self, catalog: Catalog) -> None:
        # Mistral-Small-24B: 40 blocks, 8 heads of 128; llm-d-planner measured 163,840 bytes a token on vLLM.
        blocks_of_16 = cache_bytes(service(catalog, 16), model(GQA), fp8=False)
        assert blocks_of_16 == 16 * 163_840

    def test_fp8_halves_it(self, catalog: Catalog) -> None:
        whole = cache_bytes(service(catalog, 4096), model(GQA), fp8=False)
        assert 2 * cache_bytes(service(catalog, 4096), model(GQA), fp8=True) == whole

    def test_sequences_fill_whole_blocks(self, catalog: Catalog) -> None:
        assert cache_bytes(service(catalog, 17), model(GQA), fp8=False) == 32 * 163_840

    def test_heads_are_shared_out_until_there_is_one_a_device(self, catalog: Catalog) -> None:
        at = {tp: cache_bytes(service(catalog, 4096, tp=tp), model(GQA), fp8=False) for tp in (1, 2, 8, 16)}
        assert at[2] * 2 == at[1]
        assert at[8] * 8 == at[1]
        assert at[16] == at[8]

    def test_sequences_add_up(self, catalog: Catalog) -> None:
        one = cache_bytes(service(catalog, 4096), model(GQA), fp8=False)
        assert cache_bytes(service(catalog, 4096, concurrency=7), model(GQA), fp8=False) == 7 * one


class TestOtherCaches:
    def test_a_latent_is_576_elements_a_block_and_token_on_every_device(self, catalog: Catalog) -> None:
        for tp in (1, 8):
            assert cache_bytes(service(catalog, 4096, tp=tp), model(MLA), fp8=False) == 4096 * 61 * 576 * 2

    def test_a_window_bounds_what_is_kept(self, catalog: Catalog) -> None:
        # 1023 tokens and the 2048 in flight, in whole blocks, and one block more.
        assert cache_bytes(service(catalog, 100_000), model(SLIDING), fp8=False) == (3072 + 16) * 2 * 2

    def test_a_short_context_is_kept_whole(self, catalog: Catalog) -> None:
        assert cache_bytes(service(catalog, 512), model(SLIDING), fp8=False) == 512 * 2 * 2

    def test_a_state_does_not_grow_with_the_context_and_stays_native(self, catalog: Catalog) -> None:
        state = model(CacheGroup(kind="state", blocks=3, state_elements=1000))
        assert cache_bytes(service(catalog, 16), state, fp8=True) == 3 * 1000 * 2
        assert cache_bytes(service(catalog, 16_000), state, fp8=False) == 3 * 1000 * 2
