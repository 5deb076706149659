"""Pages of the layers of a model, and what a sequence takes of them."""

from dataclasses import dataclass

from solver.catalog.backend import KVPool
from solver.cost.kv_layers import LayerCache
from solver.units import ceil_div


@dataclass(frozen=True, slots=True)
class Paged:
    """Layers of one form, and the page that each has in a block."""

    layer: LayerCache
    count: int
    block_tokens: int
    page_bytes: int
    alone: bool = False
    """Whether the model has states and nothing else."""

    def blocks(self, context: int, in_flight: int, pool: KVPool) -> int:
        """Return the blocks that one sequence takes in each group of these layers.

        A sliding window may begin within a block, so it takes one more.
        """
        if self.alone:
            return pool.state_blocks_without_attention
        if self.layer.kind == "state":
            assert self.layer.recurrence is not None
            return pool.state_blocks[self.layer.recurrence]
        return ceil_div(self.layer.tokens(context, in_flight), self.block_tokens) + (self.layer.kind == "sliding")


@dataclass(frozen=True, slots=True)
class PoolNeed:
    """Blocks of one sequence at most, and the bytes of each."""

    blocks: int
    block_bytes: int
