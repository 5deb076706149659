"""What a plan may look like besides its costs: how fine it decides, how many patterns and formats it has, how fast.

Every rule is checked here in Python integers, on the assignment alone: the optimizer's own rows are not trusted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from solver.catalog import NATIVE
from solver.optimize.groups import Granularity, Group, groups_of, separated
from solver.optimize.problem import Counts, Problem, UnitClass
from solver.rules.units import Unit

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
    max_schemes: int | None = None
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
        if self.max_schemes is not None and len(_schemes(problem, counts) - {NATIVE}) > self.max_schemes:
            return f"more than {self.max_schemes} schemes"
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


def _takes(problem: Problem, counts: Counts, group: Group, places: tuple[int, ...]) -> bool:
    chosen = zip(group.classes, places, strict=True)
    return all(counts[index][place] == problem.classes[index].count for index, place in chosen)


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
