"""What each block keeps of the past: keys and values, a latent, or a fixed state."""

from collections import Counter
from typing import Any

from solver.catalog.fields import ConfigFields
from solver.intake.inventory import CacheGroup


def block_config(config: Any, block: int) -> Any:
    """Return the configuration of one block: heterogeneous models have one for each."""
    per_block = getattr(config, "per_layer_config", None)
    return per_block[block] if per_block else config


def _head_dim(config: Any) -> int:
    explicit = getattr(config, "head_dim", None)
    return int(explicit) if explicit else config.hidden_size // config.num_attention_heads


def _kv_heads(config: Any) -> int:
    if getattr(config, "multi_query", False) and not getattr(config, "new_decoder_architecture", False):
        return 1
    explicit = getattr(config, "num_key_value_heads", None) or getattr(config, "num_kv_heads", None)
    return int(explicit or config.num_attention_heads)


def _state_elements(config: Any) -> int | None:
    """Return the state of one sequence in one block, or None if its geometry is not known.

    Gated delta rule (Qwen3-Next, Qwen3.5): a key x value matrix for each value head and the window of a
    convolution over queries, keys and values. Mamba-2: a head_dim x state matrix for each head and a convolution
    over heads and groups. LFM2: the window of a convolution over the hidden size. (vLLM 0.33,
    model_executor/layers/mamba/mamba_utils.py.)
    """
    value_heads = getattr(config, "linear_num_value_heads", None)
    if value_heads:
        keys = config.linear_num_key_heads * config.linear_key_head_dim
        values = value_heads * config.linear_value_head_dim
        window = config.linear_conv_kernel_dim - 1
        return int(
            value_heads * config.linear_key_head_dim * config.linear_value_head_dim + window * (2 * keys + values)
        )
    heads = getattr(config, "mamba_n_heads", None) or getattr(config, "mamba_num_heads", None)
    if heads:
        head_dim = getattr(config, "mamba_d_head", None) or config.mamba_head_dim
        state = getattr(config, "mamba_d_state", None) or config.ssm_state_size
        groups = getattr(config, "mamba_n_groups", None) or config.n_groups
        window = (getattr(config, "mamba_d_conv", None) or config.conv_kernel) - 1
        return int(heads * head_dim * state + window * (heads * head_dim + 2 * groups * state))
    window = getattr(config, "conv_L_cache", None)
    return int((window - 1) * config.hidden_size) if window else None


def _block_kinds(config: Any, fields: ConfigFields) -> list[str]:
    """Return the layer type of each block; `full` or `sliding` where the configuration lists none."""
    types = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None)
    if types:
        return [str(kind) for kind in types]
    windowed = fields.first("window", config) is not None and getattr(config, "use_sliding_window", True)
    name = fields.layer_types.sliding[0] if windowed else fields.layer_types.full[0]
    return [name] * config.num_hidden_layers


def _attention(kind: str, config: Any, fields: ConfigFields) -> dict[str, Any]:
    head_dim = _head_dim(config)
    return {
        "kind": kind,
        "kv_heads": _kv_heads(config),
        "key_elements": head_dim,
        "value_elements": int(getattr(config, "v_head_dim", None) or head_dim),
        "window": fields.first("window", config) if kind in {"sliding", "chunked"} else None,
    }


def cache_groups(config: Any, fields: ConfigFields) -> tuple[tuple[CacheGroup, ...], list[str]]:
    """Return the caches of a text configuration, and what could not be known of them.

    Parameters
    ----------
    config
        A transformers configuration of a decoder; heterogeneous ones have one for each block.
    fields
        Names under which configurations keep their facts.

    """
    latent = getattr(config, "kv_lora_rank", None)
    if latent:
        width = int(latent) + int(config.qk_rope_head_dim)
        return (CacheGroup(kind="mla", blocks=config.num_hidden_layers, key_elements=width),), []
    missing: list[str] = []
    counts: Counter[CacheGroup] = Counter()
    for block, layer_type in enumerate(_block_kinds(config, fields)):
        own = block_config(config, block)
        kind = fields.layer_types.cache_of(layer_type)
        if kind is None:
            missing.append(f"cache of layer type {layer_type!r} (taken as full attention)")
        if kind == "state":
            elements = _state_elements(own)
            if elements is None:
                missing.append(f"size of the state of layer type {layer_type!r} (taken as 0)")
            counts[CacheGroup(kind="state", blocks=1, state_elements=elements or 0)] += 1
        elif kind != "none":
            counts[CacheGroup.model_validate({"blocks": 1, **_attention(kind or "full", own, fields)})] += 1
    groups = tuple(group.model_copy(update={"blocks": blocks}) for group, blocks in counts.items())
    return groups, list(dict.fromkeys(missing))
