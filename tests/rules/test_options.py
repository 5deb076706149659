"""Each rule on one layer: allows, forbids, boundary, not applicable."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from solver.catalog import Catalog
from solver.catalog.scheme import Scheme
from solver.intake.cache_group import CacheGroup
from solver.intake.inventory import Inventory, LayerFamily
from solver.intake.record import BlockRange
from solver.rules.options import Case, refusals
from solver.rules.refusal import standing
from solver.rules.service import Service

MakeCase = Callable[..., Case]


def inventory(*layers: LayerFamily, kv_heads: int = 8) -> Inventory:
    return Inventory(
        dtype="bfloat16",
        elements_total=1,
        checkpoint_bytes=2,
        hidden_size=4096,
        vocab_size=1000,
        blocks=4,
        max_context=8192,
        tied_embeddings=False,
        layers=layers,
        others=(),
        caches=(CacheGroup(kind="full", blocks=4, kv_heads=kv_heads, key_elements=128, value_elements=128),),
    )


@pytest.fixture
def case(catalog: Catalog) -> MakeCase:
    """Return a case: a dense down_proj of 4096 x 4096 under ptpc_fp8 for vLLM on an MI300X, with changes."""

    def make(
        scheme: str = "ptpc_fp8",
        *,
        role: str = "down",
        inputs: int = 4096,
        outputs: int = 4096,
        hardware: str = "mi300x",
        backend: str = "vllm",
        tp: int = 1,
        model_type: str = "llama",
        allow_emulated: bool = False,
        floor_bits: float | None = None,
        **family: object,
    ) -> Case:
        layer = LayerFamily.model_validate(
            {
                "name": f"model.layers.{{block}}.mlp.{role}",
                "role": role,
                "in_features": inputs,
                "out_features": outputs,
                "blocks": (BlockRange(first=0, last=3),),
                **family,
            }
        )
        service = Service(catalog.hardware.get(hardware), catalog.backends.get(backend), 4096, 1, tp)
        role_profile = catalog.roles.named(role)
        return Case(
            layer,
            role_profile,
            catalog.schemes.get(scheme),
            service,
            inventory(layer),
            model_type,
            allow_emulated,
            floor_bits,
        )

    return make


def broken(case: Case) -> set[str]:
    return {refusal.rule for refusal in refusals(case)}


def stands(case: Case, catalog: Catalog, *, forced: bool = False) -> set[str]:
    """Return the rules that the user's insistence does not set aside."""
    return {refusal.rule for refusal in standing(refusals(case), catalog.rules, forced=forced)}


class TestSchemeExportable:
    def test_allows(self, case: MakeCase) -> None:
        assert broken(case()) == set()

    @pytest.mark.parametrize("scheme", ["mx6", "mx9", "bfp16"])
    def test_forbids_even_where_nothing_serves(self, case: MakeCase, scheme: str, catalog: Catalog) -> None:
        assert broken(case(scheme, backend="none")) == {"scheme-exportable"}
        assert stands(case(scheme, backend="none"), catalog, forced=True) == {"scheme-exportable"}


class TestSchemeIsFit:
    @pytest.mark.parametrize("scheme", ["amdfp4_global16", "amdfp4_global32", "fp4_block16_scale_e4m3"])
    def test_forbids_what_ruins_the_model_or_is_an_older_name(
        self, case: MakeCase, scheme: str, catalog: Catalog
    ) -> None:
        assert broken(case(scheme, backend="none")) == {"scheme-is-fit"}
        assert stands(case(scheme, backend="none"), catalog) == set()

    def test_allows_the_newer_name(self, case: MakeCase) -> None:
        assert broken(case("nvfp4", backend="none")) == set()


