"""Every command that the README shows runs, in order, in a folder of its own."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line.partition("  #")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    for line in block.splitlines()
    if line.strip()
]
SOLVE = [command for command in COMMANDS if command.startswith("solve")]
MAKE = [command for command in COMMANDS if command.startswith("make")]


def test_all_commands_are_of_a_kind_that_is_tested() -> None:
    assert set(COMMANDS) == {*SOLVE, *MAKE}


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert {command.removeprefix("make ") for command in MAKE} <= targets


@pytest.mark.slow
def test_commands_run_as_written(tmp_path: Path) -> None:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1"}
    shutil.copy(ROOT / "docs" / "fleet.yaml", tmp_path)
    for command in SOLVE:
        done = subprocess.run(
            shlex.split(command),
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout or "-o" in command


def test_the_table_that_is_shown_is_that_of_the_command(tmp_path: Path) -> None:
    (table,) = re.findall(r"```text\n(  plan .*?)```", README, flags=re.DOTALL)
    figures = re.findall(r"[\d.]+ (?:total|weights|cache|activ\.|runtime|ms/token|s prompt)|\+[\d.]+ %", table)
    program = Path(sys.executable).with_name("solve")
    command = [program, *shlex.split(SOLVE[0])[1:]]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert len(figures) > 8
    assert [figure for figure in figures if figure not in shown.stdout] == []


def test_the_bill_that_is_shown_is_that_of_the_command(tmp_path: Path) -> None:
    (table,) = re.findall(r"```text\n(  +total .*?)```", README, flags=re.DOTALL)
    lines = [" ".join(line.split()) for line in table.splitlines() if line.startswith(("  unquantized", "  fp8"))]
    (command,) = [command for command in SOLVE if command.startswith("solve footprint Qwen")]
    program = Path(sys.executable).with_name("solve")
    shown = subprocess.run(
        [program, *shlex.split(command)[1:]], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    printed = {" ".join(line.split()) for line in shown.stdout.splitlines()}
    assert len(lines) == 2
    assert set(lines) <= printed


def test_what_is_verified_is_what_the_command_prints(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```text\n(patterns .*?)```", README, flags=re.DOTALL)
    program = Path(sys.executable).with_name("solve")
    made = next(command for command in SOLVE if "--choose 2" in command)
    for command in (made, next(command for command in SOLVE if command.startswith("solve verify"))):
        done = subprocess.run(
            [program, *shlex.split(command)[1:]], cwd=tmp_path, capture_output=True, text=True, check=True
        )
    printed = {" ".join(line.split()) for line in done.stdout.splitlines()}
    assert {" ".join(line.split()) for line in shown.splitlines()} <= printed


@pytest.mark.slow
def test_the_fleet_that_is_shown_is_what_the_command_prints(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```text\n(It fits.*?)```", README, flags=re.DOTALL)
    (part,) = re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    example = (ROOT / "docs" / "fleet.yaml").read_text(encoding="utf-8")
    assert part.partition("nodes:")[0] in example
    shutil.copy(ROOT / "docs" / "fleet.yaml", tmp_path)
    program = Path(sys.executable).with_name("solve")
    command = next(command for command in SOLVE if "--survive" in command)
    done = subprocess.run(
        [program, *shlex.split(command)[1:]], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    printed = " ".join(done.stdout.split())
    assert [line for line in shown.splitlines() if line != "..." and " ".join(line.split()) not in printed] == []


def test_python_runs_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip()


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).is_file()


def test_the_text_tells_no_machine_and_no_registry() -> None:
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "docs" / "model.md"):
        assert not re.search(r"/(root|work|home)/|pypi\.org|huggingface\.co", path.read_text(encoding="utf-8"))
