"""Caches of layers that attend to an image: what transformers holds of a small model, and what stacks make of them."""

from dataclasses import replace
from typing import Any

import pytest

from bench.kv_allocator import caches
from solver.catalog import Catalog
from solver.cost.kv_cache import cache_need
from solver.cost.kv_layers import image_assumption
from solver.intake.caches import cache_groups
from solver.intake.inventory import Inventory
from solver.rules.service import Service

LLAMA = "meta-llama/Llama-3.2-11B-Vision-Instruct"
TOKEN = 2 * 8 * 128 * 2
"""Bytes of a token's keys and values in one layer of that model."""
IMAGE = 4 * (40**2 + 1)


def service(backend: str, catalog: Catalog) -> Service:
    return Service(catalog.hardware.get("mi300x"), catalog.backends.get(backend), 4096, 1, 1)


def small_llama() -> Any:
    import transformers

    text = {
        "model_type": "mllama_text_model",
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 64,
        "pad_token_id": 0,
        "cross_attention_layers": [1],
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    }
    vision = {
        "model_type": "mllama_vision_model",
        "hidden_size": 32,
        "intermediate_size": 64,
        "attention_heads": 2,
        "num_hidden_layers": 1,
        "num_global_layers": 1,
        "intermediate_layers_indices": [0],
        "vision_output_dim": 64,
        "image_size": 28,
        "patch_size": 14,
        "max_num_tiles": 2,
        "supported_aspect_ratios": [[1, 1], [1, 2], [2, 1]],
    }
    return transformers.MllamaConfig(text_config=text, vision_config=vision, image_token_index=63)


def test_transformers_holds_as_many_elements_as_are_counted(catalog: Catalog) -> None:
    import torch
    import transformers

    config, tokens = small_llama(), 7
    model = transformers.MllamaForConditionalGeneration(config).eval()
    with torch.no_grad():
        held = model(
            input_ids=torch.tensor([[63, *range(1, tokens)]]),
            pixel_values=torch.zeros(1, 1, 2, 3, 28, 28),
            aspect_ratio_ids=torch.tensor([[2]]),
            aspect_ratio_mask=torch.tensor([[[1, 1]]]),
            cross_attention_mask=torch.ones(1, tokens, 1, 2, dtype=torch.int64),
            use_cache=True,
        ).cache
    elements = sum(layer.keys.numel() + layer.values.numel() for layer in held.layers)
    groups, missing = cache_groups(config.get_text_config(), catalog.config_fields, catalog.cache_fields, config)
    inventory = Inventory.model_construct(dtype="bfloat16", caches=groups)
    found = cache_need(replace(service("transformers", catalog), context=tokens), inventory, fp8=False)
    assert (found.payload_bytes, missing) == (2 * elements, [])


@pytest.mark.parametrize(
    ("backend", "payload", "says"),
    [
        ("transformers", (32 * 4096 + 8 * IMAGE) * TOKEN, "one image for each sequence, 6404 tokens in the 8 layers"),
        ("sglang", 40 * (4096 + IMAGE) * TOKEN, "one image for each sequence, 6404 tokens in all layers"),
        ("vllm", 40 * 4096 * TOKEN, "keeps no image"),
    ],
)
def test_each_stack_keeps_them_in_its_way(backend: str, payload: int, says: str, catalog: Catalog) -> None:
    inventory, _ = caches(LLAMA)
    served = service(backend, catalog)
    assert cache_need(served, inventory, fp8=False).payload_bytes == payload
    assert says in str(image_assumption(served, inventory))


def test_nothing_is_said_of_models_without_such_layers(catalog: Catalog) -> None:
    inventory, _ = caches("Qwen/Qwen3-8B")
    assert image_assumption(service("vllm", catalog), inventory) is None
