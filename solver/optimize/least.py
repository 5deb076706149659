"""From a good assignment to a proven one: CP-SAT searches the core for anything better.

Where a merge has a proof already, CP-SAT checks it for a while.
"""

from collections.abc import Mapping
from dataclasses import replace

from solver.errors import VerificationError
from solver.optimize.cpsat import OBJECTIVES, Answer, Objective, Outcome, SolverSettings, search
from solver.optimize.fixing import Fixing
from solver.optimize.problem import Counts, Proof
from solver.optimize.reductions import count_identical, drop_dominated
from solver.optimize.stopping import SearchInterrupted

_CHECK_SECONDS = 2.0
"""Deterministic time to check what is proven."""


def least(
    fixing: Fixing, counts: Counts, objective: Objective, limits: Mapping[Objective, int], settings: SolverSettings
) -> Answer:
    """Return the counts with the least `objective` within `limits`, and how far that is proven.

    Parameters
    ----------
    fixing
        Of the problem; `limits` bound its bytes and, unless it is `objective`, its own objective.
    counts
        An assignment within the limits. That nothing within them is better is the proof.

    Raises
    ------
    VerificationError
        If CP-SAT's answer breaks a limit, or is better than what a merge has proven.
    SearchInterrupted
        If an interrupt ended the search; it has the answer so far.

    """
    problem, axis = fixing.problem, OBJECTIVES.index(objective)
    value = problem.vector(counts)[axis]
    better = {**limits, objective: value - 1}
    core = fixing.core(better)
    if core is None:
        return Answer(counts, Proof("optimal", objective, value, value))
    plain = drop_dominated(core.problem)
    small = count_identical(plain.problem)
    proven = fixing.proven and objective == fixing.objective and counts == fixing.start
    if proven:
        settings = replace(settings, deterministic_seconds=min(settings.deterministic_seconds, _CHECK_SECONDS))
    outcome = search(small.problem, objective, better, settings, known=fixing.known(objective, better))
    if outcome.counts is not None:
        counts = core.expand(plain.expand(small.expand(outcome.counts)))
        vector = problem.vector(counts)
        if proven or any(vector[OBJECTIVES.index(name)] > most for name, most in better.items()):
            claim = "none is proven to be" if proven else "it is not"
            raise VerificationError(f"CP-SAT's answer costs {vector}; {claim} within {better}")
        value = vector[axis]
    if proven or outcome.status in {"optimal", "infeasible"}:
        answer = Answer(counts, Proof("optimal", objective, value, value))
    else:
        answer = Answer(counts, _unfinished(fixing, outcome, objective, limits, value))
    if outcome.interrupted:
        raise SearchInterrupted(answer)
    return answer


def _unfinished(
    fixing: Fixing, outcome: Outcome, objective: Objective, limits: Mapping[Objective, int], value: int
) -> Proof:
    bounds = [bound for bound in (outcome.bound, fixing.known(objective, limits).bound) if bound is not None]
    # The core holds what is better than the first counts, and nothing is known of the rest but that it is not.
    bound = min(value, max(bounds))
    return Proof("optimal" if bound == value else "feasible", objective, value, bound)
