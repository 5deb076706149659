"""Plans that decide whole groups of units as one: a problem over the groups, and what makes them whole again."""

from dataclasses import replace

from solver.optimize.groups import Granularity, Group, groups_of
from solver.optimize.problem import Counts, Option, Problem, UnitClass
from solver.optimize.reductions import without_dominated
from solver.rules.units import Unit


def _options(problem: Problem, group: Group) -> tuple[Option, ...]:
    """Return the options of a group: each scheme, with the costs of all of its units."""
    options = []
    for name, places in group.choices:
        chosen = [(problem.classes[index], place) for index, place in zip(group.classes, places, strict=True)]
        vectors = [[part.count * cost for cost in part.options[place].vector] for part, place in chosen]
        options.append(Option(name, *(sum(costs) for costs in zip(*vectors, strict=True))))
    return tuple(options)


def _without_dominated(problem: Problem, group: Group) -> Group:
    options = _options(problem, group)
    kept = without_dominated(options)
    choices = zip(group.choices, options, strict=True)
    return replace(group, choices=tuple(choice for choice, option in choices if option in kept))


class Grouped:
    """A problem with a class for each group, and for each unit that is in none.

    Parameters
    ----------
    problem
        With a class for each unit, where blocks are the groups.
    granularity
        What a group is.
    dominated
        Whether groups keep the options that another is no worse than: a rule on whole plans may need them.

    """

    def __init__(self, problem: Problem, granularity: Granularity, *, dominated: bool = False) -> None:
        self._whole = problem
        found = groups_of(problem, granularity)
        self._groups = found if dominated else tuple(_without_dominated(problem, group) for group in found)
        grouped = {index for group in self._groups for index in group.classes}
        self._alone = [index for index in range(len(problem.classes)) if index not in grouped]
        together = [UnitClass((Unit(group.name, ()),), _options(problem, group)) for group in self._groups]
        classes = (*together, *(problem.classes[index] for index in self._alone))
        self.problem = replace(problem, classes=classes, avoids_native=False)

    @property
    def possible(self) -> bool:
        """Whether every group has a scheme for all of its units."""
        return all(group.choices for group in self._groups)

    def expanded(self, counts: Counts) -> Counts:
        """Return counts of the whole problem for those of the groups."""
        found: dict[int, tuple[int, ...]] = {}
        for group, taken in zip(self._groups, counts, strict=False):
            _, places = group.choices[taken.index(1)]
            for index, place in zip(group.classes, places, strict=True):
                part = self._whole.classes[index]
                found[index] = tuple(part.count if number == place else 0 for number in range(len(part.options)))
        found.update(zip(self._alone, counts[len(self._groups) :], strict=True))
        return tuple(found[index] for index in range(len(self._whole.classes)))
