"""The same request gives the same bytes, in one process and across processes."""

from pathlib import Path

import pytest

from tests.cli.conftest import PLAN, Run, environment

REQUEST = ("--hardware", "mi300x", "--budget", "2.1GB", "--exclude", "*layers.[0-1].*", "--layer", "*o_proj=ptpc_fp8")


@pytest.mark.parametrize(
    "form", [pytest.param((), id="tables"), pytest.param(("--json", "--yes"), id="json", marks=pytest.mark.slow)]
)
def test_two_processes_with_other_hash_seeds_give_the_same_bytes(
    form: tuple[str, ...], analysed: Path, spawn: Run
) -> None:
    seen = []
    for seed in ("0", "1"):
        done = spawn(*REQUEST, *form, env=environment(PYTHONHASHSEED=seed))
        assert done.code == 0
        seen.append((done.out, done.err, (analysed / PLAN).read_bytes()))
        (analysed / PLAN).unlink()
    assert seen[0] == seen[1]


def test_planning_again_in_one_process_gives_the_same_bytes(analysed: Path, run: Run) -> None:
    first, plan = run(*REQUEST), (analysed / PLAN).read_bytes()
    assert first.code == 0
    assert run(*REQUEST) == first
    assert (analysed / PLAN).read_bytes() == plan


def test_an_analysis_again_gives_the_same_bytes(folder: Path, run: Run) -> None:
    first = run("analyze", "Qwen/Qwen3-0.6B")
    assert first.code == 0
    assert run("analyze", "Qwen/Qwen3-0.6B") == first


def test_an_exported_command_again_gives_the_same_bytes(confirmed_file: Path, spawn: Run) -> None:
    first = spawn("export", env=environment(PYTHONHASHSEED="0"))
    assert first.code == 0
    assert spawn("export", env=environment(PYTHONHASHSEED="1")) == first


def test_where_the_analysis_lies_is_all_that_its_plan_says_of_the_folder(analysed: Path, run: Run) -> None:
    assert run(*REQUEST).code == 0
    assert str(analysed) not in (analysed / PLAN).read_text(encoding="utf-8")
