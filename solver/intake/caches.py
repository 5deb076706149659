"""What each block keeps of the past: keys and values, a latent, or a fixed state."""

from collections import defaultdict
from collections.abc import Iterator
from math import gcd
from typing import Any

from solver.catalog.caches import CacheFields
from solver.catalog.fields import ConfigFields, first_field
from solver.intake.cache_group import CacheGroup
from solver.intake.compressed import compressed_blocks
from solver.intake.record import to_ranges
from solver.intake.states import find_state


def block_config(config: Any, block: int) -> Any:
    """Return the configuration of one block: heterogeneous models have one for each."""
    per_block = getattr(config, "per_layer_config", None)
    return per_block[block] if per_block else config


def common_heads(config: Any) -> int | None:
    """Return the attention heads of a block or, where blocks differ, the most that divide those of each.

    That is what tensor parallelism has to divide. None where a block has none.
    """
    per_block = getattr(config, "per_layer_config", None) or [config]
    found = {getattr(block, "num_attention_heads", None) for block in per_block}
    numbers = [heads for heads in found if isinstance(heads, int) and heads > 0]
    return gcd(*numbers) if numbers and len(numbers) == len(found) else None


def _head_dim(config: Any) -> int:
    explicit = getattr(config, "head_dim", None)
    return int(explicit) if explicit else config.hidden_size // config.num_attention_heads


def _kv_heads(config: Any) -> int:
    if getattr(config, "multi_query", False) and not getattr(config, "new_decoder_architecture", False):
        return 1
    explicit = getattr(config, "num_key_value_heads", None) or getattr(config, "num_kv_heads", None)
    return int(explicit or config.num_attention_heads)


def _block_kinds(config: Any, fields: ConfigFields) -> list[str]:
    """Return the layer type of each block; `full` or `sliding` where the configuration lists none."""
    types = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None)
    if types:
        return [str(kind) for kind in types]
    windowed = fields.first("window", config) is not None and getattr(config, "use_sliding_window", True)
    name = fields.layer_types.sliding[0] if windowed else fields.layer_types.full[0]
    return [name] * config.num_hidden_layers


def _attention(kind: str, config: Any, fields: ConfigFields) -> CacheGroup:
    head_dim = _head_dim(config)
    return CacheGroup.model_validate(
        {
            "kind": kind,
            "blocks": 1,
            "kv_heads": _kv_heads(config),
            "key_elements": head_dim,
            "value_elements": int(getattr(config, "v_head_dim", None) or head_dim),
            "window": fields.first("window", config) if kind in {"sliding", "chunked"} else None,
        }
    )


def _state(layer_type: str, config: Any, caches: CacheFields, missing: list[str]) -> Iterator[CacheGroup]:
    """Yield the state of a block, or add to `missing` that it is not known."""
    found = find_state(config, caches)
    if found is None:
        missing.append(f"size of the state of layer type {layer_type!r} (taken as 0)")
    else:
        yield CacheGroup(kind="state", blocks=1, recurrence=found[0], state=found[1])


def _latent_blocks(
    config: Any, fields: ConfigFields, caches: CacheFields, missing: list[str]
) -> Iterator[tuple[int, CacheGroup]]:
    """Yield the caches of latent attention, of its indexer where it is sparse, and the states of other blocks."""
    width = int(first_field(caches.latent.rank, config)) + int(first_field(caches.latent.rotary, config))
    latent = CacheGroup(kind="mla", blocks=1, key_elements=width)
    for block, layer_type in enumerate(getattr(config, "layer_types", None) or [""] * config.num_hidden_layers):
        if fields.layer_types.cache_of(layer_type) == "state":
            yield from ((block, group) for group in _state(layer_type, config, caches, missing))
        else:
            yield block, latent
    index = caches.indexer
    key = first_field(index.key, config)
    if key:
        types = first_field(index.types, config) or [index.own[0]] * config.num_hidden_layers
        keys = CacheGroup(kind="mla", blocks=1, key_elements=index.key_bytes(int(key)), dtype="uint8")
        yield from ((block, keys) for block, kind in enumerate(types) if kind in index.own)


def _blocks(
    config: Any, fields: ConfigFields, caches: CacheFields, missing: list[str], image_tokens: int | None
) -> Iterator[tuple[int, CacheGroup]]:
    """Yield the cache of each block that has one, and add to `missing` what is not known."""
    kinds = _block_kinds(config, fields)
    own = len(kinds) - int(first_field(caches.shared_layers, config) or 0)
    crossed = first_field(caches.images.layers, config) or ()
    if crossed and image_tokens is None:
        missing.append(f"caches of the {len(crossed)} layers that attend to an image (taken as 0)")
    for block, layer_type in enumerate(kinds[:own]):
        if block in crossed:
            if image_tokens is not None:
                seen = _attention("full", block_config(config, block), fields)
                yield block, seen.model_copy(update={"kind": "image", "image_tokens": image_tokens})
            continue
        kind = fields.layer_types.cache_of(layer_type)
        if kind is None:
            missing.append(
                f"cache of layer type {layer_type!r} (taken as full attention, which may be several times "
                "too much or too little)"
            )
        own_config = block_config(config, block)
        if kind in {"state", "both"}:
            yield from ((block, group) for group in _state(layer_type, own_config, caches, missing))
        if kind not in {"state", "none"}:
            yield block, _attention("full" if kind in {None, "both"} else kind, own_config, fields)


def cache_groups(
    config: Any, fields: ConfigFields, caches: CacheFields, whole: Any = None
) -> tuple[tuple[CacheGroup, ...], list[str]]:
    """Return the caches of a text configuration, and what could not be known of them.

    Parameters
    ----------
    config
        A transformers configuration of a decoder; heterogeneous ones have one for each block.
    fields, caches
        Names under which configurations keep their facts.
    whole
        The configuration that `config` is the text part of; it describes images.

    """
    missing: list[str] = []
    if first_field(caches.compressed.rates, config) is not None:
        found = compressed_blocks(config, fields, caches, missing)
    elif first_field(caches.latent.rank, config) is not None:
        found = _latent_blocks(config, fields, caches, missing)
    else:
        found = _blocks(config, fields, caches, missing, caches.images.tokens(whole))
    blocks: dict[CacheGroup, list[int]] = defaultdict(list)
    for block, group in found:
        blocks[group].append(block)
    groups = tuple(group.model_copy(update={"blocks": len(at), "at": to_ranges(at)}) for group, at in blocks.items())
    return groups, list(dict.fromkeys(missing))
