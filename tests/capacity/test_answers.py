"""Headroom, clashes and repairs of small fleets, against enumeration of their placements."""

from dataclasses import replace

from solver.capacity.clash import NODES, SURVIVE, Claim, claims_of, find_clash, told
from solver.capacity.headroom import largest_multiple
from solver.capacity.options import Question
from solver.capacity.repairs import Repairs
from solver.optimize.cpsat import SolverSettings
from tests.capacity.instances import enumerated
from tests.capacity.stubs import fleet_and_question

SETTINGS = SolverSettings()


def fit(question: Question) -> bool:
    problem = question.problem()
    return all(problem.options) and enumerated(problem) is not None


def without(question: Question, gone: list[Claim]) -> Question:
    """Return a question without some of its claims; nodes without end are eight times as many here."""
    for claim in gone:
        if claim.model is not None:
            question = question.replaced(claim.model, question.demands[claim.model].without(claim.part))
        elif claim.part == SURVIVE:
            question = replace(question, survive=0)
    return question


def test_the_largest_multiple_fits_and_one_percent_more_does_not() -> None:
    met = 0
    for seed in range(40):
        _, question = fleet_and_question(seed, survive=seed % 2, busy=0.3)
        if not fit(question):
            continue
        for model in range(len(question.demands)):
            percent, proven = largest_multiple(question, model, SETTINGS, beyond=2000)
            percents = [percent if number == model else 100 for number in range(len(question.demands))]
            assert fit(question.times(percents))
            if proven:
                met += 1
                percents[model] += 1
                assert not fit(question.times(percents))
            else:
                assert percent == 1999
    assert met > 10


def test_what_clashes_does_so_and_does_not_without_any_part_of_it() -> None:
    seen = set()
    for seed in range(80):
        fleet, question = fleet_and_question(seed, survive=seed % 2)
        if fit(question):
            continue
        clash = find_clash(fleet, question, SETTINGS)
        every = claims_of(fleet, question)
        seen |= {claim.part for claim in clash}
        assert all(told(claim, fleet, question).sentence for claim in clash)
        others = [claim for claim in every if claim not in clash]
        if Claim(NODES) in clash:
            assert not fit(without(question, others))
        else:
            assert not fit(without(question, others).with_nodes(0, 4))
        for claim in clash:
            if claim.part != NODES:
                more = without(question, [*others, claim])
                assert fit(more if Claim(NODES) in clash else more.with_nodes(0, 4))
    assert seen == {"max_risk", "min_tokens_per_second", "traffic", NODES, SURVIVE}


def test_what_helps_does_and_less_of_it_does_not() -> None:
    flags = set()
    for seed in range(60):
        fleet, question = fleet_and_question(seed)
        if fit(question) or len(question.demands) > 1:
            continue
        repairs = Repairs(fleet, question, SETTINGS, lambda _, __, same=question: same)  # type: ignore[misc]
        demand = question.demands[0]
        for repair in repairs.find(find_clash(fleet, question, SETTINGS)):
            name, _, field = repair.flag.partition(".")
            flags.add(field)
            assert repair.value is not None
            if name == "box":
                assert not fit(question.with_nodes(0, int(repair.value) - 1))
                if int(repair.value) <= 4:
                    assert fit(question.with_nodes(0, int(repair.value)))
            elif field == "min_tokens_per_second":
                for tokens, fits in ((int(repair.value), True), (int(repair.value) + 1, False)):
                    traffic = replace(demand.traffic, floor=type(demand.traffic.floor or 0)(tokens))
                    assert fit(question.replaced(0, replace(demand, traffic=traffic))) is fits
            elif field == "max_risk":
                assert fit(question.replaced(0, replace(demand, most_loss=repair.delta_nll)))
                assert not fit(question.replaced(0, replace(demand, most_loss=repair.delta_nll - 1e-9)))
    assert {"count", "min_tokens_per_second", "max_risk"} <= flags
