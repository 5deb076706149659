"""What a plan may look like besides its costs: how fine it decides, how many patterns and formats it has, how fast.

Every rule is checked here in Python integers, on the assignment alone: the optimizer's own rows are not trusted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from solver.catalog import NATIVE
from solver.optimize.problem import Counts, Problem, UnitClass
from solver.rules.units import Unit

Granularity = Literal["uniform", "role", "block", "unit"]
"""What is decided as one: the whole model, all layers of a role, all layers of a block, or each unit for itself."""

GRANULARITIES: tuple[Granularity, ...] = ("uniform", "role", "block", "unit")

Line = tuple[str, ...]
"""Names of the families of a unit: what one pattern can name in all blocks, and another in a single one."""


def line_of(unit: Unit) -> Line:
    """Return the line that a unit belongs to."""
    return tuple(sorted({member.family.name for member in unit.members}))


@dataclass(frozen=True, slots=True)
class Overrides:
    """At most so many patterns beside the global scheme.

    A line whose own scheme is not the global one takes its `entries`, and each of its units with another scheme takes
    them again: the patterns that are written may be fewer, since one may name several blocks or lines.

    Parameters
    ----------
    limit
        Patterns at most.
    entries
        Patterns that it takes to name the layers of a line.
    cache_entries
        Patterns that an fp8 KV cache adds as soon as there is any other.
    spoils
        Schemes that may not be beside the one that is global, by that one.

    """

    limit: int
    entries: Mapping[Line, int]
    cache_entries: int = 0
    spoils: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def of_row(self, problem: Problem) -> "Overrides":
        """Return the rule for one row of settings: without an fp8 cache nothing is added for it."""
        return self if problem.settings.kv_cache_scheme is not None else replace(self, cache_entries=0)


@dataclass(frozen=True, slots=True)
class SideRules:
    """Rules on whole plans; the plain ones forbid nothing."""

    granularity: Granularity = "unit"
    overrides: Overrides | None = None
    max_formats: int | None = None
    most_ticks: int | None = None
    """Time of one decoding step, the reading of the cache included."""

    @property
    def plain(self) -> bool:
        """Whether nothing is forbidden."""
        return self == SideRules()

    @property
    def only_groups(self) -> bool:
        """Whether units are tied into groups, and that is all."""
        return self == SideRules(granularity=self.granularity)

    def apart(self, problem: Problem) -> Problem:
        """Return the problem, with each unit for itself where blocks are groups: counts do not say which is where."""
        return separated(problem) if self.granularity == "block" else problem

    def broken_by(self, problem: Problem, counts: Counts) -> str | None:
        """Return what an assignment breaks, in words; None if it keeps all rules."""
        if self.most_ticks is not None and problem.vector(counts)[2] + problem.cache_ticks > self.most_ticks:
            return "a decoding step takes longer than it may"
        if self.max_formats is not None and len(_schemes(problem, counts) - {NATIVE}) > self.max_formats:
            return f"more than {self.max_formats} schemes"
        if self.overrides is not None and count_overrides(problem, counts, self.overrides) > self.overrides.limit:
            return f"more than {self.overrides.limit} overrides"
        for group in groups_of(problem, self.granularity):
            if not any(_takes(problem, counts, group, places) for _, places in group.choices):
                return f"more than one scheme in {group.name}"
        return None


def _schemes(problem: Problem, counts: Counts) -> set[str]:
    return {name for part, taken in zip(problem.classes, counts, strict=True) for name in _taken(part, taken)}


def _taken(part: UnitClass, taken: tuple[int, ...]) -> dict[str, int]:
    return {option.scheme: number for option, number in zip(part.options, taken, strict=True) if number}


NO_RULES = SideRules()


def lines_in(problem: Problem) -> dict[Line, list[int]]:
    """Return the indices of the classes of each line."""
    lines: dict[Line, list[int]] = defaultdict(list)
    for index, part in enumerate(problem.classes):
        lines[line_of(part.units[0])].append(index)
    return lines


def count_overrides(problem: Problem, counts: Counts, rule: Overrides) -> int:
    """Return the overrides of an assignment under the global scheme that needs the fewest."""
    rule = rule.of_row(problem)
    used = _schemes(problem, counts) - {NATIVE}
    lines = []
    for line, indices in lines_in(problem).items():
        units: Counter[str] = Counter()
        for index in indices:
            units.update(_taken(problem.classes[index], counts[index]))
        lines.append((rule.entries[line], units))
    found = [
        _with_global(name, lines, rule.cache_entries)
        for name in sorted(used)
        if used.isdisjoint(rule.spoils.get(name, frozenset()))
    ]
    if not used:
        # With nothing quantized, each line is excluded.
        return sum(entries for entries, _ in lines) + rule.cache_entries
    return min(found, default=rule.limit + 1)


def _with_global(name: str, lines: list[tuple[int, Counter[str]]], cache_entries: int) -> int:
    total = 0
    for entries, units in lines:
        # A line that is native as a whole is one exclude; with some blocks quantized, each native one is excluded.
        whole = [0 if scheme == name else entries for scheme in units] if len(units) == 1 else []
        most = max((number for scheme, number in units.items() if scheme != NATIVE), default=0)
        kept = units.get(name, 0)
        mixed = min(units.total() - kept, units.total() - most + 1) * entries
        total += min([*whole, mixed])
    return total + cache_entries * (total > 0)


@dataclass(frozen=True, slots=True)
class Group:
    """Classes whose units are decided as one: for each scheme, the option that each class takes then."""

    name: str
    classes: tuple[int, ...]
    choices: tuple[tuple[str, tuple[int, ...]], ...]


def _takes(problem: Problem, counts: Counts, group: Group, places: tuple[int, ...]) -> bool:
    chosen = zip(group.classes, places, strict=True)
    return all(counts[index][place] == problem.classes[index].count for index, place in chosen)


def _key(part: UnitClass, granularity: Granularity) -> str:
    unit = part.units[0]
    blocks = {member.block for member in unit.members}
    if granularity == "uniform":
        return "the model"
    if granularity == "role":
        return ", ".join(sorted({member.family.role for member in unit.members}))
    # What spans blocks, as the layers that feed an fp8 cache do, is decided for itself.
    return f"block {unit.first_block}" if len(blocks) == 1 and blocks != {None} else unit.name


def _choices(problem: Problem, classes: list[int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield each scheme that some class may have; the others are native then, if they may be.

    What the checkpoint stores quantized takes the scheme too, or stays as it is.
    """
    by_name = [
        {option.scheme: place for place, option in enumerate(problem.classes[index].options)} for index in classes
    ]
    avoided = any(avoids_native(problem, problem.classes[index]) for index in classes)
    names = dict.fromkeys(name for places in by_name for name in places if not (avoided and name == NATIVE))
    for name in names:
        found = [places.get(name, places.get(NATIVE)) for places in by_name]
        whole = tuple(place for place in found if place is not None)
        if len(whole) == len(found):
            yield name, whole
            stays = [
                _is_stored(problem.classes[index]) and NATIVE in places
                for index, places in zip(classes, by_name, strict=True)
            ]
            takes = any(name in places and not stay for stay, places in zip(stays, by_name, strict=True))
            if name != NATIVE and any(stays) and takes:
                kept = zip(stays, by_name, whole, strict=True)
                yield name, tuple(places[NATIVE] if stay else place for stay, places, place in kept)


