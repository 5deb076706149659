"""Patterns in the order of the alphabet, which is the only one that an exported checkpoint keeps.

Quark reads patterns in the order in which it is given them; transformers 5.24 then writes `config.json` with sorted
keys (`PretrainedConfig.to_json_string`), and whoever loads the checkpoint finds them in that order.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from solver.plan.written import QuarkPatterns
from solver.rules.patterns import first_match, matches
from solver.rules.units import Member


def in_alphabet(entries: Mapping[str, str]) -> dict[str, str]:
    """Return layer patterns in the order in which an export lists them."""
    return dict(sorted(entries.items()))


def _contradicted(patterns: QuarkPatterns, members: Iterable[Member]) -> dict[str, set[str]]:
    """Return the patterns that have to be read later than each, because they would give its layers another scheme."""
    entries = patterns.layer_quant_config
    found: dict[str, set[str]] = {pattern: set() for pattern in entries}
    for member in members:
        decider = first_match(entries, member.family, member.block)
        if decider is None or patterns.excludes(member):
            continue
        others = (pattern for pattern in entries if entries[pattern] != entries[decider])
        found[decider].update(pattern for pattern in others if matches(pattern, member.family, member.block))
    return found


def spelled_in_order(patterns: QuarkPatterns, members: Iterable[Member]) -> QuarkPatterns:
    """Return the same patterns, spelled so that the alphabet has them in an order that means the same.

    A glob means the same with another `*` before its first one, and comes earlier in the alphabet. Before a bare `*`
    nothing comes: it is written `?*`.
    """
    entries = patterns.layer_quant_config
    if len({*entries.values()}) < 2:
        return replace(patterns, layer_quant_config=in_alphabet(entries))
    later = _contradicted(patterns, members)
    spelled: dict[str, str] = {}
    for pattern in reversed(entries):
        found = pattern if pattern.strip("*") else "?*"
        while any(spelled[other] < found for other in later[pattern]):
            found = f"*{found}"
        spelled[pattern] = found
    return replace(
        patterns, layer_quant_config=in_alphabet({spelled[pattern]: scheme for pattern, scheme in entries.items()})
    )
