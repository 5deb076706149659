"""`solve sweep` and `solve sweep show` as they are typed."""

from pathlib import Path

import pytest

from solver.sweep import SweepResult, read_rows
from tests.cli.conftest import MODEL, Run, refused


class TestRun:
    @pytest.mark.slow
    def test_writes_the_table_and_says_where(self, folder: Path, spawn: Run) -> None:
        (folder / "zoo.yaml").write_text(f"models: [{MODEL}]\nhardware: [mi300x]\nbudgets: [999TB]\n")
        done = spawn("sweep", "zoo.yaml", "--budget", "2.1GB,1GB", "--workers", "1", "-o", "rows.csv")
        assert (done.code, done.out) == (0, "")
        assert done.said == "Wrote rows.csv: 2 cells, 1 without a plan. Next: solve sweep show rows.csv"
        rows = read_rows(folder / "rows.csv")
        assert {row["budget_bytes"] for row in rows} == {21 * 10**8, 10**9}
        assert sorted(path.name for path in folder.iterdir()) == ["rows.csv", "zoo.yaml"]

    @pytest.mark.parametrize(
        ("arguments", "code", "words"),
        [
            ((), 2, ["no models are named", "--model"]),
            (("--model", MODEL), 2, ["no hardware is named", "--hardware"]),
            (("--model", MODEL, "--hardware", "mi300y"), 2, ["unknown hardware 'mi300y'", "Did you mean"]),
            (("--model", "x-*", "--hardware", "mi300x"), 2, ["matches no file"]),
            (("--model", MODEL, "--hardware", "mi300x", "--budget", "24"), 2, ["has no unit"]),
            (("--model", MODEL, "--hardware", "mi300x", "--context", "long"), 2, ["no number of tokens"]),
            (("--model", MODEL, "--hardware", "mi300x", "-o", "rows.xlsx"), 2, [".parquet or .csv"]),
            (("--model", MODEL, "--hardware", "mi300x", "-o", "no/rows.csv"), 2, ["cannot be written"]),
            (("--model", MODEL, "--hardware", "mi300x", "--workers", "0"), 2, ["--workers"]),
            (("nowhere.yaml",), 2, ["nowhere.yaml", "cannot be read"]),
            (("show", "nowhere.parquet"), 4, ["there is no result"]),
        ],
    )
    def test_what_cannot_be_used_is_refused_before_anything_runs(
        self, arguments: tuple[str, ...], code: int, words: list[str], folder: Path, run: Run
    ) -> None:
        refused(run("sweep", *arguments), code, *words)
        assert list(folder.iterdir()) == []

    def test_an_error_is_a_document_where_one_is_asked_for(self, folder: Path, run: Run) -> None:
        done = run("sweep", "--model", MODEL, "--hardware", "mi300y", "--json")
        assert done.code == 2
        assert done.document["error"]["kind"] == "bad_input"
        assert done.document["request"]["hardware"] == ["mi300y"]

    def test_help_shows_the_flags(self, folder: Path, run: Run) -> None:
        assert "--engine" in run("sweep", "--help").out


class TestShow:
    @pytest.fixture
    def table(self, folder: Path, whole: SweepResult) -> Path:
        whole.save(folder / "rows.parquet")
        return folder / "rows.parquet"

    def test_prints_what_fits_where_in_80_columns(self, table: Path, whole: SweepResult, run: Run) -> None:
        done = run("sweep", "show", table.name)
        assert (done.code, done.err) == (0, "")
        lines = done.out.splitlines()
        assert max(map(len, lines)) <= 80
        (line,) = [line for line in lines if MODEL in line and "cell" not in line]
        chosen = next(row for row in whole.rows if row["recommended"])
        assert line.split()[1].removeprefix("+") == f"{100 * (2.718281828459045 ** chosen['delta_nll'] - 1):.2g}"
        assert line.split()[-2:] == ["-", "!"]
        assert "1 cell, Qwen/Qwen3-0.6B: " in done.out
        fits = chosen["unquantized_bytes"] <= chosen["planned_budget_bytes"]
        assert [name in done.out for name in ("%*", "the unquantized model fits too")] == [fits, fits]
        assert run("sweep", "show", table.name).out == done.out

    def test_prints_the_rows_as_a_document(self, table: Path, run: Run) -> None:
        assert run("sweep", "show", table.name, "--json").document["rows"] == read_rows(table)
