"""Which models may share a device."""

from itertools import combinations

from solver.capacity.problem import Problem
from solver.capacity.speed import WHOLE

MOST_SETS = 4096
"""Sets of models that may share a device, per kind of devices."""

Models = tuple[int, ...]


def shared_by(problem: Problem, kind: int) -> tuple[list[Models], bool]:
    """Return the sets of models that may lie on one device of a kind, and whether those are all.

    Larger sets come last, and go first where there are more than `MOST_SETS`.
    """
    usable = max(node.usable_bytes for node in problem.nodes if node.kind == kind)
    least = {
        model: (min(option.size_bytes for option in here), min(option.busy for option in here))
        for model, options in enumerate(problem.options)
        if (here := [option for option in options if option.kind == kind])
    }
    found: list[Models] = []
    for size in range(1, len(least) + 1):
        new = [
            models
            for models in combinations(sorted(least), size)
            if sum(least[model][0] for model in models) <= usable and sum(least[model][1] for model in models) <= WHOLE
        ]
        if len(found) + len(new) > MOST_SETS:
            return found, False
        found += new
    return found, True
