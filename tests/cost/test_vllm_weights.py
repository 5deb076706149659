"""Weights on one device against vLLM's own model classes: their answers are replayed."""

import os

import pytest

from bench.kv_allocator import INTERPRETER
from bench.weights import NAME, NEARLY, TENSOR_PARALLEL, Answer, analysis, ask, holds, planned_bytes, read_answers
from solver.catalog import Catalog

ANSWERS = read_answers()
BUNDLED = {model.name for model in Catalog().models}


def _marked(answer: Answer) -> object:
    marks = () if answer.model in BUNDLED else (pytest.mark.slow,)
    return pytest.param(answer, marks=marks, id=f"{answer.model}, tp {answer.tensor_parallel}")


@pytest.mark.parametrize("answer", [_marked(answer) for answer in ANSWERS])
def test_one_device_holds_what_vllm_loads(answer: Answer) -> None:
    planned = planned_bytes(analysis(answer.model), answer.tensor_parallel)
    assert holds(answer, planned), planned - answer.weights_bytes


def test_a_byte_too_few_does_not_hold() -> None:
    exact = next(answer for answer in ANSWERS if answer.model not in NEARLY)
    assert holds(exact, exact.weights_bytes)
    assert not holds(exact, exact.weights_bytes - 1)


def test_the_answers_cover_what_they_are_for() -> None:
    models = {answer.model for answer in ANSWERS}
    assert {answer.tensor_parallel for answer in ANSWERS} == set(TENSOR_PARALLEL)
    assert len(models - set(NEARLY)) >= 30
    assert set(NEARLY) <= models
    # Fewer heads of keys than devices, heads of two widths, fused projections, biases, an indexer.
    assert models >= {
        "Qwen/Qwen3-30B-A3B",
        "nvidia/Gemma-4-31B-IT-NVFP4",
        "openai/gpt-oss-20b",
        "deepseek-ai/DeepSeek-V3.2",
    }


@pytest.mark.slow
def test_vllm_still_holds_what_was_kept() -> None:
    interpreter = os.environ.get(INTERPRETER)
    if not interpreter:
        pytest.skip(f"{INTERPRETER} names no interpreter with vLLM: `python -m bench {NAME}` asks it")
    names = ("openai/gpt-oss-20b", "Qwen/Qwen3-8B", "deepseek-ai/DeepSeek-V3.2")
    _, answers = ask(interpreter, names)
    assert answers == [answer for name in names for answer in ANSWERS if answer.model == name]
