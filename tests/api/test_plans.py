"""Plans as Python objects say what their documents say, and what Quark gets reads back to the same plan."""

import json
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import solver
from solver import api
from solver.api import COLUMNS, Plan, PlanSet
from solver.catalog import Catalog
from solver.errors import BadInputError, DeclinedError, InfeasibleError, PlannerError
from solver.plan.document import Answer
from solver.plan.request import PlanRequest
from tests.conftest import Analyse

SMALL = "Qwen/Qwen3-0.6B"


def asked(**fields: Any) -> PlanRequest:
    return PlanRequest.model_validate({"model": SMALL, "hardware": "mi300x", "budget_bytes": 21 * 10**8, **fields})


def outcome(request: PlanRequest, analysis: api.ModelAnalysis, catalog: Catalog) -> PlanSet | PlannerError:
    try:
        return api.solve(request, analysis, catalog=catalog)
    except PlannerError as error:
        return error


@pytest.fixture(scope="module")
def plans(analyse: Analyse, catalog: Catalog) -> PlanSet:
    return api.solve(asked(), analyse(SMALL), catalog=catalog)


class TestPlanSet:
    def test_is_the_document_of_the_command(self, plans: PlanSet) -> None:
        document = plans.model_dump(mode="json")
        assert Answer.model_validate(document).model_dump(mode="json") == document
        assert PlanSet.model_validate(document) == plans

    def test_yields_its_alternatives(self, plans: PlanSet) -> None:
        assert [item.id for item in plans] == [item.id for item in plans.alternatives]
        assert len(plans) == len(plans.alternatives)

    def test_chooses_what_is_recommended_unless_told_otherwise(self, plans: PlanSet) -> None:
        assert plans.choose().chosen == plans.recommended
        other = next(item for item in plans if item.id != plans.recommended)
        assert plans.choose(other.id).layer_quant_config == other.layer_quant_config
        with pytest.raises(BadInputError, match="no alternative 99"):
            plans.choose(99)

    def test_is_a_table_of_typed_columns(self, plans: PlanSet) -> None:
        frame = plans.to_frame()
        assert list(frame.columns) == [column.name for column in COLUMNS]
        kinds = {"string": "string", "int64": "Int64", "float64": "Float64", "bool": "boolean"}
        assert [str(kind) for kind in frame.dtypes] == [kinds[column.kind] for column in COLUMNS]
        parts = ["weights_bytes", "kv_cache_bytes", "activation_bytes", "runtime_bytes"]
        assert (frame[parts].sum(axis=1) == frame["total_bytes"]).all()
        assert frame["delta_nll"].is_monotonic_increasing
        assert frame.loc[frame["recommended"], "alternative"].tolist() == [plans.recommended]

    def test_of_a_draft_is_a_table_without_numbers(self, analyse: Analyse, catalog: Catalog) -> None:
        unknown = analyse(SMALL).model_dump(mode="json")
        unknown |= {"inventory": None, "analysis_status": "partial"}
        unknown["model"]["model_path"] = "/nowhere/config.json"
        drafted = api.solve(asked(), api.ModelAnalysis.model_validate(unknown), catalog=catalog)
        frame = drafted.to_frame()
        assert len(frame) == 1
        assert frame["total_bytes"].isna().all()
        assert isinstance(frame["delta_nll"].array, pd.arrays.FloatingArray)


