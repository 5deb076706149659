"""Small random fleets, and their best placement by enumeration of everything: options, devices, and lost nodes."""

import random
from collections.abc import Iterator
from itertools import combinations, product

from solver.capacity.problem import Node, Option, Problem
from solver.capacity.speed import WHOLE

Held = dict[tuple[int, int], int]
"""Models by device: node and device, with how many bits are set."""


def instance(seed: int, *, survive: int = 0, minimized: str = "devices") -> Problem:
    """Return a random problem of at most three models and four devices."""
    draw = random.Random(seed)
    shapes = draw.choice([(1, 1), (2, 1), (2, 2), (1, 1, 1), (3,), (4,), (2,), (1, 2)])
    kinds = [draw.choice([0, 0, 1]) for _ in shapes]
    usable = [draw.randint(8, 12), draw.randint(5, 9)]
    scale = draw.choice([1, 10**9 + 7, 2**31 + 1])
    nodes = tuple(
        Node(number, kinds[number], kinds[number], devices, usable[kinds[number]] * scale, draw.choice([3, 3, 5]))
        for number, devices in enumerate(shapes)
    )
    options = tuple(
        tuple(
            Option(
                index,
                draw.choice(kinds),
                draw.choice([1, 1, 2]),
                draw.choice([1, 1, 1, 2, 3]),
                draw.randint(1, 9) * scale + draw.randint(0, 2),
                draw.choice([0, WHOLE // 4, WHOLE // 3, WHOLE // 2, WHOLE // 2 + 1, WHOLE]),
                draw.randint(0, 20),
            )
            for index in range(draw.randint(1, 3))
        )
        for _ in range(draw.choice([1, 2, 2, 3]))
    )
    weights = tuple(draw.randint(1, 5) for _ in options)
    return Problem(options, weights, nodes, survive, minimized)  # type: ignore[arg-type]


def _spreads(problem: Problem, option: Option) -> Iterator[frozenset[tuple[int, int]]]:
    """Yield every set of devices that may hold the replicas of an option."""
    devices = [(node.number, device) for node in problem.nodes for device in range(node.devices)]
    for size in range(len(devices) + 1):
        for held in combinations(devices, size):
            counts = [sum(number == node.number for number, _ in held) for node in problem.nodes]
            if any(count % option.tensor_parallel for count in counts):
                continue
            if any(problem.nodes[number].kind != option.kind for number, _ in held):
                continue
            replicas = [count // option.tensor_parallel for count in counts]
            if not problem.survive and sum(replicas) != option.replicas:
                continue
            lost = combinations(range(len(replicas)), min(problem.survive, len(replicas)))
            if all(sum(replicas) - sum(replicas[node] for node in gone) >= option.replicas for gone in lost):
                yield frozenset(held)


def enumerated(problem: Problem) -> tuple[int, int] | None:
    """Return the least of the first objective, and the least weighted risk with that; None if nothing fits."""
    best: tuple[int, int] | None = None
    for chosen in product(*problem.options):
        risk = sum(weight * option.risk for weight, option in zip(problem.weights, chosen, strict=True))
        for spread in product(*(list(_spreads(problem, option)) for option in chosen)):
            used = frozenset[tuple[int, int]]().union(*spread)
            if problem.minimized == "price":
                cost = sum(problem.nodes[number].price for number in {number for number, _ in used})
            else:
                cost = len(used)
            if best is not None and (cost, risk) >= best:
                continue
            if all(_fits(problem, chosen, spread, device) for device in used):
                best = cost, risk
    return best


def _fits(
    problem: Problem,
    chosen: tuple[Option, ...],
    spread: tuple[frozenset[tuple[int, int]], ...],
    device: tuple[int, int],
) -> bool:
    held = [option for option, devices in zip(chosen, spread, strict=True) if device in devices]
    size, busy = sum(option.size_bytes for option in held), sum(option.busy for option in held)
    return size <= problem.nodes[device[0]].usable_bytes and busy <= WHOLE
