"""CP-SAT's placements are the best that enumeration finds."""

from dataclasses import replace

import pytest

from solver.capacity.placement import fits, place
from solver.capacity.problem import Option, Placement, Problem, drop_dominated
from solver.capacity.verify import verify_placement
from solver.errors import VerificationError
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


def test_dropping_dominated_options_loses_no_placement() -> None:
    problems = [instance(seed, survive=seed % 2) for seed in range(500, 560)]
    reduced = [replace(problem, options=tuple(map(drop_dominated, problem.options))) for problem in problems]
    assert any(small.options != problem.options for small, problem in zip(reduced, problems, strict=True))
    for small, problem in zip(reduced, problems, strict=True):
        assert enumerated(small) == enumerated(problem)


def test_the_same_problem_gives_the_same_placement() -> None:
    for seed in range(10):
        assert place(instance(seed), SETTINGS) == place(instance(seed), SETTINGS)


def placed() -> tuple[Problem, Placement]:
    """Return a problem of two models on two nodes that may lose one, and its placement."""
    options = (
        (Option(0, 0, 1, 1, 6, 400_000, 1),),
        (Option(0, 0, 2, 1, 3, 500_000, 1),),
    )
    problem = replace(instance(2, survive=1), options=options, weights=(1, 1))
    nodes = tuple(replace(problem.nodes[0], number=n, kind=0, devices=2, usable_bytes=10, group=0) for n in (0, 1))
    problem = replace(problem, nodes=nodes)
    found = place(problem, SETTINGS)
    assert found is not None
    return problem, found.placement


def test_a_placement_that_holds_is_verified() -> None:
    problem, placement = placed()
    assert len(placement.on(problem)) == 4
    verify_placement(problem, placement)


@pytest.mark.parametrize(
    ("model", "replicas", "words"),
    [
        (0, ((0, (0,)),), "0 replicas left, and needs 1"),
        (0, ((0, (0,)), (0, (1,))), "0 replicas left"),
        (1, ((0, (0,)), (1, (0, 1))), "on devices"),
        (1, ((0, (0, 0)), (1, (0, 1))), "does not hold"),
        (1, ((0, (0, 2)), (1, (0, 1))), "does not hold"),
        (0, ((0, (0,)), (0, (0,)), (1, (0,))), "does not hold"),
    ],
)
def test_a_placement_that_does_not_hold_is_refused(
    model: int, replicas: tuple[tuple[int, tuple[int, ...]], ...], words: str
) -> None:
    problem, placement = placed()
    spread = list(placement.replicas)
    spread[model] = replicas
    with pytest.raises(VerificationError, match=words) as caught:
        verify_placement(problem, replace(placement, replicas=tuple(spread)))
    assert caught.value.document == problem.document()


@pytest.mark.parametrize(
    ("change", "words"), [({"size_bytes": 8}, "bytes lie on device"), ({"busy": 500_001}, "of its time")]
)
def test_one_byte_or_one_share_too_much_is_refused(change: dict[str, int], words: str) -> None:
    problem, placement = placed()
    first = problem.options[0][0]
    wrong = replace(
        problem, options=((replace(first, **change | {"busy": change.get("busy", 500_000)}),), problem.options[1])
    )
    with pytest.raises(VerificationError, match=words):
        verify_placement(wrong, placement)


def test_what_fits_to_the_byte_fits() -> None:
    for size in (2**31 - 1, 2**33 + 1, 189_650_320_753):
        options = ((Option(0, 0, 1, 1, size, 0, 0),), (Option(0, 0, 1, 1, size + 2, 0, 0),))
        problem = replace(instance(0), options=options, weights=(1, 1))
        node = replace(problem.nodes[0], kind=0, devices=1)
        exact = replace(problem, nodes=(replace(node, usable_bytes=2 * size + 2),))
        assert fits(exact, SETTINGS) is True
        assert fits(replace(exact, nodes=(replace(node, usable_bytes=2 * size + 1),)), SETTINGS) is False
