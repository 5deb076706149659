"""What Quark makes of layers that feed an fp8 KV cache: one configuration for each KV pattern of the template."""

from collections.abc import Iterable, Mapping

from solver.catalog import NATIVE
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


def kv_schemes(
    kv_patterns: Iterable[str], entries: Mapping[str, str], global_scheme: str, excludes: Iterable[str] = ()
) -> dict[str, str]:
    """Return the scheme of all layers of each KV pattern, as `LLMTemplate._set_kv_cache_config` of amd-quark 0.13 does.

    Quark adds an entry for each pattern, which those after it may find. A pattern that an exclude matches as text is
    native; excludes of single layers are not looked at.
    """
    known, found = dict(entries), {}
    for pattern in kv_patterns:
        if any(matches_path(exclude, pattern) for exclude in excludes):
            found[pattern] = NATIVE
            continue
        named = [entry for entry in known if names_pattern(entry, pattern)]
        base = next(iter(named or [entry for entry in known if names_attention(entry, pattern)]), None)
        found[pattern] = known[pattern] = global_scheme if base is None else known[base]
    return found
