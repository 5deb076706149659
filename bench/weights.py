"""Bytes of weights on one device against vLLM's own model classes; the answers are kept for the tests.

`SOLVER_VLLM_PYTHON` names an interpreter with vLLM 0.33. A model that it has no class of its own for has no answer.
"""

import csv
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from bench.kv_allocator import INTERPRETER, models
from bench.registry import Row, Skipped, Spec, register
from solver import api
from solver.catalog import Catalog
from solver.cost.parameters import other_bytes
from solver.cost.weights import held_bytes
from solver.intake.analysis import ModelAnalysis
from solver.rules.service import Service, served_dtype_bytes

NAME = "vllm-weights"
DRIVER = Path(__file__).with_name("vllm_weights.py")
ANSWERS = Path(__file__).parent.parent / "tests" / "data" / "vllm_weights.csv"
TENSOR_PARALLEL = (1, 8)
CATALOG = Catalog()
NEARLY: dict[str, str] = {
    **dict.fromkeys(
        (
            "deepseek-ai/DeepSeek-V2-Lite",
            "deepseek-ai/DeepSeek-V3",
            "deepseek-ai/DeepSeek-V3.2",
            "zai-org/GLM-5.1",
            "zai-org/GLM-5.2",
            "moonshotai/Kimi-K2.5",
            "transformers/kimi_linear-defaults",
        ),
        "routers that transformers and Quark keep in float32 are loaded in the model's type",
    ),
    **dict.fromkeys(
        (
            "MiniMaxAI/MiniMax-M2.5",
            "zai-org/GLM-4.5-Air",
            "deepseek-ai/DeepSeek-V4-Pro",
            "nvidia/DeepSeek-V4-Flash-NVFP4",
        ),
        "routers, their biases or what compresses tokens are loaded in float32",
    ),
    **dict.fromkeys(
        (
            "Qwen/Qwen3-Next-80B-A3B-Instruct",
            "Qwen/Qwen3.5-27B",
            "Qwen/Qwen3.5-35B-A3B",
            "ai21labs/AI21-Jamba-Mini-1.5",
            "ibm-granite/granite-4.0-h-small",
            "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
            "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16",
            "nvidia/Nemotron-H-56B-Base-8K",
            "tiiuae/falcon-mamba-7b",
        ),
        "parameters of states are loaded in float32",
    ),
}
"""Models whose weights differ by less than `TOLERANCE`, each with the reason."""
TOLERANCE = 0.002


@dataclass(frozen=True, slots=True)
class Answer:
    """The bytes of an unquantized model's parameters on one device, its vision tower left out."""

    model: str
    tensor_parallel: int
    vllm_class: str
    weights_bytes: int


def plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration without what says that the checkpoint is quantized."""
    return {
        key: plain(value) if key == "text_config" and isinstance(value, dict) else value
        for key, value in config.items()
        if key not in {"quantization_config", "quantization"}
    }


@cache
def analysis(model: str) -> ModelAnalysis:
    """Return the analysis of a model in its own type."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(plain(models()[model])), encoding="utf-8")
        return api.analyze(folder, catalog=CATALOG, cache=False)


def planned_bytes(found: ModelAnalysis, tensor_parallel: int) -> int:
    """Return what the planner bills of the same: all weights on one device but the vision tower and buffers."""
    inventory, model_type = found.inventory, found.model.model_type
    assert inventory is not None
    service = Service(CATALOG.hardware.get("mi300x"), CATALOG.backends.get("vllm"), 4096, 1, tensor_parallel)
    vision = sum(group.elements for group in inventory.others if group.part == "vision")
    total = other_bytes(service, CATALOG.roles, inventory) - inventory.buffer_bytes
    total -= vision * served_dtype_bytes(inventory)
    for family in inventory.layers:
        role = CATALOG.roles.named(family.role)
        if role.kind != "vision":
            blocks = len(family.block_indices) or 1
            total += blocks * held_bytes(family, None, role, service, inventory, model_type)
    return total


def holds(answer: Answer, planned: int) -> bool:
    """Return whether the bill of a model is vLLM's, or nearly where a reason is known."""
    difference = abs(planned - answer.weights_bytes)
    return difference <= TOLERANCE * answer.weights_bytes if answer.model in NEARLY else difference == 0


def read_answers() -> list[Answer]:
    """Return the answers that are kept."""
    with ANSWERS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return [
        Answer(**{item.name: row[item.name] if item.type is str else int(row[item.name]) for item in fields(Answer)})
        for row in rows
    ]


def ask(interpreter: str, names: tuple[str, ...]) -> tuple[str, list[Answer]]:
    """Return the versions that answered, and the answers for models that vLLM has a class of its own for."""
    asked = [(name, tensor_parallel) for name in names for tensor_parallel in TENSOR_PARALLEL]
    requests = [{"config": plain(models()[name]), "tensor_parallel": parallel} for name, parallel in asked]
    done = subprocess.run(
        [interpreter, str(DRIVER)], input=json.dumps(requests), capture_output=True, text=True, check=True
    )
    document = json.loads(done.stdout)
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    return versions, [
        Answer(name, parallel, found["class"], found["bytes"])
        for (name, parallel), found in zip(asked, document["answers"], strict=True)
        if "error" not in found and not found["class"].startswith("Transformers")
    ]


def askable() -> tuple[str, ...]:
    """Return the models whose whole configuration is at hand: defaults of transformers may lack their sizes."""
    return tuple(
        name for name, config in models().items() if "hidden_size" in {*config, *(config.get("text_config") or {})}
    )


def run() -> list[Row]:
    """Ask vLLM about all models, keep its answers, and compare each with the bill."""
    interpreter = os.environ.get(INTERPRETER)
    if not interpreter:
        raise Skipped(f"{INTERPRETER} names no interpreter with vLLM")
    versions, answers = ask(interpreter, askable())
    with ANSWERS.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# Parameters of vLLM's model classes ({versions}), by bench/weights.py; bytes a device.\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(item.name for item in fields(Answer))
        writer.writerows(astuple(answer) for answer in answers)
    return [
        Row(
            f"{answer.model}, tp {answer.tensor_parallel}",
            planned_bytes(analysis(answer.model), answer.tensor_parallel),
            answer.vllm_class,
            answer.weights_bytes,
            1 + TOLERANCE if answer.model in NEARLY else None,
            exact=answer.model not in NEARLY,
        )
        for answer in answers
    ]


register(Spec(NAME, "Does one device hold what vLLM loads onto it?", "B", run))
