"""Confirmed plans that between them hold all that a hand-over can carry."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from solver import api
from solver.catalog import Catalog
from solver.plan.confirm import confirm, draft
from solver.plan.document import QuantPlan
from solver.plan.request import PlanRequest
from tests.conftest import Analyse, Solve

Words = Callable[[str], list[str]]


@pytest.fixture(scope="session")
def mixed(solve: Solve) -> QuantPlan:
    """Return a plan with layer patterns, excludes and an fp8 cache."""
    fields = {"budget_bytes": 12 * 10**9, "exclude": ("*layers.[0-1].*",), "kv_cache_scheme": "fp8"}
    answer = solve("Qwen/Qwen3-8B", **fields)
    number = next(item.id for item in answer.alternatives if len(item.layer_quant_config) > 1)
    return confirm(draft(answer, number))


@pytest.fixture(scope="session")
def plain(solve: Solve) -> QuantPlan:
    """Return a plan of one scheme, with no cache scheme and no algorithm."""
    plan = confirm(draft(solve("Qwen/Qwen3-0.6B", kv_cache_scheme="none", algorithms=())))
    assert (plan.kv_cache_scheme, plan.algorithm, plan.layer_quant_config) == (None, None, {})
    return plan


@pytest.fixture(scope="session")
def with_algorithms(solve: Solve) -> QuantPlan:
    """Return a plan with two algorithms."""
    return confirm(draft(solve("meta-llama/Llama-3.2-1B-Instruct", algorithms=("smoothquant", "awq"))))


@pytest.fixture(scope="session")
def without_template(analyse: Analyse, catalog: Catalog) -> QuantPlan:
    """Return a plan for a model type that Quark has no template for."""
    analysis = analyse("Qwen/Qwen3-0.6B")
    other = analysis.model_copy(update={"model": analysis.model.model_copy(update={"model_type": "stablelm"})})
    request = PlanRequest(model="Qwen/Qwen3-0.6B", hardware="mi300x")
    plan = confirm(draft(api.solve(request, other, catalog=catalog)))
    assert not plan.model.template_builtin
    return plan


@pytest.fixture
def words(tmp_path: Path) -> Words:
    """Return a reader of commands: bash reads one, and gives back the arguments that its program gets."""

    def read(command: str) -> list[str]:
        # A function of the program's name stands for the program: bash itself splits, quotes and expands.
        program = command.split(maxsplit=1)[0]
        script = f"{program}() {{ printf '%s\\0' \"$@\"; }}\n{command}"
        done = subprocess.run(
            ["bash", "-eu", "-c", script], cwd=tmp_path, capture_output=True, check=True, stdin=subprocess.DEVNULL
        )
        assert done.stderr == b""
        return done.stdout.decode().split("\0")[:-1]

    return read


def values(arguments: list[str], flag: str) -> list[list[str]]:
    """Return the values of a flag, one list for each time that it is given."""
    found: list[list[str]] = []
    current: list[str] | None = None
    for argument in arguments:
        if argument.startswith("--"):
            current = [] if argument == flag else None
            if current is not None:
                found.append(current)
        elif current is not None:
            current.append(argument)
    return found
