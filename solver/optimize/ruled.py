"""Side rules as rows of the CP-SAT model."""

from collections.abc import Iterator, Sequence

from ortools.sat.python import cp_model

from solver.catalog import NATIVE
from solver.optimize.cpsat import CountModel, Shape
from solver.optimize.groups import avoids_native, groups_of
from solver.optimize.problem import Problem
from solver.optimize.side_rules import Overrides, SideRules, lines_in


class _Rows:
    """Adds the rows of some rules to one model."""

    def __init__(self, model: CountModel, problem: Problem, rules: SideRules) -> None:
        self._model, self._problem, self._rules = model.model, problem, rules
        self._taken = model.taken
        self._used: dict[str, cp_model.IntVar] = {}

    def add(self) -> None:
        """Add all rows."""
        self._avoid_native()
        self._tie()
        if self._rules.max_schemes is not None:
            self._model.add(sum(self._use(name) for name in self._schemes()) <= self._rules.max_schemes)
        if self._rules.overrides is not None:
            self._limit_overrides(self._rules.overrides.of_row(self._problem))

    def _schemes(self) -> list[str]:
        names = {option.scheme for part in self._problem.classes for option in part.options}
        return sorted(names - {NATIVE})

    def _of(self, name: str, classes: Sequence[int] | None = None) -> Iterator[tuple[cp_model.IntVar, int]]:
        """Yield the counts of a scheme, with the most that each may be."""
        for index in range(len(self._problem.classes)) if classes is None else classes:
            part = self._problem.classes[index]
            for option, variable in zip(part.options, self._taken[index], strict=True):
                if option.scheme == name:
                    yield variable, part.count

    def _avoid_native(self) -> None:
        for index, part in enumerate(self._problem.classes):
            # A group may need it where the scheme of the others cannot be had.
            if self._rules.granularity == "unit" and avoids_native(self._problem, part):
                for variable, _ in self._of(NATIVE, [index]):
                    self._model.add(variable == 0)

    def _tie(self) -> None:
        for group in groups_of(self._problem, self._rules.granularity):
            chosen = [self._model.new_bool_var(f"{group.name} {name}") for name, _ in group.choices]
            self._model.add_exactly_one(chosen)
            for position, index in enumerate(group.classes):
                count = self._problem.classes[index].count
                for place, variable in enumerate(self._taken[index]):
                    ways = zip(chosen, group.choices, strict=True)
                    makes = [choice for choice, (_, places) in ways if places[position] == place]
                    self._model.add(variable == count * sum(makes))

    def _use(self, name: str) -> cp_model.IntVar:
        """Return whether a scheme has any layer."""
        if name not in self._used:
            used = self._used[name] = self._model.new_bool_var(f"used {name}")
            for variable, count in self._of(name):
                self._model.add(variable <= count * used)
        return self._used[name]

    def _limit_overrides(self, rule: Overrides) -> None:
        model, schemes = self._model, self._schemes()
        whole = {name: model.new_bool_var(f"global {name}") for name in schemes}
        if whole:
            model.add_exactly_one(whole.values())
        for name, spoiled in rule.spoils.items():
            for other in sorted(spoiled & set(schemes)):
                if name in whole:
                    model.add(whole[name] + self._use(other) <= 1)
        lines = lines_in(self._problem)
        total = cp_model.LinearExpr.weighted_sum(
            [self._line_overrides(" ".join(line), classes, whole) for line, classes in lines.items()],
            [rule.entries[line] for line in lines],
        )
        some = model.new_bool_var("overrides")
        model.add(total <= rule.limit * some)
        model.add(total + rule.cache_entries * some <= rule.limit)

    def _line_overrides(
        self, name: str, classes: Sequence[int], whole: dict[str, cp_model.IntVar]
    ) -> cp_model.LinearExpr:
        """Return how often a line departs: as a whole from the global scheme, and units from the line's own scheme."""
        model = self._model
        units = sum(self._problem.classes[index].count for index in classes)
        names = sorted({option.scheme for index in classes for option in self._problem.classes[index].options})
        own = {scheme: model.new_bool_var(f"{name} is {scheme}") for scheme in names}
        model.add_exactly_one(own.values())
        kept = model.new_int_var(0, units, f"{name} kept")
        same = model.new_bool_var(f"{name} is global")
        for scheme, chosen in own.items():
            held = sum(variable for variable, _ in self._of(scheme, classes))
            model.add(kept <= held + units * (1 - chosen))
            model.add(same <= 1 - chosen + whole.get(scheme, 0))
        if NATIVE in own:
            # Quark's excludes win over layer patterns: what is native as a whole has no other part.
            model.add(kept >= units * own[NATIVE])
        return units - kept + 1 - same


def shaped_by(problem: Problem, rules: SideRules) -> Shape:
    """Return what adds the rows of some rules to a model of the problem."""
    return lambda model: _Rows(model, problem, rules).add()
