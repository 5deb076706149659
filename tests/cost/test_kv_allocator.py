"""The caches of real models against what vLLM's own model classes and allocator need (bench/kv_allocator.py)."""

from collections import Counter

import pytest

from bench.kv_allocator import Answer, agrees, caches, models
from tests.data import rows

ANSWERS = rows("kv_allocator.csv")
MODELS = sorted({answer["model"] for answer in ANSWERS})


def of_model(model: str) -> list[Answer]:
    return [answer for answer in ANSWERS if answer["model"] == model]


def lengths(model: str, devices: str) -> set[str]:
    native = (answer for answer in of_model(model) if answer["kv_cache"] == "native")
    return {answer["context"] for answer in native if answer["tensor_parallel"] == devices}


@pytest.mark.parametrize("model", MODELS)
def test_every_byte_is_vllm_s(model: str) -> None:
    asked = of_model(model)
    assert [answer for answer in asked if not agrees(answer)] == []


@pytest.mark.parametrize("model", MODELS)
def test_as_many_layers_have_a_cache(model: str) -> None:
    assert {sum(group.blocks for group in caches(model)[0].caches)} == {
        int(answer["cached_layers"]) for answer in of_model(model)
    }


def test_models_without_an_answer_are_refused_by_vllm() -> None:
    # vLLM 0.33 does not read the rope type that transformers 5.24 writes for GPT-J.
    assert set(models()) - set(MODELS) == {"EleutherAI/gpt-j-6b"}
    assert {model for model in models() if caches(model)[1]} == set()


def test_compressed_caches_are_the_same_whatever_type_is_asked_for_and_on_every_device() -> None:
    model = "nvidia/DeepSeek-V4-Flash-NVFP4"
    asked = of_model(model)
    assert {(answer["tensor_parallel"], answer["kv_cache"]) for answer in asked} == {
        (devices, kv_cache) for devices in ("1", "8") for kv_cache in ("native", "fp8")
    }
    assert len({(answer["context"], answer["bytes_per_request"]) for answer in asked}) == 3


def test_the_answers_cover_what_they_are_for() -> None:
    assert len(MODELS) >= 50
    kinds = Counter(group.kind for model in MODELS for group in caches(model)[0].caches)
    assert set(kinds) == {"full", "sliding", "chunked", "mla", "state", "image"}
    # Each model type at three lengths on one device, and at the same three on eight.
    full = {
        str(models()[model]["model_type"]) for model in MODELS if len(lengths(model, "1") & lengths(model, "8")) >= 3
    }
    assert len(full) >= 20
    assert {answer["tensor_parallel"] for answer in ANSWERS} == {"1", "8"}
    assert {answer["kv_cache"] for answer in ANSWERS} == {"native", "fp8"}
    assert max(int(answer["groups"]) for answer in ANSWERS) > 5


def test_an_fp8_cache_lengthens_the_blocks_of_hybrids_and_not_of_others() -> None:
    def tokens(model: str, kv_cache: str) -> set[str]:
        return {a["block_tokens"] for a in of_model(model) if a["kv_cache"] == kv_cache and a["tensor_parallel"] == "1"}

    assert (tokens("Qwen/Qwen3.5-27B", "native"), tokens("Qwen/Qwen3.5-27B", "fp8")) == ({"784"}, {"1568"})
    assert tokens("Qwen/Qwen3-8B", "native") == tokens("Qwen/Qwen3-8B", "fp8") == {"16"}