class TestSchemeIsMeasured:
    @pytest.fixture
    def unmeasured(self, case: MakeCase) -> Case:
        plain = case("fp8", backend="none")
        noise = plain.scheme.noise.model_copy(update={"weight": {}, "activation": None})
        return replace(plain, scheme=plain.scheme.model_copy(update={"unmeasured": "only declared", "noise": noise}))

    def test_forbids_what_is_only_declared_whatever_is_asked_for(self, unmeasured: Case, catalog: Catalog) -> None:
        assert broken(unmeasured) == {"scheme-is-measured"}
        assert stands(unmeasured, catalog, forced=True) == {"scheme-is-measured"}
        assert "only declared" in refusals(unmeasured)[0].sentence

    def test_allows_every_bundled_scheme(self, catalog: Catalog) -> None:
        assert [scheme.name for scheme in catalog.schemes if scheme.unmeasured] == []

    def test_is_where_the_catalogue_lets_noise_be_left_out(self, catalog: Catalog) -> None:
        written = catalog.schemes.get("fp8").model_dump(mode="json") | {
            "noise": {"weight": {}, "unit": "1", "source": "-"}
        }
        with pytest.raises(ValueError, match="does not say why"):
            Scheme.model_validate(written)
        assert not Scheme.model_validate(written | {"unmeasured": "only declared"}).usable


class TestLayerIsLinear:
    def test_forbids_what_quark_does_not_split(self, case: MakeCase) -> None:
        assert "layer-is-linear" in broken(case(role="expert_down", experts=4, quantizable=False))

    def test_allows_experts_that_it_splits(self, case: MakeCase) -> None:
        assert "layer-is-linear" not in broken(case(role="expert_down", experts=4))


class TestGroupDividesInFeatures:
    @pytest.mark.parametrize(("inputs", "divides"), [(4096, True), (128, True), (2880, False), (4160, False)])
    def test_groups_of_128(self, case: MakeCase, inputs: int, divides: bool) -> None:
        assert ("group-divides-in-features" not in broken(case("int4_wo_128", inputs=inputs))) is divides

    @pytest.mark.parametrize(("inputs", "outputs", "packs"), [(36, 8, True), (36, 5, False), (80, 18, True)])
    def test_six_bits_are_packed_32_weights_at_a_time(
        self, case: MakeCase, inputs: int, outputs: int, packs: bool
    ) -> None:
        found = broken(case("mxfp6_e2m3", inputs=inputs, outputs=outputs))
        assert ("group-divides-in-features" not in found) is packs

    def test_does_not_apply_to_schemes_without_groups(self, case: MakeCase) -> None:
        assert "group-divides-in-features" not in broken(case("int8", inputs=4099))

    def test_is_beyond_insistence(self, case: MakeCase, catalog: Catalog) -> None:
        odd = case("int4_wo_128", inputs=2880)
        assert "group-divides-in-features" in stands(odd, catalog, forced=True)
        assert any("2880" in refusal.sentence for refusal in refusals(odd))


class TestRoleStaysNative:
    @pytest.mark.parametrize("role", ["lm_head", "router"])
    def test_forbids_heads_and_routers_in_vllm(self, case: MakeCase, role: str) -> None:
        assert "role-stays-native" in broken(case(role=role))

    @pytest.mark.parametrize("role", ["linear_attn_in", "linear_attn_out"])
    def test_forbids_the_mixer_of_mamba_1_in_vllm_and_no_other(self, case: MakeCase, role: str) -> None:
        assert "role-stays-native" in broken(case(role=role, model_type="jamba"))
        assert "role-stays-native" not in broken(case(role=role, model_type="qwen3_next"))
        assert "role-stays-native" not in broken(case(role=role, model_type="jamba", backend="sglang"))

    def test_heads_are_open_where_nothing_serves(self, case: MakeCase) -> None:
        assert broken(case(role="lm_head", backend="none")) == set()

    def test_insistence_sets_it_aside(self, case: MakeCase, catalog: Catalog) -> None:
        assert stands(case(role="lm_head"), catalog) == set()


