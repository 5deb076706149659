"""What Quark makes of layers that feed an fp8 KV cache: one configuration for each KV pattern of the template."""

from collections.abc import Mapping

from solver.rules.patterns import matches_path

ATTENTION_WORDS = ("attn", "attention")
"""amd-quark 0.13, template.py `_ATTN_TOKENS`: what marks an entry as one of attention layers."""


def names_pattern(entry: str, kv_pattern: str) -> bool:
    """Return whether an entry matches the KV pattern itself, as text: it is preferred to all others."""
    return matches_path(entry, kv_pattern)


def names_attention(entry: str, kv_pattern: str) -> bool:
    """Return whether an entry ends in the leaf of the KV pattern, or names an attention module."""
    leaf = kv_pattern.rsplit(".", 1)[-1].strip("*")
    return (bool(leaf) and entry.endswith(leaf)) or any(word in entry for word in ATTENTION_WORDS)


def kv_scheme(kv_pattern: str, entries: Mapping[str, str], global_scheme: str) -> str:
    """Return the scheme of all layers of a KV pattern, as `LLMTemplate._set_kv_cache_config` of amd-quark 0.13 does."""
    named = [entry for entry in entries if names_pattern(entry, kv_pattern)]
    found = named or [entry for entry in entries if names_attention(entry, kv_pattern)]
    return entries[found[0]] if found else global_scheme
