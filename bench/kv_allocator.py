"""The planner's KV cache against vLLM's own model classes and allocator: every byte must agree.

`SOLVER_VLLM_PYTHON` names an interpreter with vLLM 0.33. Its answers are kept in tests/data/kv_allocator.csv, which the
tests replay.
"""

import csv
import json
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from bench.registry import Row, Skipped, Spec, register
from solver.catalog import Catalog
from solver.cost.kv_cache import CacheNeed, cache_need
from solver.intake.caches import cache_groups
from solver.intake.inventory import Inventory
from solver.intake.shipped import shipped_analysis
from solver.intake.source import ModelSource
from solver.rules.service import Service

INTERPRETER = "SOLVER_VLLM_PYTHON"
DRIVER = Path(__file__).with_name("vllm_kv.py")
DATA = Path(__file__).parent.parent / "tests" / "data"
ANSWERS = DATA / "kv_allocator.csv"
COLUMNS = (
    "model",
    "tensor_parallel",
    "kv_cache",
    "context",
    "attention",
    "cached_layers",
    "groups",
    "block_tokens",
    "bytes_per_block",
    "bytes_per_request",
)
FURTHER = (
    "HuggingFaceTB/SmolLM3-3B",
    "MiniMaxAI/MiniMax-M2.5",
    "Qwen/Qwen1.5-MoE-A2.7B",
    "Qwen/Qwen3-VL-30B-A3B-Instruct",
    "Qwen/Qwen3.5-35B-A3B",
    "ai21labs/AI21-Jamba-Mini-1.5",
    "allenai/OLMo-1B-hf",
    "allenai/OLMo-2-1124-7B",
    "allenai/Olmo-3-7B",
    "deepseek-ai/DeepSeek-V3.2",
    "deepseek-ai/DeepSeek-V4-Pro",
    "facebook/opt-6.7b",
    "google/gemma-7b",
    "llava-hf/llava-1.5-7b-hf",
    "meta-llama/Llama-3.2-11B-Vision-Instruct",
    "microsoft/Phi-3-mini-128k-instruct",
    "microsoft/Phi-3.5-MoE-instruct",
    "microsoft/phi-1",
    "moonshotai/Kimi-K2.5",
    "nvidia/DeepSeek-V4-Flash-NVFP4",
    "nvidia/Gemma-4-26B-A4B-NVFP4",
    "nvidia/Gemma-4-31B-IT-NVFP4",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16",
    "nvidia/Nemotron-H-56B-Base-8K",
    "tencent/Hunyuan-7B-Instruct",
    "tiiuae/falcon-mamba-7b",
    "zai-org/GLM-5.1",
    "zai-org/GLM-5.2",
)
"""Architectures that the bundled zoo does not have."""

CONTEXTS = (4096, 32768)
LONGEST = 131072
TENSOR_PARALLEL = (1, 8)
KV_DTYPES = {"native": "auto", "fp8": "fp8"}

Answer = dict[str, str]


_catalog = cache(Catalog)
"""One for all questions: to read the profiles takes longer than to answer."""


@cache
def models() -> dict[str, dict[str, Any]]:
    """Return configurations by model: of the bundled zoo, more of the tests' zoo, and defaults of further types."""
    found = {model.name: model.config for model in _catalog().models}
    further = {name: config for name, config in _records("zoo.jsonl").items() if name in FURTHER}
    return found | further | _records("default_configs.jsonl")


def _records(name: str) -> dict[str, dict[str, Any]]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return {record["name"]: record["config"] for record in map(json.loads, lines)}


def _configuration(config: dict[str, Any]) -> Any:
    import transformers

    fields = {key: value for key, value in config.items() if key not in {"model_type", "auto_map"}}
    return transformers.AutoConfig.for_model(config["model_type"], **fields)


