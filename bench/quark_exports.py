"""Checkpoints that AMD Quark writes, against the bytes that the planner predicts; writes `docs/exports.md`."""

import logging
import tempfile
import warnings
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.registry import Row, Skipped, Spec, register
from solver import api
from solver.catalog import Catalog
from solver.catalog.scheme import Scheme
from solver.catalog.template import Template
from solver.intake.analysis import ModelAnalysis
from solver.plan.context import template_of
from tests.quark.exports import export, native_layers, predicted_bytes, size_of, uniform

NAME = "quark-exports"
DOCUMENT = Path(__file__).parent.parent / "docs" / "exports.md"
WITH_FP8_CACHE = ("fp8", "int4_wo_32", "mxfp4", "ptpc_fp8")

_SMALL_MOE: dict[str, Any] = {
    "num_hidden_layers": 2,
    "hidden_size": 256,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "moe_intermediate_size": 128,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "vocab_size": 2048,
    "max_window_layers": 2,
}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "SmolLM2-135M": ("HuggingFaceTB/SmolLM2-135M-Instruct", {}),
    "Qwen3-MoE, small": ("Qwen/Qwen3-30B-A3B", _SMALL_MOE),
}
"""By the name in the table: a bundled configuration, and what is changed in it."""

CATALOG = Catalog()


def configuration(model: str) -> Any:
    """Return the transformers configuration of one of `MODELS`."""
    from transformers import AutoConfig

    base, changes = MODELS[model]
    return AutoConfig.for_model(**{**CATALOG.models.get(base).config, **changes, "dtype": "bfloat16"})


@cache
def analysis(model: str) -> ModelAnalysis:
    """Return what the intake says of one of `MODELS`."""
    with tempfile.TemporaryDirectory() as folder:
        configuration(model).save_pretrained(folder)
        return api.analyze(folder, catalog=CATALOG)


def cases() -> list[tuple[str, str, str]]:
    """Return model, KV cache and scheme of every row."""
    exportable = [scheme.name for scheme in CATALOG.schemes if not scheme.not_exportable]
    return [
        (model, cache_type, scheme)
        for model in MODELS
        for cache_type, schemes in (("native", exportable), ("fp8", WITH_FP8_CACHE))
        for scheme in schemes
    ]


def _parts(model: str, scheme: str) -> tuple[Template, Scheme]:
    return template_of(analysis(model), CATALOG), CATALOG.schemes.get(scheme)


def predicted(model: str, kv_cache: str, scheme_name: str) -> int:
    """Return the bytes that the planner expects."""
    template, scheme = _parts(model, scheme_name)
    inventory = analysis(model).inventory
    assert inventory is not None
    patterns = template.kv_layers if kv_cache == "fp8" else ()
    return predicted_bytes(inventory, uniform(inventory, scheme, template), patterns, CATALOG)


@cache
def _random_model(model: str) -> Any:
    import torch
    import transformers
    from quark.torch.utils.llm import preprocess_for_quantization

    config = configuration(model)
    torch.manual_seed(0)
    built = getattr(transformers, config.architectures[0])._from_config(config).eval()
    preprocess_for_quantization(built)
    return built


def exported(model: str, kv_cache: str, scheme_name: str) -> int:
    """Return the bytes of the tensors that Quark writes."""
    from quark.torch import LLMTemplate

    template, scheme = _parts(model, scheme_name)
    inventory = analysis(model).inventory
    assert inventory is not None
    config = LLMTemplate.get(template.model_type).get_config(
        scheme=scheme_name,
        kv_cache_scheme="fp8" if kv_cache == "fp8" else None,
        exclude_layers=native_layers(inventory, scheme, template),
    )
    with tempfile.TemporaryDirectory() as folder:
        return size_of(export(_random_model(model), config, Path(folder)))


def document(sizes: dict[tuple[str, str, str], tuple[int, int]]) -> str:
    """Return predicted and exported bytes by case as the documentation shows them."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("amd-quark", "torch", "transformers"))
    lines = [
        "# Exports of AMD Quark against predictions",
        "",
        f"Written by `python -m bench {NAME}` with {versions}, on a CPU.",
        "",
        "Each row is a checkpoint that Quark wrote of a model in bfloat16: the bytes of all tensors in its safetensors",
        "files, and the planner's prediction from `config.json` alone. The weights are random, because bytes do not",
        "depend on them. `lm_head`, routers, and layers whose shape a scheme cannot pack stay native.",
        "",
        "`Qwen3-MoE, small` is Qwen3-30B-A3B with " + ", ".join(f"{k} {v}" for k, v in _SMALL_MOE.items()) + ".",
        "",
        "| model | KV cache | scheme | predicted B | exported B | difference |",
        "|---|---|---|---:|---:|---:|",
        *(
            f"| {' | '.join(case)} | {expected} | {written} | {written - expected} |"
            for case, (expected, written) in sizes.items()
        ),
        "",
        "Not in the table, because Quark stops while packing and writes no weights:",
        "",
        *(f"- {scheme.name}: {scheme.not_exportable}" for scheme in CATALOG.schemes if scheme.not_exportable),
    ]
    return "\n".join(lines) + "\n"


def run() -> list[Row]:
    """Export every model under every scheme and write the document."""
    if find_spec("quark") is None:
        raise Skipped("amd-quark is not installed")
    # Quark reports each step of each export on the terminal.
    logging.disable(logging.INFO)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sizes = {case: (predicted(*case), exported(*case)) for case in cases()}
    logging.disable(logging.NOTSET)
    DOCUMENT.write_text(document(sizes), encoding="utf-8")
    return [
        Row(f"{model}, {scheme}, KV cache {kv_cache}", written, "predicted", expected, exact=True)
        for (model, kv_cache, scheme), (expected, written) in sizes.items()
    ]


register(Spec(NAME, "Does Quark write the bytes that a plan says?", "B", run))
