"""What a stack refuses of a service as a whole."""

import pytest

from solver.catalog import Catalog
from solver.rules.machine import machine_refusals, most_devices
from solver.rules.service import Service
from tests.conftest import Analyse


class TestHeadsDivide:
    @pytest.mark.parametrize(
        ("backend", "devices", "broken"),
        [("vllm", 1, False), ("vllm", 8, False), ("vllm", 32, False), ("vllm", 3, True), ("vllm", 64, True),
         ("sglang", 6, True), ("none", 3, False)],
    )  # fmt: skip
    def test_of_32_heads(self, backend: str, devices: int, broken: bool, analyse: Analyse, catalog: Catalog) -> None:
        inventory = analyse("Qwen/Qwen3-8B").inventory
        assert inventory is not None
        assert inventory.attention_heads == 32
        service = Service(catalog.hardware.get("mi300x"), catalog.backends.get(backend), 4096, 1, devices)
        assert [refusal.rule for refusal in machine_refusals(service, inventory)] == ["heads-divide"] * broken

    def test_does_not_apply_where_no_number_is_known(self, analyse: Analyse, catalog: Catalog) -> None:
        inventory = analyse("Qwen/Qwen3-8B").inventory
        assert inventory is not None
        service = Service(catalog.hardware.get("mi300x"), catalog.backends.get("vllm"), 4096, 1, 3)
        assert machine_refusals(service, inventory.model_copy(update={"attention_heads": None})) == []


def test_the_nearest_number_below_divides() -> None:
    assert [most_devices(heads, 7) for heads in (32, 28, 71, 40)] == [4, 7, 1, 5]
