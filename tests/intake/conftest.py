"""Fixtures for the intake: fresh analyses of bundled models and of configurations written into a folder."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from solver.catalog import Catalog
from solver.intake.analysis import ModelAnalysis
from solver.intake.analyze import analyze_source
from solver.intake.inventory import Inventory
from solver.intake.source import find_source
from tests.data.zoo import ZOO, write_checkpoint

Built = Callable[[str], ModelAnalysis]
Analysed = Callable[[str], ModelAnalysis]
Inventoried = Callable[[str], Inventory]
WriteModel = Callable[..., Path]

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "head_dim": 16,
    "hidden_size": 64,
    "intermediate_size": 128,
    "max_position_embeddings": 512,
    "model_type": "llama",
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 256,
}
"""A configuration that is right in all its parts, and small."""


@pytest.fixture(scope="session")
def built(catalog: Catalog) -> Built:
    """Return the analysis of a bundled model, built from its configuration and not the one that ships with it."""
    return cache(lambda model: analyze_source(find_source(model, catalog), catalog))


@pytest.fixture(scope="session")
def inventoried(built: Built) -> Inventoried:
    """Return the inventory of a bundled model."""

    def inventory(model: str) -> Inventory:
        found = built(model).inventory
        assert found is not None
        return found

    return inventory


@pytest.fixture(scope="session")
def analysed(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Analysed:
    """Return the analysis of a published configuration of the zoo, built once in a run."""

    def analyse(name: str) -> ModelAnalysis:
        folder = write_checkpoint(ZOO[name], tmp_path_factory.mktemp("zoo"))
        return analyze_source(find_source(str(folder), catalog), catalog)

    return cache(analyse)


@pytest.fixture
def write_model(tmp_path: Path) -> WriteModel:
    """Return a writer of checkpoint folders: LLAMA with the given fields changed (a field `...` is left out)."""

    def write(name: str = "model", *, base: dict[str, Any] = LLAMA, **fields: object) -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        config = {key: value for key, value in {**base, **fields}.items() if value is not ...}
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return folder

    return write
