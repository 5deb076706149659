"""Re-checks results in Python integers: a plan that fails is never shown."""

import numpy as np

from solver.errors import VerificationError
from solver.optimize.merge import Integers
from solver.optimize.problem import Budget, Point


def verify_point(point: Point, budget: Budget) -> None:
    """Check one point from its counts alone: every unit has one option, the costs add up, the budget holds.

    Raises
    ------
    VerificationError
        If it does not; the message says what differs.

    """
    for unit_class, taken in zip(point.problem.classes, point.counts, strict=True):
        if len(taken) != len(unit_class.options) or min(taken) < 0 or sum(taken) != unit_class.count:
            raise VerificationError(f"{unit_class.units[0].name}: {taken} does not give every unit one option")
    if point.problem.vector(point.counts) != point.vector:
        raise VerificationError(f"costs {point.vector} are not those of the assignment")
    if point.weights_bytes > budget.weights_limit(point.problem):
        raise VerificationError(f"{point.total_bytes} bytes exceed the budget of {budget.size_bytes} ({budget.scope})")


def verify_front(totals: Integers, risks: Integers) -> None:
    """Check that points rise strictly in bytes and fall strictly in risk, so that none beats another.

    Raises
    ------
    VerificationError
        If two neighbours do not.

    """
    for index in np.flatnonzero((np.diff(totals) <= 0) | (np.diff(risks) >= 0))[:1]:
        before, after = ((int(totals[place]), int(risks[place])) for place in (index, index + 1))
        raise VerificationError(f"{before} and {after} are no front")