class TestKernelExists:
    @pytest.mark.parametrize(
        ("scheme", "role", "hardware", "native"),
        [
            ("mxfp4", "down", "mi300x", False),
            ("mxfp4", "down", "mi355x", True),
            ("mxfp4_weight_only", "down", "mi300x", False),
            ("mxfp4_weight_only", "expert_down", "mi300x", True),
            ("int4_fp8", "expert_down", "mi300x", True),
            ("int4_fp8", "down", "mi300x", False),
            ("fp8", "down", "a100_80", False),
            ("fp8", "down", "h100_sxm", True),
            ("nvfp4", "down", "b200", True),
            ("int8", "down", "b200", False),
        ],
    )
    def test_follows_scheme_kind_and_hardware(
        self, case: MakeCase, scheme: str, role: str, hardware: str, native: bool
    ) -> None:
        experts = {"experts": 8} if role.startswith("expert") else {}
        found = broken(case(scheme, role=role, hardware=hardware, **experts))
        assert found.isdisjoint({"kernel-exists", "kernel-is-native"}) is native

    def test_what_is_unsupported_stays_closed(self, case: MakeCase) -> None:
        assert "kernel-exists" in broken(case("amdfp4", allow_emulated=True))

    def test_a_row_for_one_model_type_is_for_no_other(self, case: MakeCase) -> None:
        arguments = {"role": "expert_down", "hardware": "rx7900xtx", "experts": 4}
        assert "kernel-exists" not in broken(case("mxfp4_weight_only", model_type="gpt_oss", **arguments))
        assert "kernel-exists" in broken(case("mxfp4_weight_only", model_type="mixtral", **arguments))

    def test_insistence_sets_it_aside(self, case: MakeCase, catalog: Catalog) -> None:
        assert stands(case("amdfp4"), catalog) == set()

    def test_does_not_apply_where_nothing_serves(self, case: MakeCase) -> None:
        assert broken(case("amdfp4", backend="none")) == set()


class TestKernelIsNative:
    def test_emulation_is_opened_by_asking(self, case: MakeCase) -> None:
        assert "kernel-is-native" in broken(case("mxfp4"))
        assert "kernel-is-native" not in broken(case("mxfp4", allow_emulated=True))

    def test_does_not_apply_to_what_has_no_kernel_at_all(self, case: MakeCase) -> None:
        assert broken(case("amdfp4")) == {"kernel-exists"}

    def test_insistence_sets_it_aside(self, case: MakeCase, catalog: Catalog) -> None:
        assert stands(case("mxfp4"), catalog) == set()


class TestShardDivides:
    @pytest.mark.parametrize(("tp", "divides"), [(1, True), (2, True), (4, True), (8, False)])
    def test_row_parallel_layers_are_cut_along_their_inputs(self, case: MakeCase, tp: int, divides: bool) -> None:
        assert ("shard-divides" not in broken(case("int4_wo_128", inputs=512, tp=tp))) is divides

    def test_only_force_sets_it_aside(self, case: MakeCase, catalog: Catalog) -> None:
        odd = case("int4_wo_128", inputs=512, tp=8)
        assert "shard-divides" in stands(odd, catalog)
        assert stands(odd, catalog, forced=True) == set()

    def test_column_parallel_layers_are_cut_along_their_outputs(self, case: MakeCase) -> None:
        assert "shard-divides" not in broken(case("int4_wo_128", role="up", inputs=128, outputs=64, tp=8))
        assert "shard-divides" in broken(case("int4_wo_128", role="up", inputs=128, outputs=32, tp=8))

    def test_does_not_apply_to_replicated_layers(self, case: MakeCase) -> None:
        assert "shard-divides" not in broken(case(role="mla_kv_a", outputs=576, tp=8))

    def test_keys_and_values_are_cut_by_heads(self, case: MakeCase) -> None:
        eight_heads = case("int4_wo_128", role="k", outputs=1024, tp=16)
        assert "shard-divides" not in broken(eight_heads)
        one_head = replace(eight_heads, inventory=inventory(eight_heads.family, kv_heads=1))
        assert "shard-divides" not in broken(one_head)


class TestFloorHolds:
    @pytest.mark.parametrize(
        ("scheme", "floor", "holds"),
        [("ptpc_fp8", 4.0, True), ("mxfp4", 8.0, False), ("ptpc_fp8", 8.0, True), ("mxfp4", None, True)],
        ids=["allows", "forbids", "boundary", "not applicable"],
    )
    def test_compares_the_bits_of_weights(self, case: MakeCase, scheme: str, floor: float | None, holds: bool) -> None:
        assert ("floor-holds" not in broken(case(scheme, floor_bits=floor, backend="none"))) is holds
