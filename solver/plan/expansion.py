"""The patterns of a plan read as Quark reads them: layer by layer, down to single experts.

Precedence in amd-quark 0.13 (`setup_config_per_layer`): excluded layers are native; an exact name decides before any
glob; then the first glob that matches; then the global scheme. A quantized KV cache comes last and gives all layers of
one KV pattern one configuration (`setup_kv_cache_config`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate

from solver.catalog import NATIVE
from solver.intake.inventory import Inventory
from solver.plan.document import Alternative, QuantPlan
from solver.rules.kv_entries import kv_schemes
from solver.rules.patterns import tells_experts_apart
from solver.rules.units import Member

_GLOB = re.compile(r"[*?[]")


Written = Alternative | QuantPlan
"""What selects the scheme of each layer."""


@dataclass(frozen=True)
class Expansion:
    """What a plan gives each layer.

    Parameters
    ----------
    plain
        Scheme by layer, without what the KV cache changes.
    resolved
        Scheme by layer as Quark resolves it.
    torn
        Blocks of experts whose experts differ, with their schemes.
    matched
        How many layers each layer pattern matches.
    layers
        How many layers were read; experts that no pattern can tell apart are counted, and read once.

    """

    plain: dict[Member, str]
    resolved: dict[Member, str]
    torn: dict[Member, tuple[str, ...]]
    matched: Mapping[str, int]
    layers: int


def _first_of(patterns: Sequence[str]) -> re.Pattern[str] | None:
    """Return one expression whose `lastindex` says which pattern is the first to match, or None for no patterns."""
    return re.compile("|".join(f"({translate(pattern)})" for pattern in patterns)) if patterns else None


class _Reader:
    """Reads the patterns of one plan."""

    def __init__(self, plan: Written) -> None:
        self.plan = plan
        self.entries = plan.layer_quant_config
        self._globs = [pattern for pattern in self.entries if _GLOB.search(pattern)]
        self._first_glob = _first_of(self._globs)
        self._excluded = _first_of(plan.exclude_layers)
        self._apart = any(map(tells_experts_apart, (*plan.exclude_layers, *self.entries)))

    def excludes(self, path: str) -> bool:
        return self._excluded is not None and self._excluded.match(path) is not None

    def entry(self, path: str) -> str | None:
        """Return the layer pattern that decides a path, or None."""
        if path in self.entries:
            return path
        found = self._first_glob.match(path) if self._first_glob is not None else None
        return None if found is None or found.lastindex is None else self._globs[found.lastindex - 1]

    def scheme(self, path: str) -> str:
        if self.excludes(path):
            return NATIVE
        entry = self.entry(path)
        return self.plan.global_scheme if entry is None else self.entries[entry]

    def paths(self, member: Member) -> Iterable[str]:
        """Yield the paths to read for the layers of one family in one block."""
        family = member.family
        if not family.experts:
            return [family.path(member.block)]
        experts = range(family.experts) if self._apart else (0,)
        return [family.path(member.block, expert) for expert in experts]

    def cache_schemes(self, kv_patterns: Sequence[str]) -> dict[str, str]:
        """Return the scheme that Quark gives all layers of each KV pattern where none of them is excluded."""
        return kv_schemes(kv_patterns, self.entries, self.plan.global_scheme, self.plan.exclude_layers)


def _with_cache(
    reader: _Reader, plain: Mapping[Member, str], paths: Mapping[Member, str], kv_patterns: Sequence[str]
) -> dict[Member, str]:
    """Return the schemes with those of the layers that feed a quantized KV cache replaced, as Quark does."""
    resolved = dict(plain)
    for pattern, scheme in reader.cache_schemes(kv_patterns).items():
        matched = [member for member, path in paths.items() if fnmatchcase(path, pattern)]
        # An excluded layer takes the weights out of the configuration that all of them share.
        excluded = any(reader.excludes(paths[member]) for member in matched)
        resolved |= dict.fromkeys(matched, NATIVE if excluded else scheme)
    return resolved


def expand(plan: Written, inventory: Inventory, kv_patterns: Sequence[str]) -> Expansion:
    """Return what the patterns of a plan give each layer that Quark sees.

    `kv_patterns` are those of the template; they matter where the plan quantizes the KV cache.
    """
    reader = _Reader(plan)
    plain: dict[Member, str] = {}
    torn: dict[Member, tuple[str, ...]] = {}
    paths: dict[Member, str] = {}
    matched: Counter[str] = Counter()
    layers = 0
    for family in inventory.layers:
        for block in family.block_indices or (None,):
            member = Member(family, block)
            if not family.quantizable:
                plain[member] = NATIVE
                continue
            read = list(reader.paths(member))
            found = dict.fromkeys(map(reader.scheme, read))
            plain[member], *others = found
            if others:
                torn[member] = tuple(found)
            paths[member] = read[0]
            layers += member.layers
    for pattern in plan.layer_quant_config:
        expression = re.compile(translate(pattern))
        matched[pattern] = sum(any(expression.match(path) for path in reader.paths(member)) for member in paths)
    patterns = kv_patterns if plan.kv_cache_scheme is not None else ()
    return Expansion(plain, _with_cache(reader, plain, paths, patterns), torn, matched, layers)
