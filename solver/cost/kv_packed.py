"""How vLLM packs layers with unequal pages into one block.

Source: vLLM 0.33.0, v1/core/kv_cache_planning.py (_get_packed_kv_cache_groups, _approximate_gcd). Layers that always
need the same blocks are one bucket. A bucket that has as many layers of each page size is a pattern that repeats; such
buckets are split into groups of about the same number of repeats, and the others stay whole.
"""

from collections import defaultdict

from solver.catalog.backend import KVPool
from solver.cost.kv_pages import Paged, PoolNeed
from solver.units import ceil_div

Bucket = dict[int, int]
"""How many layers of a bucket have a page of each size in bytes."""


def _buckets(pages: list[Paged]) -> list[tuple[Paged, Bucket]]:
    """Return buckets, each with one of its layers."""
    found: dict[tuple[int, int | None], tuple[Paged, Bucket]] = {}
    for page in pages:
        _, bucket = found.setdefault((page.block_tokens, page.layer.window), (page, defaultdict(int)))
        bucket[page.page_bytes] += page.count
    return list(found.values())


def _balanced(bucket: Bucket) -> bool:
    return len(set(bucket.values())) == 1


def _repeats(buckets: list[Bucket]) -> int | None:
    """Return the repeats of a group: those that leave the fewest places empty, and of such the most.

    None where no pattern has pages of several sizes.
    """
    patterns = [bucket for bucket in buckets if _balanced(bucket)]
    counts = [max(bucket.values()) for bucket in patterns]
    mixed = [max(bucket.values()) for bucket in patterns if len(bucket) > 1]
    if not mixed:
        return None
    return min(range(max(mixed), max(counts) + 1), key=lambda size: (sum(-count % size for count in counts), -size))


def _widest(bucket: Bucket, groups: int) -> int:
    """Return the bytes of a block for the largest of the groups that a bucket splits into."""
    return sum(ceil_div(count, groups) * page for page, count in bucket.items())


def packed_need(pages: list[Paged], context: int, in_flight: int, pool: KVPool) -> PoolNeed:
    """Return what one sequence of `context` tokens needs of a pool whose blocks hold unequal pages.

    Where no pattern says how to split, buckets of windows are split until they fit the block that the rest needs.
    """
    buckets = _buckets(pages)
    repeats = _repeats([bucket for _, bucket in buckets])

    def fixed_groups(bucket: Bucket) -> int:
        return ceil_div(max(bucket.values()), repeats) if repeats and _balanced(bucket) else 1

    splits = [repeats is None and of.layer.kind == "sliding" for of, _ in buckets]
    anchor = max(
        _widest(bucket, sum(bucket.values()) if split else fixed_groups(bucket))
        for (_, bucket), split in zip(buckets, splits, strict=True)
    )
    blocks, block_bytes = 0, 0
    for (of, bucket), split in zip(buckets, splits, strict=True):
        fitting = max(anchor // of.page_bytes, 1)
        groups = ceil_div(sum(bucket.values()), fitting) if split else fixed_groups(bucket)
        blocks += groups * of.blocks(context, in_flight, pool)
        block_bytes = max(block_bytes, _widest(bucket, groups))
    return PoolNeed(blocks, block_bytes)
