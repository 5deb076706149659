"""Sweeps as users run them: processes that are killed, interrupted and resumed, and the rows that stay the same."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from solver.sweep import SweepResult, read_rows
from solver.sweep.journal import journal_path
from tests.cli.conftest import SOLVE, environment
from tests.cli.terminal import Terminal
from tests.sweep.conftest import SMALL, Run, smallest, spec, write_configs

PATIENCE = 300.0


def command(output: Path, *arguments: str) -> list[str]:
    return [str(SOLVE), "sweep", "--workers", "2", "-o", str(output), *arguments]


def small(contexts: str = "8k") -> list[str]:
    return ["--model", SMALL, "--hardware", "mi300x", "--budget", "2.1GB,2GB,1GB,999TB", "--context", contexts]


@contextmanager
def started(arguments: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command in a session of its own, so that all of its processes can be counted."""
    process = subprocess.Popen(
        arguments,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for_cells(journal: Path, cells: int, process: subprocess.Popen[bytes]) -> int:
    """Wait until so many cells are on disk, and return how many are."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        done = journal.read_bytes().count(b"\n") - 1 if journal.is_file() else 0
        if done >= cells:
            return done
        time.sleep(0.01)
    raise AssertionError(f"ended with {process.poll()} before {cells} cells were done")


def all_end(session: int, seconds: float = 10.0) -> bool:
    """Return whether no process of a session is left after some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        alive = [
            path
            for path in Path("/proc").glob("[0-9]*/stat")
            if (fields := _fields(path)) and int(fields[3]) == session and fields[0] != "Z"
        ]
        if not alive:
            return True
        time.sleep(0.05)
    return False


def _fields(stat: Path) -> list[str]:
    try:
        return stat.read_text().rpartition(")")[2].split()
    except OSError:
        return []


def finished(arguments: Sequence[str], folder: Path) -> dict[str, Any]:
    """Run a command to its end, and return its document."""
    done = subprocess.run(
        [*arguments, "--json"],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.slow
def test_processes_give_the_rows_of_one(whole: SweepResult, run: Run, tmp_path: Path) -> None:
    contexts = spec(contexts=("8k", "4k"))
    run(contexts).save(tmp_path / "one.parquet")
    found = finished(command(tmp_path / "two.parquet", *small("8k,4k")), tmp_path)
    assert (found["cells"], found["resumed"], found["errors"]) == (8, 0, 4)
    assert (tmp_path / "two.parquet").read_bytes() == (tmp_path / "one.parquet").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="counts processes in /proc")
def test_a_killed_sweep_leaves_no_process_and_is_resumed(tmp_path: Path) -> None:
    output = tmp_path / "rows.parquet"
    arguments = command(output, *small("8k,4k,2k,1k"))
    with started(arguments, tmp_path) as process:
        done = wait_for_cells(journal_path(output), 4, process)
        process.kill()
        process.wait()
        assert all_end(process.pid)
    assert [path.name for path in tmp_path.iterdir()] == [journal_path(output).name]
    found = finished(arguments, tmp_path)
    assert found["resumed"] >= done
    uninterrupted = tmp_path / "uninterrupted.parquet"
    finished(command(uninterrupted, *small("8k,4k,2k,1k")), tmp_path)
    assert output.read_bytes() == uninterrupted.read_bytes()


@pytest.mark.slow
def test_ctrl_c_leaves_a_valid_file_and_is_resumed(tmp_path: Path) -> None:
    output = tmp_path / "rows.csv"
    arguments = command(output, *small("8k,4k,2k,1k"))
    with Terminal(arguments, cwd=tmp_path, env=environment()) as terminal:
        terminal.until("4/16")
        terminal.press(b"\x03")
        assert terminal.end() == 1
        assert "cells are in" in terminal.text
        assert "Traceback" not in terminal.raw
    done = {row["cell"] for row in read_rows(output)}
    assert 4 <= len(done) < 16
    found = finished(arguments, tmp_path)
    assert found["resumed"] >= len(done)
    assert {row["cell"] for row in read_rows(output)} == set(range(16))


@pytest.mark.slow
def test_ray_gives_the_rows_of_processes(whole: SweepResult, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    whole.save(tmp_path / "one.parquet")
    output = tmp_path / "ray.parquet"
    arguments = [item for item in small() if item not in {"--context", "8k"}]
    found = finished([*command(output, *arguments), "--engine", "ray"], tmp_path)
    assert found["cells"] == whole.cells
    assert output.read_bytes() == (tmp_path / "one.parquet").read_bytes()


def test_without_ray_there_is_a_hint(tmp_path: Path) -> None:
    code = "import sys; sys.modules['ray'] = None; from solver.cli import main; main(sys.argv[1:])"
    arguments = [*command(tmp_path / "rows.parquet", *small())[1:], "--engine", "ray"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=tmp_path, env=environment(), capture_output=True, check=False
    )
    assert done.returncode == 4
    assert "pip install 'quant-plan-solver[ray]'" in " ".join(done.stderr.decode().split())


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="counts processes in /proc")
def test_a_zoo_is_resumed_after_two_kills(tmp_path: Path) -> None:
    """60 models on 3 machines under 3 budgets; some of them cannot be built, which is what their rows say."""
    names = write_configs(tmp_path / "zoo", smallest(60))
    assert len(names) == 60
    output = tmp_path / "rows.parquet"
    flags = ["--model", "zoo/*.json", "--hardware", "mi300x,h100,mi355x", "--budget", "4GB,8GB,24GB"]
    for cells in (30, 200):
        with started(command(output, *flags), tmp_path) as process:
            done = wait_for_cells(journal_path(output), cells, process)
            process.kill()
            process.wait()
            assert all_end(process.pid)
    journal = [
        json.loads(line)
        for line in journal_path(output).read_text(encoding="utf-8").splitlines(keepends=True)[1:]
        if line.endswith("\n")
    ]
    kept = {entry["cell"]: entry["rows"] for entry in journal}
    assert len(kept) >= done
    found = finished(command(output, *flags), tmp_path)
    assert (found["cells"], found["resumed"]) == (540, len(kept))
    by_cell: dict[int, list[dict[str, Any]]] = {}
    for row in read_rows(output):
        by_cell.setdefault(row["cell"], []).append(row)
    assert list(by_cell) == list(range(540))
    for number, rows in kept.items():
        assert [{name: row[name] for name in old} for row, old in zip(by_cell[number], rows, strict=True)] == rows
    planned = [number for number, rows in by_cell.items() if rows[0]["exit_code"] == 0]
    assert len(planned) > 300
