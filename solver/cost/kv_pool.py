"""How vLLM lays the caches of all layers into one pool of equal blocks.

Source: vLLM 0.33.0, v1/core/kv_cache_planning.py (get_kv_cache_groups and what it calls) and platforms/interface.py
(_align_hybrid_block_size). Layers that always need the same tokens are one group, whose pages may differ. Of others
every page must be as large as the largest; layers of one form are dealt into groups of about the same number; a block
of the pool holds one page for each layer of a group, and every group of a sequence takes its own blocks. Where caches
have blocks of their own, unequal pages lie side by side in one block (`solver.cost.kv_packed`).
"""

from dataclasses import replace

from solver.catalog.backend import KVPool
from solver.cost.kv_layers import LayerCache
from solver.cost.kv_packed import packed_need
from solver.cost.kv_pages import Paged, PoolNeed
from solver.units import ceil_div

MANY_MORE = 1.5
"""Up to this ratio of the most to the fewest layers of one form, groups are as large as the most."""


def _block_tokens(layers: dict[LayerCache, int], base: int, pool: KVPool) -> int:
    """Return the tokens of a block: where there are states, as many as make an attention page hold one."""
    state = max((layer.state_bytes for layer in layers), default=0)
    attention = [layer for layer in layers if not layer.state_bytes]
    if not state or not attention:
        return base
    multiple = max(base, pool.latent_block_multiple if attention[0].kind == "mla" else 1)
    return multiple * ceil_div(state, multiple * attention[0].entry_bytes)


def _equal(pages: list[Paged]) -> list[Paged]:
    """Return pages of one size: more tokens for narrow layers where that divides, padding elsewhere."""
    largest = max(page.page_bytes for page in pages)
    return [
        replace(
            page,
            block_tokens=page.block_tokens * (1 if largest % page.page_bytes else largest // page.page_bytes),
            page_bytes=largest,
        )
        for page in pages
    ]


def _of_one_type(layers: dict[LayerCache, int]) -> bool:
    """Whether all layers always need the same number of blocks, so that one group of unequal pages holds them."""
    types = {
        ("full" if layer.kind == "mla" else layer.kind, layer.window, layer.state_bytes, layer.block_tokens)
        for layer in layers
    }
    return len(types) == 1


def pool_need(layers: dict[LayerCache, int], base: int, context: int, in_flight: int, pool: KVPool) -> PoolNeed:
    """Return what one sequence of `context` tokens needs of the pool.

    Parameters
    ----------
    layers
        How many layers have each form of cache on one device.
    base
        Tokens of a block where nothing asks for more.
    in_flight
        Tokens that are scheduled and not yet done, of all sequences.

    """
    block_tokens = _block_tokens(layers, base, pool)
    recurrent = all(layer.kind == "state" for layer in layers)
    pages = [
        Paged(layer, count, own, layer.page_bytes(own), alone=recurrent)
        for layer, count in layers.items()
        for own in [layer.block_tokens or block_tokens]
    ]
    if _of_one_type(layers):
        return PoolNeed(pages[0].blocks(context, in_flight, pool), sum(page.count * page.page_bytes for page in pages))
    if any(layer.block_tokens for layer in layers) and len({page.page_bytes for page in pages}) > 1:
        return packed_need(pages, context, in_flight, pool)
    pages = _equal(pages)
    fewest, most = min(page.count for page in pages), max(page.count for page in pages)
    group_layers = most if most < fewest * MANY_MORE else fewest
    groups = [ceil_div(page.count, group_layers) for page in pages]
    return PoolNeed(
        blocks=sum(n * page.blocks(context, in_flight, pool) for n, page in zip(groups, pages, strict=True)),
        block_bytes=max(ceil_div(page.count, n) * page.page_bytes for n, page in zip(groups, pages, strict=True)),
    )
