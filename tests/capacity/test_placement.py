"""CP-SAT's placements are the best that enumeration finds."""

from solver.capacity.placement import place
from solver.capacity.problem import Problem
from solver.optimize.cpsat import SolverSettings
from tests.capacity.instances import enumerated, instance

SETTINGS = SolverSettings()
CASES = [
    *((seed, 0, "devices") for seed in range(60)),
    *((seed, 1, "devices") for seed in range(100, 150)),
    *((seed, 0, "price") for seed in range(200, 220)),
    *((seed, 2, "devices") for seed in range(300, 305)),
    *((seed, 1, "price") for seed in range(400, 405)),
]


def best(problem: Problem) -> tuple[int, int] | None:
    """Return the costs of CP-SAT's placement, which has to be proven."""
    found = place(problem, SETTINGS)
    if found is None:
        return None
    assert all(stage.optimal for stage in found.stages)
    devices, price, risk = found.placement.costs(problem)
    first = price if problem.minimized == "price" else devices
    assert [stage.value for stage in found.stages[:2]] == [first, risk]
    return first, risk


def test_placements_are_those_of_enumeration() -> None:
    answers = [
        (best(problem), enumerated(problem))
        for problem in (instance(seed, survive=survive, minimized=minimized) for seed, survive, minimized in CASES)
    ]
    assert [pair for pair in answers if pair[0] != pair[1]] == []
    # Neither kind of answer is rare.
    assert 30 < sum(found is None for found, _ in answers) < len(answers) - 30
