"""Re-checks placements in Python integers: one that fails is never shown."""

from solver.capacity.problem import Placement, Problem
from solver.capacity.speed import WHOLE
from solver.errors import VerificationError


def lost_at_worst(nodes: list[int], lost: int) -> int:
    """Return how many of the replicas on these nodes go with `lost` nodes, whichever these are."""
    return sum(sorted((nodes.count(node) for node in set(nodes)), reverse=True)[:lost])


def _check_devices(problem: Problem, placement: Placement) -> None:
    for (number, device), models in placement.on(problem).items():
        node, held = problem.nodes[number], [placement.option(problem, model) for model in models]
        size, busy = sum(option.size_bytes for option in held), sum(option.busy for option in held)
        if not 0 <= device < node.devices or len(set(models)) != len(models):
            raise VerificationError(f"device {device} of node {number} does not hold {models}")
        if size > node.usable_bytes:
            raise VerificationError(f"{size} bytes lie on device {device} of node {number}, of {node.usable_bytes}")
        if busy > WHOLE:
            raise VerificationError(f"device {device} of node {number} is needed {busy} of {WHOLE} of its time")


def _check_model(problem: Problem, placement: Placement, model: int) -> None:
    option, placed = placement.option(problem, model), placement.replicas[model]
    for number, devices in placed:
        if problem.nodes[number].kind != option.kind or len(set(devices)) != option.tensor_parallel:
            raise VerificationError(f"model {model} has a replica on devices {devices} of node {number}")
    left = len(placed) - lost_at_worst([number for number, _ in placed], problem.survive)
    if left < option.replicas:
        raise VerificationError(f"model {model} has {left} replicas left, and needs {option.replicas}")


def verify_placement(problem: Problem, placement: Placement) -> None:
    """Check memory and time of every device, and that what is left of every model carries its traffic.

    Raises
    ------
    VerificationError
        If a placement does not hold; the message says where, and the error carries the problem.

    """
    try:
        _check_devices(problem, placement)
        for model in range(len(problem.options)):
            _check_model(problem, placement, model)
    except VerificationError as error:
        error.document = problem.document()
        raise
