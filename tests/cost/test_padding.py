"""Experts in service are as large as their kernels round them up; the checkpoint is not."""

import pytest

from solver.catalog import Catalog
from solver.catalog.backend import Padding
from solver.cost.weights import layer_bytes, padded_shape
from solver.rules.options import support_of
from solver.rules.service import Service
from solver.units import round_up
from tests.conftest import Analyse, Solve


def on(catalog: Catalog, hardware: str, tp: int = 1) -> Service:
    return Service(catalog.hardware.get(hardware), catalog.backends.get("vllm"), 4096, 1, tp)


def padding_of(catalog: Catalog, hardware: str, scheme: str) -> tuple[int, int] | None:
    row = support_of(on(catalog, hardware), catalog.schemes.get(scheme), catalog.roles.named("expert_up"), "gpt_oss")
    assert row is not None
    return None if row.padding is None else (row.padding.hidden, row.padding.intermediate)


class TestKernels:
    @pytest.mark.parametrize(
        ("hardware", "scheme", "sizes"),
        [
            # vLLM 0.33, fused_moe/oracle/mxfp4.py, mxfp4_round_up_hidden_size_and_intermediate_size.
            ("mi355x", "mxfp4", (256, 128)),
            ("mi355x", "mxfp4_fp8", (256, 256)),
            ("mi355x", "mxfp4_weight_only", (256, 256)),
            ("mi300x", "mxfp4_weight_only", (256, 256)),
            ("mi300x", "mxfp4", (32, 32)),
            ("h100_sxm", "mxfp4_weight_only", (256, 128)),
            ("b200", "mxfp4", (128, 128)),
            ("mi300x", "ptpc_fp8", None),
            ("mi300x", "int4_wo_128", None),
        ],
    )
    def test_round_up_as_vllm_does(
        self, hardware: str, scheme: str, sizes: tuple[int, int] | None, catalog: Catalog
    ) -> None:
        assert padding_of(catalog, hardware, scheme) == sizes

    def test_pad_no_dense_layers(self, catalog: Catalog) -> None:
        for backend in catalog.backends:
            for row in backend.support:
                assert row.padding is None or "experts" in row.kinds, (backend.name, row.schemes)


class TestShapes:
    PADDING = Padding(hidden=256, intermediate=128, source="Marlin")

    def test_of_gpt_oss_on_four_devices(self, catalog: Catalog) -> None:
        # 2880 / 4 = 720 -> 768; 2880 -> 3072.
        up, down = catalog.roles.named("expert_up"), catalog.roles.named("expert_down")
        assert padded_shape(2880, 720, up, self.PADDING) == (3072, 768)
        assert padded_shape(720, 2880, down, self.PADDING) == (768, 3072)

    def test_of_two_projections_in_one_weight_are_padded_each(self, catalog: Catalog) -> None:
        both = catalog.roles.named("expert_gate_up")
        assert padded_shape(2880, 1440, both, self.PADDING) == (3072, 2 * 768)


class TestBytes:
    @pytest.mark.parametrize("tp", [1, 2, 4])
    def test_of_experts_are_those_of_the_padded_shape(self, tp: int, catalog: Catalog, analyse: Analyse) -> None:
        inventory = analyse("openai/gpt-oss-20b").inventory
        assert inventory is not None
        service, scheme = on(catalog, "mi355x", tp), catalog.schemes.get("mxfp4")
        padding = Padding(hidden=256, intermediate=128, source="AITER W4A4")
        for family in inventory.layers:
            role = catalog.roles.named(family.role)
            plain = layer_bytes(family, scheme, role, service, inventory)
            held = layer_bytes(family, scheme, role, service, inventory, padding)
            if role.kind != "experts":
                assert held == plain
                continue
            cut = -(-2880 // tp)
            hidden, intermediate = 3072, role.parts * round_up(cut, 128)
            # Half a byte an element, and a byte of scale for each 32.
            assert held == hidden * intermediate // 2 + hidden * intermediate // 32
            assert held > plain

    def test_are_what_a_plan_is_billed(self, solve: Solve, catalog: Catalog, analyse: Analyse) -> None:
        inventory = analyse("openai/gpt-oss-20b").inventory
        assert inventory is not None
        fields = {"hardware": "mi355x", "layers": {"*mlp.experts*": "mxfp4"}, "exclude": ("*self_attn*",)}
        item = solve("openai/gpt-oss-20b", **fields).alternatives[0]
        assert item.footprint is not None
        experts = sum(
            family.count * family.weight_elements
            for family in inventory.layers
            if catalog.roles.named(family.role).kind == "experts"
        )
        padded = experts * 3072 * 2944 // 2880**2
        rest = 2 * (inventory.elements_total - experts)
        assert item.footprint.weights_bytes == pytest.approx(padded * 17 / 32 + rest, rel=0.002)
