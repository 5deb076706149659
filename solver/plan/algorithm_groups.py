"""What an algorithm ties: layers that it scales together have one scheme, or are native together."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from solver.catalog import NATIVE
from solver.catalog.algorithm import Algorithm
from solver.optimize.build import AllowedSchemes
from solver.rules.settings import Settings
from solver.rules.units import Member, Partition, Unit, matched_by

_Place = tuple[int | None, str, tuple[str, ...]]
"""Block, module and roles of layers that are scaled together."""


def _places(members: Iterable[Member], groups: Sequence[tuple[str, ...]]) -> set[_Place]:
    """Return where members are scaled together with others."""
    return {
        (member.block, member.family.name.rpartition(".")[0], group)
        for member in members
        for group in groups
        if member.family.quantizable and member.family.role in group
    }


def scaled_together(
    partition: Partition, allowed: AllowedSchemes, algorithms: Sequence[Algorithm]
) -> tuple[Partition, AllowedSchemes]:
    """Return the units with those merged that an algorithm scales together; they may have what all of them may.

    A group of which a part stays native is native as a whole.
    """
    groups = [tuple(group) for algorithm in algorithms for group in algorithm.scales_together]
    by_place: dict[_Place, list[Unit]] = defaultdict(list)
    for unit in partition.units:
        for place in _places(unit.members, groups):
            by_place[place].append(unit)
    torn = _places(partition.native, groups)
    choices, merged = dict(allowed), {unit: unit for unit in partition.units}
    for place, units in by_place.items():
        whole = dict.fromkeys(merged[unit] for unit in units)
        first, *others = whole
        common = set(choices[first]).intersection(*(choices[unit] for unit in others))
        names = tuple(name for name in choices[first] if name in common and (place not in torn or name == NATIVE))
        one = Unit(first.name, tuple(member for unit in whole for member in unit.members)) if others else first
        choices[one] = names
        merged |= {unit: one for unit, now in merged.items() if now in whole}
    found = tuple(dict.fromkeys(merged.values()))
    return Partition(found, partition.native, partition.widened), {unit: choices[unit] for unit in found}


def _feeds_cache(members: Iterable[Member], patterns: Sequence[str]) -> bool:
    return any(matched_by(Unit("", (member,)), pattern) for member in members for pattern in patterns)


def under_algorithms(
    partition: Partition, allowed: AllowedSchemes, row: Settings, kv_patterns: Sequence[str]
) -> tuple[Partition, AllowedSchemes]:
    """Return units and what they may have under a row's algorithms; no schemes where a row cannot be."""
    partition, allowed = scaled_together(partition, allowed, row.algorithms)
    if row.kv_cache_scheme is None or not any(item.stops_at_native_cache_layers for item in row.algorithms):
        return partition, allowed
    # The layers that feed a quantized cache carry its scales, and the algorithm then expects quantized weights.
    stopped = _feeds_cache((m for m in partition.native if m.family.quantizable), kv_patterns)
    return partition, {
        unit: tuple(name for name in names if name != NATIVE and not stopped)
        if _feeds_cache(unit.members, kv_patterns) or stopped
        else names
        for unit, names in allowed.items()
    }


def torn_groups(schemes: Mapping[Member, str], row: Settings, kv_patterns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the layers on which a row's algorithms fail under given schemes, each with the reason."""
    for algorithm in row.algorithms:
        found: dict[_Place, dict[str, str]] = defaultdict(dict)
        for member, scheme in schemes.items():
            for place in _places([member], algorithm.scales_together):
                found[place][scheme] = member.family.path(member.block)
        for given in found.values():
            if len(given) > 1:
                yield " and ".join(given.values()), f"{algorithm.name} scales them together: {' and '.join(given)}"
        if row.kv_cache_scheme is not None and algorithm.stops_at_native_cache_layers:
            native = [member for member, scheme in schemes.items() if scheme == NATIVE and member.family.quantizable]
            for member in native:
                if _feeds_cache([member], kv_patterns):
                    reason = f"{algorithm.name} fails where what feeds a quantized KV cache is native"
                    yield member.family.path(member.block), reason
