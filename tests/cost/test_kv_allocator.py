"""The caches of real models against what vLLM's own model classes and allocator need (bench/kv_allocator.py)."""

from collections import Counter

import pytest

from bench.kv_allocator import Answer, agrees, caches, models, planned
from tests.data import rows

ANSWERS = rows("kv_allocator.csv")
MODELS = sorted({answer["model"] for answer in ANSWERS})


def of_model(model: str) -> list[Answer]:
    return [answer for answer in ANSWERS if answer["model"] == model]


@pytest.mark.parametrize("model", MODELS)
def test_every_byte_is_vllm_s(model: str) -> None:
    asked = of_model(model)
    assert [answer for answer in asked if not agrees(answer)] == []


@pytest.mark.parametrize("model", MODELS)
def test_as_many_layers_have_a_cache(model: str) -> None:
    assert {sum(group.blocks for group in caches(model)[0].caches)} == {
        int(answer["cached_layers"]) for answer in of_model(model)
    }


def test_models_without_an_answer_are_partial_or_refused_by_vllm() -> None:
    unanswered = set(models()) - set(MODELS)
    partial = {model for model in models() if caches(model)[1]}
    # vLLM 0.33 does not read the rope type that transformers 5.24 writes for GPT-J.
    assert unanswered == partial | {"EleutherAI/gpt-j-6b"}
    assert partial == {"deepseek-ai/DeepSeek-V4-Pro", "nvidia/DeepSeek-V4-Flash-NVFP4"}


def test_of_compressed_caches_the_missing_fact_says_how_far_off_full_attention_is() -> None:
    # What bench/vllm_kv.py answers of vLLM 0.33.0, whose blocks for these caches have 256 tokens.
    flash = {"model": "nvidia/DeepSeek-V4-Flash-NVFP4", "tensor_parallel": "8", "kv_cache": "fp8"}
    assert planned({**flash, "context": "4096"}).request_bytes < 1_687_772_160 / 3
    assert planned({**flash, "context": "1048576"}).request_bytes > 5_798_960_640 * 3
    missing = caches(flash["model"])[1]
    assert all("several times too much or too little" in fact for fact in missing)
    assert {fact.split("'")[1] for fact in missing} == {"compressed_sparse_attention", "heavily_compressed_attention"}


def test_the_answers_cover_what_they_are_for() -> None:
    assert len(MODELS) >= 50
    kinds = Counter(group.kind for model in MODELS for group in caches(model)[0].caches)
    assert set(kinds) == {"full", "sliding", "chunked", "mla", "state"}
    assert {answer["tensor_parallel"] for answer in ANSWERS} == {"1", "8"}
    assert {answer["kv_cache"] for answer in ANSWERS} == {"native", "fp8"}
    assert max(int(answer["groups"]) for answer in ANSWERS) > 5


def test_an_fp8_cache_lengthens_the_blocks_of_hybrids_and_not_of_others() -> None:
    def tokens(model: str, kv_cache: str) -> set[str]:
        return {a["block_tokens"] for a in of_model(model) if a["kv_cache"] == kv_cache and a["tensor_parallel"] == "1"}

    assert (tokens("Qwen/Qwen3.5-27B", "native"), tokens("Qwen/Qwen3.5-27B", "fp8")) == ({"784"}, {"1568"})
    assert tokens("Qwen/Qwen3-8B", "native") == tokens("Qwen/Qwen3-8B", "fp8") == {"16"}
