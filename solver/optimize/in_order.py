"""The least point within a limit on bytes, one objective after the other, where units share nothing else."""

from collections.abc import Sequence
from operator import itemgetter

from solver.optimize.cpsat import OBJECTIVES, Objective, SolverSettings
from solver.optimize.fixing import Fixing
from solver.optimize.least import least
from solver.optimize.problem import Counts, Point, Problem, Proof


def _unlimited(problem: Problem, order: Sequence[Objective]) -> Counts:
    """Return what is least in the order if nothing is limited: each class has the best of its own options."""
    wanted = itemgetter(*(OBJECTIVES.index(objective) for objective in order))
    counts = []
    for part in problem.classes:
        vectors = [option.vector for option in part.options]
        best = vectors.index(min(vectors, key=wanted))
        counts.append((*(0,) * best, part.count, *(0,) * (len(vectors) - best - 1)))
    return tuple(counts)


def least_in_order(
    problem: Problem, weights_limit: int | None, order: Sequence[Objective], settings: SolverSettings
) -> Point | None:
    """Return the point that is least in the first objective, then in the next ones, within the limit.

    `weights_limit` bounds the bytes of weights on one device; None is no limit. None if nothing fits. The proof
    is that of the first objective, or of the first stage that could not be proven. Each stage may take the time limit;
    one that it ends leaves the point unproven.
    """
    counts = _unlimited(problem, order)
    vector = problem.vector(counts)
    if weights_limit is None or vector[0] <= weights_limit:
        value = vector[OBJECTIVES.index(order[0])]
        return Point(problem, counts, vector, Proof("optimal", order[0], value, value))
    if problem.vector(_unlimited(problem, ("bytes",)))[0] > weights_limit:
        return None
    fixing = Fixing(problem, order[0], weights_limit)
    limits: dict[Objective, int] = {"bytes": weights_limit}
    counts, proofs = fixing.start, []
    for objective in order:
        answer = least(fixing, counts, objective, limits, settings)
        counts, limits[objective] = answer.counts, answer.proof.value
        proofs.append(answer.proof)
    proof = next((proof for proof in proofs if proof.status != "optimal"), proofs[0])
    return Point(problem, counts, problem.vector(counts), proof)
