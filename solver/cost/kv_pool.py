"""How vLLM lays the caches of all layers into one pool of equal blocks.

Source: vLLM 0.33.0, v1/core/kv_cache_planning.py (get_kv_cache_groups and what it calls) and platforms/interface.py
(_align_hybrid_block_size). Layers that always need the same tokens are one group, whose pages may differ. Of others
every page must be as large as the largest; layers of one form are dealt into groups of about the same number; a block
of the pool holds one page for each layer of a group, and every group of a sequence takes its own blocks.

Left out is what vLLM does where a kernel asks for all layers of a block side by side (_get_packed_kv_cache_groups):
then it packs unequal pages into one block.
"""

from dataclasses import dataclass, replace

from solver.catalog.backend import KVPool
from solver.cost.kv_layers import LayerCache
from solver.units import ceil_div

MANY_MORE = 1.5
"""Up to this ratio of the most to the fewest layers of one form, groups are as large as the most."""


@dataclass(frozen=True, slots=True)
class Paged:
    """Layers of one form, and the page that each has in a block."""

    layer: LayerCache
    count: int
    block_tokens: int
    page_bytes: int

    def blocks(self, context: int, in_flight: int, pool: KVPool) -> int:
        """Return the blocks that one sequence takes in each group of these layers.

        A sliding window may begin within a block, so it takes one more.
        """
        if self.layer.kind == "state":
            assert self.layer.recurrence is not None
            return pool.state_blocks[self.layer.recurrence]
        return ceil_div(self.layer.tokens(context, in_flight), self.block_tokens) + (self.layer.kind == "sliding")


@dataclass(frozen=True, slots=True)
class PoolNeed:
    """Blocks of one sequence at most, and the bytes of each."""

    blocks: int
    block_bytes: int


def _block_tokens(layers: dict[LayerCache, int], base: int, pool: KVPool) -> int:
    """Return the tokens of a block: where there are states, as many as make an attention page hold one."""
    state = max((layer.state_bytes for layer in layers), default=0)
    attention = [layer for layer in layers if not layer.state_bytes]
    if not state or not attention:
        return base
    multiple = max(base, pool.latent_block_multiple if attention[0].kind == "mla" else 1)
    return multiple * ceil_div(state, multiple * attention[0].token_bytes)


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
    types = {("full" if layer.kind == "mla" else layer.kind, layer.window, layer.state_bytes) for layer in layers}
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
    pages = [
        Paged(layer, count, block_tokens, layer.state_bytes or layer.token_bytes * block_tokens)
        for layer, count in layers.items()
    ]
    if _of_one_type(layers):
        return PoolNeed(pages[0].blocks(context, in_flight, pool), sum(page.count * page.page_bytes for page in pages))
    pages = _equal(pages)
    fewest, most = min(page.count for page in pages), max(page.count for page in pages)
    group_layers = most if most < fewest * MANY_MORE else fewest
    groups = [ceil_div(page.count, group_layers) for page in pages]
    return PoolNeed(
        blocks=sum(n * page.blocks(context, in_flight, pool) for n, page in zip(groups, pages, strict=True)),
        block_bytes=max(ceil_div(page.count, n) * page.page_bytes for n, page in zip(groups, pages, strict=True)),
    )
