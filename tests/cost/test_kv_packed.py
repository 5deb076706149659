"""Caches of unequal pages, in patterns of layers that no published model has, against vLLM's allocator."""

from copy import deepcopy
from typing import Any

import pytest
from transformers import AutoConfig

from solver.catalog import Catalog
from solver.cost.kv_cache import cache_need
from solver.intake.caches import cache_groups
from solver.intake.inventory import Inventory
from solver.rules.service import Service
from tests.data.zoo import ZOO

FLASH = "nvidia/DeepSeek-V4-Flash-NVFP4"
CONTEXTS = (4096, 32768, 131072)
ANSWERS: dict[tuple[int, ...], tuple[int, tuple[int, ...]]] = {
    (4,) * 6: (276480, (305786880, 337858560, 444026880)),
    (0,) * 5: (187200, (12168000, 12542400, 12542400)),
    (*[0] * 7, *[4] * 3): (138240, (179850240, 196715520, 249799680)),
    (0, 4, 128): (47808, (83616192, 90118080, 108476352)),
    (*[4] * 9, *[128] * 2): (418176, (677026944, 732226176, 892805760)),
    (*[0] * 3, *[4, 128] * 5, *[128] * 7): (251136, (713226240, 755919360, 852355584)),
}
"""What bench/vllm_kv.py answers of vLLM 0.33.0 by the rate of each layer: bytes of a block, and of a request."""


def inventory_of(rates: tuple[int, ...]) -> tuple[Inventory, list[str]]:
    config: dict[str, Any] = deepcopy(ZOO[FLASH]["config"])
    config |= {"num_hidden_layers": len(rates), "compress_ratios": [*rates, 0], "num_hash_layers": 0}
    fields = {key: value for key, value in config.items() if key != "model_type"}
    catalog = Catalog()
    text = AutoConfig.for_model(config["model_type"], **fields)
    groups, missing = cache_groups(text, catalog.config_fields, catalog.cache_fields)
    return Inventory.model_construct(dtype="bfloat16", caches=groups), missing


@pytest.mark.parametrize("rates", ANSWERS)
def test_patterns_of_layers_need_what_vllm_needs(rates: tuple[int, ...]) -> None:
    catalog = Catalog()
    inventory, missing = inventory_of(rates)
    assert missing == []
    block, requests = ANSWERS[rates]
    for context, request in zip(CONTEXTS, requests, strict=True):
        service = Service(catalog.hardware.get("mi300x"), catalog.backends.get("vllm"), context, 1, 1)
        need = cache_need(service, inventory, fp8=False)
        assert (need.reserved_bytes, need.request_bytes) == (block, request)


@pytest.mark.parametrize("rates", [(128,) * 7, (0, 0, 128, 128)])
def test_what_vllm_refuses_is_said_to_be_missing(rates: tuple[int, ...]) -> None:
    # vLLM 0.33.0: "page size is not divisible by the maximum page size and cannot be padded".
    assert any("refuses" in fact for fact in inventory_of(rates)[1])