def avoids_native(problem: Problem, part: UnitClass) -> bool:
    """Return whether the units of a class are to be quantized if they may be; what is stored quantized may stay so."""
    return problem.avoids_native and len(part.options) > 1 and not _is_stored(part)


def _is_stored(part: UnitClass) -> bool:
    return all(member.family.stored is not None for member in part.units[0].members)


def groups_of(problem: Problem, granularity: Granularity) -> tuple[Group, ...]:
    """Return what is decided as one; units with a single option are no part of it.

    Blocks need a problem whose units are classes of their own (`separated`).
    """
    if granularity == "unit":
        return ()
    keys: dict[str, list[int]] = defaultdict(list)
    for index, part in enumerate(problem.classes):
        if len(part.options) > 1:
            keys[_key(part, granularity)].append(index)
    return tuple(Group(name, tuple(classes), tuple(_choices(problem, classes))) for name, classes in keys.items())


def uniform_counts(problem: Problem) -> Iterator[Counts]:
    """Yield the assignments with one scheme wherever it may be, and no other; native counts as none."""
    groups = groups_of(problem, "uniform")
    ways = [dict(zip(group.classes, places, strict=True)) for group in groups for _, places in group.choices]
    for chosen in ways if groups else [{}]:
        counts = tuple(
            tuple(part.count * (place == chosen.get(index, 0)) for place in range(len(part.options)))
            for index, part in enumerate(problem.classes)
        )
        if len(_schemes(problem, counts) - {NATIVE}) == 1:
            yield counts


def separated(problem: Problem) -> Problem:
    """Return the problem with each unit as a class of its own, so that counts say which unit takes what."""
    classes = (UnitClass((unit,), part.options) for part in problem.classes for unit in part.units)
    return replace(problem, classes=tuple(classes))
