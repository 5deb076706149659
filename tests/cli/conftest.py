"""The command run in this process or as one of its own, in a folder that holds an analysed model and nothing else."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from solver import api
from solver.catalog import Catalog
from solver.cli import main
from solver.plan.confirm import draft
from solver.plan.document import QuantPlan
from solver.plan.files import read_plan, to_json, write_plan
from solver.plan.request import PlanRequest

MODEL = "Qwen/Qwen3-0.6B"
UNKNOWN = ("--hardware", "mi355x", "--concurrency", "512", "--min-decode-tps", "26.48", "--time-limit", "1e-9")
"""A speed that no plan of the front has, but some other one, and no time to find it."""
SOLVE = Path(sys.executable).with_name("solve")
PLAN = "quant_plan.json"
_AMBIENT = {"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "SOLVE_DEBUG"}


@dataclass(frozen=True)
class Done:
    """A run of the command that has ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """What stderr says, however it is wrapped."""
        return " ".join(self.err.split())

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


Run = Callable[..., Done]


def refused(done: Done, code: int, *words: str) -> None:
    """Check that a run ended with an exit code and one message that holds these words, and gave no answer."""
    assert (done.code, done.out) == (code, ""), done.err
    assert done.err.startswith("error: ")
    assert [word for word in words if word not in done.said] == [], done.said


def environment(**changes: str) -> dict[str, str]:
    """Return an environment as on a plain terminal, off the network, with these changes."""
    plain = {name: value for name, value in os.environ.items() if name not in _AMBIENT}
    return plain | {"TERM": "xterm-256color", "HF_HUB_OFFLINE": "1"} | changes


@pytest.fixture(scope="session")
def analysis_text(catalog: Catalog) -> str:
    """Return the `model_analysis.json` of a small model."""
    return to_json(api.analyze(MODEL, catalog=catalog).document())


@pytest.fixture(scope="session")
def drafted(catalog: Catalog) -> QuantPlan:
    """Return a drafted plan of the same model, with at least three alternatives."""
    request = PlanRequest(model=MODEL, hardware="mi300x")
    plan = draft(api.solve(request, api.analyze(MODEL, catalog=catalog), catalog=catalog))
    assert len(plan.alternatives) >= 3
    return plan


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def analysed(folder: Path, analysis_text: str) -> Path:
    """Return the current folder with the analysis of a small model in it."""
    (folder / "model_analysis.json").write_text(analysis_text, encoding="utf-8")
    return folder


@pytest.fixture
def draft_file(folder: Path, drafted: QuantPlan) -> Path:
    """Return a drafted plan in the current folder."""
    write_plan(folder / PLAN, drafted)
    return folder / PLAN


@pytest.fixture
def confirmed_file(draft_file: Path) -> Path:
    """Return a confirmed plan in the current folder."""
    write_plan(draft_file, api.confirm(read_plan(draft_file)))
    return draft_file


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a runner of the command in this process, without a terminal."""
    for name in _AMBIENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())

    def here(*arguments: str) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Done(int(caught.value.code or 0), captured.out, captured.err)

    return here


@pytest.fixture
def spawn(folder: Path) -> Run:
    """Return a runner of the installed command as a process of its own, its streams piped."""

    def process(*arguments: str, env: dict[str, str] | None = None) -> Done:
        done = subprocess.run(
            [str(SOLVE), *arguments],
            cwd=folder,
            env=env or environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        # Decoded here: text mode would turn carriage returns into newlines.
        ended = Done(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in ended.err
        return ended

    return process
