"""The optimizer's bench: its problems are the models' own, all solvers agree on small ones, its table is of today."""

from dataclasses import replace

import pytest

from bench.baselines import BASELINES, Run
from bench.instances import LARGEST, SHAPES, Shape, analysis, build, drawn, limits, sampled
from bench.optimizer import NAME, PERCENTS, SMOKE_UNITS, proof_rows, smoke_cases
from bench.optimizer_case import judge
from bench.optimizer_table import COLUMNS, DOCUMENT
from solver.catalog import NATIVE
from solver.optimize.problem import Counts, Problem
from tests.optimize.instances import all_counts, problem, unit_class

UNFUSED = {
    "16B-A2.4B unfused": 26 * (64 * 3 + 3) + 3,
    "30B-A3B unfused": 48 * (128 * 3 + 4),
    "671B unfused": 58 * (256 * 3 + 3) + 3 * 3,
    LARGEST.name: 60 * 384 * 3,
}
"""Layers that Quark's templates do not exclude: blocks, experts of three projections, and what is beside them."""

SMALL = problem(
    [
        unit_class("a", 3, [(101, 90, 0), (155, 41, 0), (209, 3, 0)]),
        unit_class("b", 2, [(77, 60, 0), (131, 8, 0)]),
        unit_class("c", 1, [(500, 33, 0), (554, 0, 0)]),
    ],
    fixed=(1000, 7, 0),
)


def shape(name: str) -> Shape:
    return next(shape for shape in SHAPES if shape.name == name)


def native_bytes(instance: Problem) -> int:
    sizes = {option.scheme: option.size_bytes for part in instance.classes for option in part.options}
    assert NATIVE in sizes
    return instance.fixed[0] + sum(
        part.count * next(option.size_bytes for option in part.options if option.scheme == NATIVE)
        for part in instance.classes
    )


class TestInstances:
    @pytest.mark.parametrize("name", UNFUSED)
    def test_unfused_shapes_have_every_layer_of_the_model(self, name: str) -> None:
        instance = build(shape(name), analysis(shape(name).model))
        assert sum(part.count for part in instance.classes) == UNFUSED[name]

    def test_taking_units_apart_changes_no_byte(self) -> None:
        unfused = shape("30B-A3B unfused")
        fused = replace(unfused, fused=True)
        found = analysis(unfused.model)
        assert native_bytes(build(unfused, found)) == native_bytes(build(fused, found))

    def test_drawing_makes_every_unit_a_class_and_changes_risks_alone(self) -> None:
        prior = build(shape("8B"), analysis(shape("8B").model))
        instance = drawn(prior)
        assert len(instance.classes) == sum(part.count for part in prior.classes) > len(prior.classes)
        assert limits(instance, (0, 35, 100)) == limits(prior, (0, 35, 100))
        assert drawn(prior) == instance

    def test_a_sample_has_units_of_every_class_it_can(self) -> None:
        prior = build(shape("8B"), analysis(shape("8B").model))
        part = sampled(prior, 24)
        assert sum(item.count for item in part.classes) == 24
        assert {unit for item in part.classes for unit in item.units} <= {u for p in prior.classes for u in p.units}

    def test_the_ends_are_those_of_enumeration(self) -> None:
        vectors = [SMALL.vector(counts) for counts in all_counts(SMALL)]
        safest = min(vectors, key=lambda vector: (vector[1], vector[0]))
        assert limits(SMALL, (0, 100)) == {0: min(vectors)[0], 100: safest[0]}


class TestBaselines:
    @pytest.mark.parametrize("name", BASELINES)
    @pytest.mark.parametrize("percent", [0, 10, 35, 50, 70, 100])
    def test_find_the_least_risk_of_enumeration(self, name: str, percent: int) -> None:
        limit = limits(SMALL, (percent,))[percent]
        vectors = [SMALL.vector(counts) for counts in all_counts(SMALL)]
        best = min(vector[1] for vector in vectors if vector[0] <= limit)
        run = BASELINES[name](SMALL, limit, 10.0)
        assert run.counts is not None
        assert run.claims_optimum
        assert SMALL.vector(run.counts)[1] == best
        assert judge(SMALL, limit, run, best) == "proven"


class TestJudging:
    safest: Counts = ((0, 0, 3), (0, 2), (0, 1))
    smallest: Counts = ((3, 0, 0), (2, 0), (1, 0))

    @pytest.mark.parametrize(
        ("counts", "claims", "limit", "proven", "verdict"),
        [
            (safest, True, 10**6, 32, "proven"),
            (safest, False, 10**6, 32, "not proven"),
            (smallest, True, 10**6, 32, "worse"),
            (smallest, False, 10**6, 32, "not proven"),
            (safest, True, 10**6, 33, "better"),
            (safest, True, 2442, 32, "over the limit"),
            (None, True, 10**6, 32, "no plan"),
        ],
    )
    def test_an_answer_is_what_its_integers_say(
        self, counts: Counts | None, claims: bool, limit: int, proven: int, verdict: str
    ) -> None:
        assert judge(SMALL, limit, Run(0.0, 0.0, claims, counts), proven) == verdict


@pytest.mark.slow
def test_all_solvers_agree_on_a_small_part_of_every_shape() -> None:
    cases = smoke_cases()
    assert {(case.shape, case.sensitivities) for case in cases} == {
        (shape.name, sensitivities) for shape in SHAPES for sensitivities in ("prior", "drawn")
    }
    assert {case.units for case in cases} == {SMOKE_UNITS}
    assert all(row.holds for row in proof_rows(cases))
    verdicts = {(case.label, name): other.verdict for case in cases for name, other in case.baselines.items()}
    # CBC does not prove every one of them in its ten seconds.
    late = {key for key, verdict in verdicts.items() if verdict == "not proven"}
    assert {name for _, name in late} <= {"CBC"}
    assert len(late) <= 2
    assert {key: verdict for key, verdict in verdicts.items() if key not in late and verdict != "proven"} == {}


class TestTable:
    @staticmethod
    def lines() -> list[dict[str, str]]:
        lines = [line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
        header, *body = (tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines)
        assert header == COLUMNS
        return [dict(zip(header, row, strict=True)) for row in body]

    def test_has_every_case_in_order(self) -> None:
        assert [(row["model"], row["sensitivities"], row["budget"]) for row in self.lines()] == [
            (shape.name, sensitivities, f"{percent} %")
            for shape in SHAPES
            for sensitivities in ("prior", "drawn")
            for percent in PERCENTS
        ]
        assert f"python -m bench {NAME}" in DOCUMENT.read_text(encoding="utf-8")

    @pytest.mark.parametrize("name", [shape.name for shape in SHAPES])
    def test_is_of_the_problems_of_today(self, name: str) -> None:
        instance = build(shape(name), analysis(shape(name).model))
        units = f"{sum(part.count for part in instance.classes):,}"
        expected = {
            "prior": (units, f"{len(instance.classes):,}", f"{sum(len(part.options) for part in instance.classes):,}")
        }
        rows = [row for row in self.lines() if row["model"] == name]
        assert {(row["units"], row["unequal"]) for row in rows if row["sensitivities"] == "drawn"} == {(units, units)}
        prior = {(row["units"], row["unequal"], row["options"]) for row in rows if row["sensitivities"] == "prior"}
        assert prior == {expected["prior"]}

    def test_shows_no_answer_that_beats_ours(self) -> None:
        assert [row for row in self.lines() if "(better)" in " ".join(row.values())] == []
