"""Fixtures for all tests: the catalogue, and analyses of bundled models, each built once in a run."""

import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest

from solver import api
from solver.catalog import Catalog
from solver.intake.analysis import ModelAnalysis
from solver.plan.document import Answer
from solver.plan.request import PlanRequest
from solver.sweep import Sweep, SweepResult
from solver.sweep import sweep as run_sweep

os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="analyses-")
"""The user's cache folder, for this process and those that it starts."""

Analyse = Callable[[str], ModelAnalysis]
Solve = Callable[..., Answer]

REQUIRED_MODELS = {
    "meta-llama/Llama-3.1-70B": {"budget_bytes": 48 * 10**9},
    "Qwen/Qwen3-8B": {"budget_bytes": 12 * 10**9},
    "Qwen/Qwen3-30B-A3B": {"budget_bytes": 24 * 10**9},
    "openai/gpt-oss-20b": {"budget_bytes": 24 * 10**9},
    "google/gemma-3-27b-it": {"budget_bytes": 24 * 10**9},
    "deepseek-ai/DeepSeek-V3": {"budget_bytes": 80 * 10**9, "tensor_parallel": 8, "hardware": "mi355x"},
}
"""Models that must always be plannable, each with a budget that its weights in 16 bits exceed."""


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return Catalog()


@pytest.fixture(scope="session")
def analyse(catalog: Catalog) -> Analyse:
    """Return the analysis of a bundled model; torch's meta device builds it once in a run."""
    return cache(lambda model: api.analyze(model, catalog=catalog))


@pytest.fixture(scope="session")
def solve(catalog: Catalog, analyse: Analyse) -> Solve:
    """Return the answer to a request, given as a model and the fields that differ from the defaults."""

    def answer(model: str, **fields: object) -> Answer:
        request = PlanRequest.model_validate({"hardware": "mi300x", **fields, "model": model})
        return api.solve(request, analyse(model), catalog=catalog)

    return answer


@pytest.fixture(scope="session")
def required_answers(solve: Solve) -> dict[str, Answer]:
    """Return the answers for all required models at their budgets."""
    return {model: solve(model, **fields) for model, fields in REQUIRED_MODELS.items()}


def small_sweep(**fields: Any) -> Sweep:
    """Return a sweep of four cells, of which one has no plan and one is refused."""
    budgets = ("2.1GB", "2GB", "1GB", "999TB")
    return Sweep.model_validate({"models": ("Qwen/Qwen3-0.6B",), "hardware": ("mi300x",), "budgets": budgets, **fields})


@pytest.fixture(scope="session")
def whole() -> SweepResult:
    """Return the rows of the small sweep."""
    with ThreadPoolExecutor(1) as pool:
        return run_sweep(small_sweep(), executor=pool)
