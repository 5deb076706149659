"""A search says how far it is, and is none the different for being watched."""

from dataclasses import replace

from solver.optimize.cpsat import SolverSettings, search
from solver.optimize.front import exact_front
from solver.optimize.problem import Budget
from solver.optimize.progress import Progress
from tests.optimize.instances import problem, unit_class

ROWS = [problem([unit_class("a", 3, [(1, 9, 0), (4, 5, 0), (9, 1, 0)])], fixed=(number, 0, 0)) for number in range(3)]


def test_of_a_front_counts_its_rows() -> None:
    told: list[Progress] = []
    watched = exact_front(ROWS, Budget(2**40), SolverSettings(watch=told.append))
    assert [(item.rows_done, item.rows) for item in told if item.incumbent is None] == [(0, 3), (1, 3), (2, 3)]
    assert [point.vector for point in watched] == [
        point.vector for point in exact_front(ROWS, Budget(2**40), SolverSettings())
    ]


def test_of_a_solve_has_its_best_answer_and_a_bound_below_it() -> None:
    told: list[Progress] = []
    settings = SolverSettings(watch=told.append)
    outcome = search(ROWS[0], "risk", {"bytes": 14}, settings)
    proofs = [item.incumbent for item in told if item.incumbent is not None]
    assert proofs
    assert outcome.counts is not None
    assert proofs[-1].value == ROWS[0].vector(outcome.counts)[1]
    assert all(proof.bound <= proof.value and proof.objective == "risk" for proof in proofs)
    assert search(ROWS[0], "risk", {"bytes": 14}, replace(settings, watch=None)) == outcome
