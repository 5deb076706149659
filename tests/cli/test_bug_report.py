"""A result that fails its re-check is a report with the problem, and never a plan."""

import json
from pathlib import Path
from typing import Any

import pytest

from solver.cli import main
from solver.optimize.merge import MergedFront


def test_holds_the_problem_and_no_plan_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = MergedFront.counts

    def wrong(self: MergedFront, indices: Any) -> Any:
        # One unit of the first class that has a choice takes another option than the point says.
        made = [list(map(list, counts)) for counts in right(self, indices)]
        for counts in made:
            row = next(row for row in counts if len(row) > 1)
            place = next(index for index, number in enumerate(row) if number)
            row[place] -= 1
            row[place - 1] += 1
        return [tuple(map(tuple, counts)) for counts in made]

    monkeypatch.setattr(MergedFront, "counts", wrong)
    monkeypatch.delenv("SOLVE_DEBUG", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["Qwen/Qwen3-8B", "--budget", "12GB", "--hardware", "mi300x", "--yes"])
    assert ended.value.code == 101
    told = " ".join(capsys.readouterr().err.split())
    assert "Its problem is in solve_bug_report.json, and no plan was written." in told
    assert [path.name for path in tmp_path.iterdir()] == ["solve_bug_report.json"]
    report = json.loads((tmp_path / "solve_bug_report.json").read_text())
    assert report["request"]["model"] == "Qwen/Qwen3-8B"
    assert report["budget"] == {"size_bytes": 12 * 10**9, "scope": "total"}
    units = sum(len(part["units"]) for part in report["problems"][0]["classes"])
    assert units > 36 * 3
    assert all(len(costs) == 3 for part in report["problems"][0]["classes"] for costs in part["options"].values())