@cache
def caches(model: str) -> tuple[Inventory, tuple[str, ...]]:
    """Return what the intake knows of a model's caches, with little else in the inventory, and what it lacks."""
    shipped = shipped_analysis(ModelSource(model, "zoo", models()[model]))
    if shipped is not None and shipped.inventory is not None:
        return shipped.inventory, shipped.missing
    whole, catalog = _configuration(models()[model]), _catalog()
    config = whole.get_text_config()
    groups, missing = cache_groups(config, catalog.config_fields, catalog.cache_fields, whole)
    context = catalog.config_fields.first("context", config)
    return Inventory.model_construct(dtype="bfloat16", caches=groups, max_context=context), tuple(missing)


def planned(answer: Answer) -> CacheNeed:
    """Return what the planner says to a question that vLLM answered."""
    catalog = _catalog()
    service = Service(
        catalog.hardware.get("mi300x"),
        catalog.backends.get("vllm"),
        context=int(answer["context"]),
        concurrency=1,
        tensor_parallel=int(answer["tensor_parallel"]),
    )
    return cache_need(service, caches(answer["model"])[0], fp8=answer["kv_cache"] == "fp8")


def agrees(answer: Answer) -> bool:
    """Whether the planner needs what vLLM needs, for a block and for a request."""
    need = planned(answer)
    return [need.reserved_bytes, need.request_bytes] == [
        int(answer["bytes_per_block"]),
        int(answer["bytes_per_request"]),
    ]


def _requests() -> list[dict[str, Any]]:
    batched = int(_catalog().backends.get("vllm").activations.max_batched_tokens.value)
    return [
        {
            "model": model,
            "config": config,
            "tensor_parallel": tensor_parallel,
            "kv_cache": kv_cache,
            "kv_cache_dtype": kv_cache_dtype,
            "batched_tokens": batched,
            "contexts": [*CONTEXTS, max(caches(model)[0].max_context or 0, LONGEST)],
        }
        for model, config in models().items()
        if not caches(model)[1]
        for tensor_parallel in TENSOR_PARALLEL
        for kv_cache, kv_cache_dtype in KV_DTYPES.items()
    ]


def _ask(interpreter: str, requests: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """Return the versions that answered, and an answer to each request."""
    done = subprocess.run(
        [interpreter, str(DRIVER)], input=json.dumps(requests), capture_output=True, text=True, check=True
    )
    document = json.loads(done.stdout)
    return ", ".join(f"{name} {version}" for name, version in document["versions"].items()), document["answers"]


def _flat(requests: list[dict[str, Any]], answers: list[dict[str, Any]]) -> Iterator[Answer]:
    """Yield one answer for each context; what vLLM refuses (heads that do not divide) has none."""
    for request, answer in zip(requests, answers, strict=True):
        if "error" not in answer:
            for context, need in zip(request["contexts"], answer["bytes_per_request"], strict=True):
                flat = {**request, **answer, "context": context, "bytes_per_request": need}
                yield {column: str(flat[column]) for column in COLUMNS}


def _keep(versions: str, answers: list[Answer]) -> None:
    with ANSWERS.open("w", encoding="utf-8", newline="") as file:
        file.write(
            f"# What vLLM's model classes and allocator need ({versions}), by bench/kv_allocator.py; bytes a device.\n"
        )
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(answers)


def run() -> list[Row]:
    """Ask vLLM about all models whose caches are known, keep its answers, and count how many are the planner's too."""
    interpreter = os.environ.get(INTERPRETER)
    if not interpreter:
        raise Skipped(f"{INTERPRETER} names no interpreter with vLLM")
    requests = _requests()
    versions, answers = _ask(interpreter, requests)
    flat = list(_flat(requests, answers))
    _keep(versions, flat)
    rows = []
    for model in models():
        asked = [answer for answer in flat if answer["model"] == model]
        if asked:
            rows.append(Row(model, sum(map(agrees, asked)), versions.split(",")[0], len(asked), exact=True))
    return rows


register(Spec("kv-allocator", "How many of vLLM's answers are the planner's, to the byte?", "answers", run))