class TestPlan:
    def test_a_draft_is_not_handed_over(self, plans: PlanSet) -> None:
        drafted = plans.choose()
        with pytest.raises(DeclinedError):
            drafted.to_quark()
        assert drafted.to_quark(draft=True) == drafted.confirm().to_quark()
        with pytest.raises(DeclinedError, match="rejected"):
            drafted.reject().to_quark()

    def test_what_quark_gets_is_what_a_shell_reads_in_the_exported_command(
        self, plans: PlanSet, tmp_path: Path
    ) -> None:
        options = api.ExportOptions(output_dir=str(tmp_path / "a folder"))
        for item in plans:
            plan = plans.choose(item.id).confirm()
            command = api.export_plan(plan, "quark-cli", options).replace("quark-cli", "printf '%s\\0'", 1)
            read = subprocess.run(["bash", "-euc", command], capture_output=True, check=True, text=True).stdout
            assert plan.to_quark(options) == ["quark-cli", *read.split("\0")[:-1]]

    def test_saves_and_reads_back(self, plans: PlanSet, tmp_path: Path) -> None:
        plan = plans.choose().confirm()
        plan.save(tmp_path / "plan.json")
        assert Plan.read(tmp_path / "plan.json") == plan
        assert json.loads((tmp_path / "plan.json").read_text()) == plan.model_dump(mode="json")
        assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]

    def test_stays_a_plan_through_every_step(self, plans: PlanSet) -> None:
        first = plans.choose()
        assert {type(item) for item in (first, first.confirm(), first.reject(), first.choose(2))} == {Plan}
        assert first.confirm().choose(2).requires_confirmation


class TestBudgets:
    BUDGETS = (None, 21 * 10**8, 2 * 10**9, 10**15)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "fields", [{}, {"layers": {"*down_proj": "mxfp4"}, "max_overrides": 2}, {"goal": "size", "hardware": "h100"}]
    )
    def test_together_give_what_each_gives_alone(
        self, fields: dict[str, Any], analyse: Analyse, catalog: Catalog
    ) -> None:
        together = api.solve_budgets(asked(**fields), self.BUDGETS, analyse(SMALL), catalog=catalog)
        for budget, shared in zip(self.BUDGETS, together, strict=True):
            alone = outcome(asked(**fields, budget_bytes=budget), analyse(SMALL), catalog)
            if isinstance(alone, PlanSet):
                assert shared == alone.model_copy(update={"simpler": ()})
            else:
                assert (type(shared), str(shared)) == (type(alone), str(alone))

    @pytest.mark.slow
    def test_say_what_is_least_where_none_fits(self, analyse: Analyse, catalog: Catalog) -> None:
        with pytest.raises(InfeasibleError) as alone:
            api.solve(asked(budget_bytes=10**9), analyse(SMALL), catalog=catalog)
        (found,) = api.solve_budgets(asked(), [10**9], analyse(SMALL), catalog=catalog)
        assert isinstance(found, InfeasibleError)
        assert (str(found), found.least_footprint_bytes) == (str(alone.value), alone.value.least_footprint_bytes)


def test_threads_get_the_bytes_that_one_gets_alone(analyse: Analyse) -> None:
    """All share one catalogue that nobody has read before."""
    requests = [
        asked(budget_bytes=budget, hardware=hardware)
        for hardware in ("mi300x", "h100")
        for budget in (21 * 10**8, 10**15)
    ]
    shared = Catalog()

    def text(request: PlanRequest, catalog: Catalog) -> str:
        found = outcome(request, analyse(SMALL), catalog)
        return found.model_dump_json() if isinstance(found, PlanSet) else str(found)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            threaded = list(pool.map(lambda request: text(request, shared), requests))
    finally:
        sys.setswitchinterval(before)
    alone = Catalog()
    assert threaded == [text(request, alone) for request in requests]


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str], analyse: Analyse) -> None:
    answer = solver.solve(asked(), analyse(SMALL))
    assert math.isfinite(answer.to_frame()["delta_nll"].max())
    assert capfd.readouterr() == ("", "")


def test_every_name_is_there() -> None:
    assert [name for name in api.__all__ if not hasattr(api, name)] == []
    assert set(api._HOME) == set(api.__all__)
    assert [name for name in solver.__all__ if not hasattr(solver, name)] == []
    assert dir(solver) == sorted(solver.__all__)
    assert [name for name in solver.capacity.__all__ if not hasattr(solver.capacity, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = solver.nothing
