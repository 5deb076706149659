"""What a sweep says of a cell is what `solve` says of its request."""

from pathlib import Path

import pytest

from solver import api
from solver.api.frames import rows_of
from solver.catalog import Catalog
from solver.errors import BadInputError, MissingError, PlannerError
from solver.sweep import COLUMNS, SweepResult, read_rows, sweep
from solver.sweep.cells import find_groups
from tests.api.test_plans import outcome
from tests.conftest import Analyse
from tests.sweep.conftest import SMALL, Run, smallest, spec, write_configs

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "sweep.md"


def check_against_solve(result: SweepResult, groups: object, analyse: Analyse, catalog: Catalog) -> int:
    """Compare every cell with `solve` alone, and return how many there were."""
    cells = [cell for group in find_groups(groups, catalog) for cell in group.cells]  # type: ignore[arg-type]
    for cell in cells:
        rows = [row for row in result.rows if row["cell"] == cell.number]
        alone = outcome(cell.request, analyse(cell.request.model), catalog)
        if isinstance(alone, PlannerError):
            (row,) = rows
            assert (row["exit_code"], row["error"], row["message"]) == (alone.exit_code, alone.kind, str(alone))
            assert "alternative" not in row
        else:
            expected = rows_of(alone)
            assert [{name: row[name] for name in expected[0]} for row in rows] == expected
            assert {row["exit_code"] for row in rows} == {0}
    return len(cells)


def test_cells_have_the_plans_and_errors_of_solve(whole: SweepResult, analyse: Analyse, catalog: Catalog) -> None:
    assert check_against_solve(whole, spec(), analyse, catalog) == whole.cells == 4
    assert whole.errors == 2
    assert [row["exit_code"] for row in whole.rows if row["cell"] >= 2] == [1, 2]


@pytest.mark.slow
def test_many_cells_have_the_plans_and_errors_of_solve(run: Run, analyse: Analyse, catalog: Catalog) -> None:
    models = ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-8B", "google/gemma-3-4b-it", "openai/gpt-oss-20b", "Qwen/Qwen3-30B-A3B")
    asked = spec(
        models=models,
        hardware=("mi300x", "h100", "mi355x"),
        budgets=(None, "4GB", "12GB", "24GB", "48GB"),
        contexts=("8k", "32k"),
        request={"concurrency": 2},
    )
    assert check_against_solve(run(asked), asked, analyse, catalog) == 150


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_tables_are_read_back_as_they_were(ending: str, whole: SweepResult, tmp_path: Path) -> None:
    whole.save(tmp_path / f"rows{ending}")
    names = [column.name for column in COLUMNS]
    assert read_rows(tmp_path / f"rows{ending}") == [{name: row.get(name) for name in names} for row in whole.rows]
    assert [path.name for path in tmp_path.iterdir()] == [f"rows{ending}"]


def test_the_frame_has_the_types_of_the_schema(whole: SweepResult) -> None:
    frame = whole.to_frame()
    assert list(frame.columns) == [column.name for column in COLUMNS]
    kinds = {"string": "string", "int64": "Int64", "float64": "Float64", "bool": "boolean"}
    assert [str(kind) for kind in frame.dtypes] == [kinds[column.kind] for column in COLUMNS]


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_what_is_no_table_of_a_sweep_is_refused(ending: str, tmp_path: Path) -> None:
    other = tmp_path / f"other{ending}"
    with pytest.raises(MissingError, match="no result"):
        read_rows(other)
    other.write_text("model,loss\nx,1\n")
    with pytest.raises(BadInputError, match="no table of a sweep"):
        read_rows(other)


def test_another_ending_is_refused_before_anything_runs(whole: SweepResult, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"\.parquet or \.csv"):
        whole.save(tmp_path / "rows.xlsx")
    with pytest.raises(BadInputError, match=r"\.parquet or \.csv"):
        sweep(spec(), output=tmp_path / "rows.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_cannot_be_read_fails_its_own_cells_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    result = run(spec(models=(str(tmp_path / "*.json"), SMALL), hardware=("mi300x", "h100"), budgets=("2.1GB",)))
    broken = [row for row in result.rows if row["model"] != SMALL]
    assert [(row["cell"], row["exit_code"], row["error"]) for row in broken] == [
        (0, 2, "bad_input"),
        (1, 2, "bad_input"),
    ]
    assert all("not valid JSON" in row["message"] for row in broken)
    assert {row["cell"] for row in result.rows if row["exit_code"] == 0} == {2, 3}


def test_a_defect_fails_its_own_cell_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from solver.api import planning

    real = planning.plan

    def defect(request: api.PlanRequest, *arguments: object, **options: object) -> object:
        if request.budget_bytes == 2 * 10**9:
            raise ZeroDivisionError("a defect")
        return real(request, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(planning, "plan", defect)
    result = run(spec(budgets=("2.1GB", "2GB", "2.2GB")))
    (failed,) = [row for row in result.rows if row["exit_code"]]
    assert (failed["cell"], failed["exit_code"], failed["error"]) == (1, 101, "bug")
    assert failed["message"] == "ZeroDivisionError: a defect"
    assert {row["cell"] for row in result.rows} == {0, 1, 2}


def test_the_documented_schema_is_that_of_the_table() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for column in COLUMNS:
        assert f"| `{column.name}` | {column.kind} | {column.unit} | {column.says} |" in text
    assert text.count("\n| `") == len(COLUMNS)


@pytest.mark.slow
def test_a_zoo_of_configurations_is_swept(run: Run, tmp_path: Path) -> None:
    names = write_configs(tmp_path / "zoo", smallest(3))
    result = run(spec(models=(str(tmp_path / "zoo" / "*.json"),), budgets=("8GB",)), cache=False)
    assert {Path(row["model"]).stem.replace("__", "/") for row in result.rows} == set(names)
    assert len(names) == 3
    assert result.errors < 3
