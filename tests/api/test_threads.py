"""Analyses and sweeps in several threads give what one thread gives, and leave the process as it was."""

import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from transformers.utils import logging

from solver import api
from solver.catalog import Catalog
from solver.sweep import sweep
from tests.conftest import small_sweep

SIZES = {"hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 128, "vocab_size": 256}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
TYPES = ("float32", "bfloat16", "float16", "float32", "bfloat16", "float16", "bfloat16", "float32")
KINDS = ("llama", "qwen2", "qwen3", "mistral")


def write_mixed(folder: Path) -> list[str]:
    """Write configurations of several types of weights, and return their files."""
    paths = []
    for number, dtype in enumerate(TYPES):
        config = {"model_type": KINDS[number % len(KINDS)], "dtype": dtype, **SIZES, **HEADS}
        path = folder / f"{number}.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        paths.append(str(path))
    return paths


def test_analyses_in_threads_are_those_of_one_and_leave_the_process_alone(tmp_path: Path, catalog: Catalog) -> None:
    paths = write_mixed(tmp_path)

    def analyse(path: str) -> api.ModelAnalysis:
        return api.analyze(path, catalog=catalog, cache=False)

    alone = [analyse(path) for path in paths]
    assert [analysis.inventory.dtype for analysis in alone if analysis.inventory] == list(TYPES)
    before = torch.get_default_dtype(), list(warnings.filters), logging.get_verbosity()
    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(analyse, paths * 2))
    assert threaded == alone * 2
    assert (torch.get_default_dtype(), list(warnings.filters), logging.get_verbosity()) == before


def test_a_sweep_in_threads_is_that_of_one(tmp_path: Path) -> None:
    asked = small_sweep(models=tuple(write_mixed(tmp_path)), budgets=("4GB",))
    found = []
    for threads in (1, 4):
        with ThreadPoolExecutor(threads) as pool:
            found.append(sweep(asked, executor=pool, workers=threads, cache=False))
    assert found[0].rows == found[1].rows
    assert {row["exit_code"] for row in found[0].rows} == {0}
