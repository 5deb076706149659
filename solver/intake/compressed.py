"""The caches of attention that compresses what lies before its window.

Source: vLLM 0.33.0, models/deepseek_v4/attention.py and compressor.py, v1/attention/backends/mla/sparse_swa.py
(get_kv_cache_spec of each cache).
"""

from collections.abc import Iterator
from typing import Any

from solver.catalog.caches import CacheFields, CompressedFields, Compression
from solver.catalog.fields import ConfigFields, first_field
from solver.intake.cache_group import CacheGroup

UINT8 = "uint8"


def _entry_bytes(config: Any, fields: CompressedFields) -> int:
    """Return the bytes of a latent in 8 bits, its rotary part, and its scales."""
    rotary = int(first_field(fields.rotary, config))
    plain = int(config.head_dim) - rotary
    return plain + rotary * fields.rotary_bytes + plain // fields.scale_block + fields.scale_padding


def _cache(
    kind: str, fields: CompressedFields, elements: int, dtype: str, block_tokens: int, **more: int
) -> CacheGroup:
    return CacheGroup.model_validate(
        {
            "kind": kind,
            "blocks": 1,
            "key_elements": elements,
            "dtype": dtype,
            "block_tokens": block_tokens,
            "page_alignment": fields.page_alignment,
            **more,
        }
    )


def _awaiting(width: int, rate: int, how: Compression, fields: CompressedFields) -> CacheGroup:
    """Return what awaits compression: keys and scores of each entry that a token goes into."""
    elements = 2 * how.overlap * width
    window = how.overlap * rate
    return _cache("sliding", fields, elements, fields.state_dtype, how.state_block_tokens, window=window)


def _compressed(config: Any, rate: int, caches: CacheFields) -> Iterator[CacheGroup]:
    """Yield what one block keeps beside its window."""
    fields = caches.compressed
    how = fields.compressions[rate]
    entry = {"tokens_per_entry": rate}
    yield _cache("mla", fields, _entry_bytes(config, fields), UINT8, fields.block_tokens, **entry)
    yield _awaiting(int(config.head_dim), rate, how, fields)
    if how.indexed:
        key = int(first_field(caches.indexer.key, config))
        yield _cache("mla", fields, caches.indexer.key_bytes(key), UINT8, fields.block_tokens, **entry)
        yield _awaiting(key, rate, how, fields)


def compressed_blocks(
    config: Any, fields: ConfigFields, caches: CacheFields, missing: list[str]
) -> Iterator[tuple[int, CacheGroup]]:
    """Yield the caches of each block, and add to `missing` those of rates that are not known."""
    layout = caches.compressed
    rates = first_field(layout.rates, config)
    width, window = _entry_bytes(config, layout), fields.first("window", config)
    seen = _cache("sliding", layout, width, UINT8, layout.window_block_tokens, window=window)
    compressed: set[int] = set()
    for block, layer_type in enumerate(config.layer_types):
        yield block, seen
        if fields.layer_types.cache_of(layer_type) == "sliding":
            continue
        if rates.get(layer_type) not in layout.compressions:
            missing.append(f"cache of layer type {layer_type!r} beside its window (taken as 0)")
            continue
        compressed.add(int(rates[layer_type]))
        yield from ((block, group) for group in _compressed(config, int(rates[layer_type]), caches))
    if compressed and not any(layout.compressions[rate].indexed for rate in compressed):
        missing.append("caches of compressed attention without an indexer, whose pages vLLM 0.33 refuses to unify")
