"""What a command does not need it does not load, each seen in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import MODEL, PLAN, environment

HEAVY = {"gguf", "torch", "transformers", "ortools", "numpy"}
SCRIPT = """
import json, sys
from solver.cli import main
try:
    main(json.loads(sys.argv[1]))
except SystemExit as end:
    code = end.code
with open(sys.argv[2], "w", encoding="utf-8") as report:
    json.dump([code, sorted(sys.modules)], report)
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """Return the modules that a run of the command has loaded when it ends well."""
    report = folder / "modules.json"
    subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(arguments), str(report)],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    code, modules = json.loads(report.read_text(encoding="utf-8"))
    assert code in {0, None}
    return set(modules)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        ("analyze", "--help"),
        ("profiles", "list", "schemes"),
        ("profiles", "show", "hardware", "mi300x"),
    ],
    ids=" ".join,
)
def test_looking_things_up_loads_no_solver_and_no_framework(arguments: tuple[str, ...], folder: Path) -> None:
    modules = loaded(folder, *arguments)
    assert "typer" in modules
    assert modules & HEAVY == set()


@pytest.mark.parametrize("command", ["confirm", "export"])
def test_handing_a_plan_over_loads_no_solver_and_no_framework(command: str, confirmed_file: Path) -> None:
    modules = loaded(confirmed_file.parent, command, PLAN)
    assert "solver.plan.files" in modules
    assert modules & HEAVY == set()


def test_verifying_a_plan_loads_no_framework_and_no_quark(confirmed_file: Path) -> None:
    modules = loaded(confirmed_file.parent, "verify", PLAN, "--quark", "no")
    assert "solver.plan.recheck" in modules
    assert modules & {"torch", "transformers", "quark", "gguf"} == set()


def test_looking_around_loads_no_framework_and_no_quark(folder: Path) -> None:
    assert loaded(folder, "doctor", "--quark", "no") & {"torch", "transformers", "quark", "gguf"} == set()


def test_help_loads_nothing_of_the_planner(folder: Path) -> None:
    assert not {name for name in loaded(folder, "--help") if name.startswith(("solver.catalog", "solver.plan"))}


def test_planning_for_an_analysed_model_loads_the_solver_and_no_framework(analysed: Path) -> None:
    modules = loaded(analysed, "--hardware", "mi300x", "--yes")
    assert "ortools" in modules
    # What only checks a finished plan is not loaded to make one either.
    assert modules & {"torch", "transformers", "jsonschema", "quark"} == set()


def test_planning_for_a_bundled_model_loads_the_solver_and_no_framework(folder: Path) -> None:
    assert loaded(folder, MODEL, "--hardware", "mi300x") & {"torch", "transformers"} == set()


def test_planning_for_a_bundled_model_that_quark_analysed_loads_no_framework(folder: Path) -> None:
    document = {
        "analysis_status": "complete",
        "model": {"model_path": MODEL, "model_type": "qwen3"},
        "quantization_targets": {"linear_layer_count": 196, "exclude_defaults": ["lm_head"]},
        "risks": [],
    }
    (folder / "model_analysis.json").write_text(json.dumps(document), encoding="utf-8")
    assert loaded(folder, "--hardware", "mi300x") & {"torch", "transformers"} == set()


def test_the_package_itself_loads_nothing(folder: Path) -> None:
    code = f"import sys, solver; print(sorted(set(sys.modules) & set({sorted(HEAVY | {'pydantic', 'rich'})!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    assert done.stdout == "[]\n"
