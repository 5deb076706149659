"""Small real checkpoints, saved by transformers itself, and names of large ones."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

from solver.catalog.section import read_yaml
from solver.intake.tensors import TensorInfo, tensor_bytes
from tests.quark.tiny import tiny_config

INDEXES: dict[str, Any] = read_yaml(Path(__file__).parents[1] / "data" / "index_names.yaml")
"""Published checkpoints by name: configuration, bytes, and all tensors by patterns (`published_names` expands them)."""


def published_names(model: str) -> list[str]:
    """Return all tensor names of a published checkpoint."""
    return [name for line in INDEXES[model]["names"].split() for name in _expanded(line)]


def _expanded(pattern: str) -> list[str]:
    parts = re.split(r"\{([\d,-]+)\}", pattern)
    axes = []
    for text in parts[1::2]:
        ends = [part.split("-") for part in text.split(",")]
        axes.append([number for end in ends for number in range(int(end[0]), int(end[-1]) + 1)])
    return [
        "".join(itertools.chain.from_iterable(itertools.zip_longest(parts[::2], map(str, numbers), fillvalue="")))
        for numbers in itertools.product(*axes)
    ]


def stored(name: str, dtype: str, shape: tuple[int, ...]) -> TensorInfo:
    """Return a tensor as the headers of a checkpoint would describe it."""
    return TensorInfo(name, dtype, shape, tensor_bytes(dtype, shape))


def save_model(folder: Path, model_type: str, *, shard: str = "10GB", dtype: str = "bfloat16", **changes: Any) -> Path:
    """Save a small model with random weights as transformers saves it, and return its folder."""
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText

    config = tiny_config(model_type, **changes)
    causal = type(config) in AutoModelForCausalLM._model_mapping
    auto = AutoModelForCausalLM if causal else AutoModelForImageTextToText
    model = auto.from_config(config, dtype=getattr(torch, dtype))
    model.save_pretrained(folder, max_shard_size=shard)
    return folder


def add_tensors(folder: Path, **tensors: tuple[tuple[int, ...], str]) -> None:
    """Add tensors (shape and torch's type by name, `__` for a dot) to a checkpoint of one file."""
    import torch
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    content = load_file(path)
    for name, (shape, dtype) in tensors.items():
        content[name.replace("__", ".")] = torch.zeros(shape, dtype=getattr(torch, dtype))
    save_file(content, path)


def change_config(folder: Path, **fields: Any) -> Path:
    """Change fields of a folder's configuration (a field `...` is left out), and return the folder."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8")) | fields
    path.write_text(json.dumps({key: value for key, value in config.items() if value is not ...}), encoding="utf-8")
    return folder
