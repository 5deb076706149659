"""Fixtures on the installed AMD Quark: imported once, and only for the tests that ask for it."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from solver import api
from solver.catalog import Catalog
from solver.errors import InfeasibleError
from solver.intake.analysis import ModelAnalysis
from solver.intake.inventory import Inventory
from solver.plan.document import Answer
from solver.plan.request import PlanRequest
from tests.quark.architectures import small_config


@dataclass(frozen=True)
class TinyModel:
    """A small model with random weights as Quark sees it, and what the intake says of its configuration."""

    name: str
    folder: str
    analysis: ModelAnalysis
    model: Any

    @property
    def inventory(self) -> Inventory:
        """What the intake found."""
        assert self.analysis.inventory is not None
        return self.analysis.inventory


Tiny = Callable[[str], TinyModel]
SolveTiny = Callable[..., Answer]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of this folder where Quark, an extra of this package, is not installed."""
    if find_spec("quark") is None:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="amd-quark is not installed"))


@pytest.fixture(scope="session")
def quark() -> Any:
    """Return the package `quark.torch`; the first import on a machine compiles a kernel."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import quark.torch
        import quark.torch.utils.llm

    return quark.torch


@pytest.fixture
def llm_template(quark: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return Quark's class of templates; what a test registers in it is forgotten afterwards."""
    monkeypatch.setattr(quark.LLMTemplate, "_templates", dict(quark.LLMTemplate._templates))
    return quark.LLMTemplate


@pytest.fixture(scope="session")
def tiny(quark: Any, catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """Return a small model by architecture, after the preparation that Quark's commands give every model."""

    @cache
    def build(name: str) -> TinyModel:
        import torch
        import transformers

        config = small_config(name)
        folder = tmp_path_factory.mktemp(name)
        config.save_pretrained(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(0)
            model = getattr(transformers, config.architectures[0])._from_config(config)
            quark.utils.llm.preprocess_for_quantization(model)
        return TinyModel(name, str(folder), api.analyze(str(folder), catalog=catalog), model)

    return build


@pytest.fixture(scope="session")
def solve_tiny(tiny: Tiny, catalog: Catalog) -> SolveTiny:
    """Return the answer for a small model, its budget for the weights alone: the rest of a service outweighs them.

    `share` says where the budget lies between the smallest plan (0) and the unquantized checkpoint (1).
    """

    def answer(name: str, *, share: float, **fields: Any) -> Answer:
        small = tiny(name)

        def solve(budget: int) -> Answer:
            given = {"hardware": "mi300x", "budget_scope": "weights", **fields}
            request = PlanRequest.model_validate(given | {"model": small.folder, "budget_bytes": budget})
            return api.solve(request, small.analysis, catalog=catalog)

        with pytest.raises(InfeasibleError) as refused:
            solve(1)
        least = refused.value.least_footprint_bytes
        return solve(least + round(share * (small.inventory.unquantized_bytes - least)))

    return answer
