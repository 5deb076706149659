"""The risk model keeps the orders that published measurements have."""

from itertools import product

import pytest

from solver.catalog import Catalog
from solver.catalog.scheme import Scheme
from solver.intake.inventory import LayerFamily
from solver.risk.model import RiskModel
from tests.conftest import REQUIRED_MODELS, Analyse


def risk_of(model: str, analyse: Analyse, catalog: Catalog) -> RiskModel:
    analysis = analyse(model)
    assert analysis.inventory is not None
    prior = catalog.sensitivities.get("prior")
    return RiskModel(prior, catalog.roles, analysis.inventory, analysis.model.model_type)


def loss(risk: RiskModel, scheme: Scheme, *algorithms: str, catalog: Catalog) -> float:
    """Return the loss of one scheme on all decoder layers."""
    gains = [catalog.algorithms.get(name) for name in algorithms]
    return sum(
        family.layers_per_block * risk.sensitivity(family, block) * risk.noise(scheme, family.role, gains)
        for family in risk.inventory.layers
        if catalog.roles.named(family.role).kind in {"dense", "experts"}
        for block in family.block_indices
    )


class TestSensitivities:
    @pytest.mark.parametrize("model", REQUIRED_MODELS)
    def test_sum_to_the_prior_of_the_model_type(self, model: str, analyse: Analyse, catalog: Catalog) -> None:
        risk = risk_of(model, analyse, catalog)
        total = sum(
            family.layers_per_block * risk.sensitivity(family, block)
            for family in risk.inventory.layers
            if catalog.roles.named(family.role).kind in {"dense", "experts"}
            for block in family.block_indices
        )
        assert total == pytest.approx(risk.prior.total.value * risk.prior.model_types.get(risk.model_type, 1.0))

    @pytest.fixture
    def by_role(self, analyse: Analyse, catalog: Catalog) -> tuple[RiskModel, dict[str, LayerFamily]]:
        risk = risk_of("meta-llama/Llama-3.1-70B", analyse, catalog)
        return risk, {family.role: family for family in risk.inventory.layers}

    def test_early_down_projections_cost_most(self, by_role: tuple[RiskModel, dict[str, LayerFamily]]) -> None:
        risk, families = by_role
        early = risk.sensitivity(families["down"], 2)
        others = [
            risk.sensitivity(family, block)
            for role, family in families.items()
            if role not in {"lm_head", "down"}
            for block in family.block_indices
        ]
        assert early > max(others)
        assert early > risk.sensitivity(families["down"], 40)

    def test_values_and_outputs_cost_more_than_queries_and_keys(
        self, by_role: tuple[RiskModel, dict[str, LayerFamily]]
    ) -> None:
        risk, families = by_role
        at = {role: risk.sensitivity(families[role], 40) for role in ("q", "k", "v", "o")}
        assert min(at["v"], at["o"]) > max(at["q"], at["k"])

    def test_all_experts_of_a_block_weigh_less_than_its_attention(self, analyse: Analyse, catalog: Catalog) -> None:
        risk = risk_of("Qwen/Qwen3-30B-A3B", analyse, catalog)
        at = {family.role: family.layers_per_block * risk.sensitivity(family, 20) for family in risk.inventory.layers}
        assert at["expert_up"] < at["q"]


class TestOrders:
    """Orders without a counter-example in matched published pairs."""

    @pytest.fixture
    def losses(self, analyse: Analyse, catalog: Catalog) -> dict[str, float]:
        risk = risk_of("meta-llama/Llama-3.1-70B", analyse, catalog)
        return {scheme.name: loss(risk, scheme, catalog=catalog) for scheme in catalog.schemes if scheme.usable}

    @pytest.mark.parametrize(
        "ascending",
        [
            ["ptpc_fp8", "fp8", "mxfp6_e2m3", "uint4_wo_32"],
            ["mxfp6_e2m3", "mxfp6_e3m2", "nvfp4"],
            ["uint4_wo_32", "uint4_wo_64", "uint4_wo_128", "uint4_wo_per_channel"],
            ["int4_wo_32", "int4_wo_64", "int4_wo_128", "int4_wo_per_channel"],
            ["uint4_wo_64", "int4_wo_64", "int4_wa_64"],
            ["mxfp4_weight_only", "mxfp4_fp8", "mxfp4"],
            ["mxfp4_fp8", "nvfp4", "mxfp4"],
            ["fp8", "int8"],
        ],
    )
    def test_lossier_schemes_cost_more(self, losses: dict[str, float], ascending: list[str]) -> None:
        values = [losses[name] for name in ascending]
        assert values == sorted(values)
        assert len(set(values)) == len(values)

    def test_inputs_in_mxfp4_cost_two_to_four_and_a_half_times_those_in_nvfp4(self, losses: dict[str, float]) -> None:
        assert 2 <= losses["mxfp4"] / losses["nvfp4"] <= 4.5

    def test_unsmoothed_static_int8_is_no_choice_for_a_large_model(self, losses: dict[str, float]) -> None:
        assert losses["int8"] > 0.5

    @pytest.mark.parametrize(("scheme", "low", "high"), [("nvfp4", 0.08, 0.20), ("mxfp4_weight_only", 0.05, 0.13)])
    def test_published_rises_are_met(self, losses: dict[str, float], scheme: str, low: float, high: float) -> None:
        assert low <= losses[scheme] <= high


class TestAlgorithms:
    def test_save_on_what_they_fit_and_nothing_elsewhere(self, analyse: Analyse, catalog: Catalog) -> None:
        risk = risk_of("meta-llama/Llama-3.1-70B", analyse, catalog)
        for algorithm, scheme in product(catalog.algorithms, catalog.schemes):
            if not scheme.usable:
                continue
            plain, with_it = loss(risk, scheme, catalog=catalog), loss(risk, scheme, algorithm.name, catalog=catalog)
            if scheme.family in algorithm.gain:
                assert with_it < plain
            else:
                assert with_it == plain

    def test_gain_only_families_that_they_fit(self, catalog: Catalog) -> None:
        for algorithm in catalog.algorithms:
            assert set(algorithm.gain) <= set(algorithm.fits)
            assert not set(algorithm.fits) & set(algorithm.breaks)


class TestKvCache:
    def test_an_8_bit_cache_costs_little_and_more_in_long_contexts(self, analyse: Analyse, catalog: Catalog) -> None:
        risk = risk_of("Qwen/Qwen3-8B", analyse, catalog)
        assert 0 < risk.kv_risk(8192) < 0.005
        assert risk.kv_risk(100_000) == 2 * risk.kv_risk(8192)


class TestBand:
    def test_lies_around_the_estimate(self, analyse: Analyse, catalog: Catalog) -> None:
        banded = risk_of("Qwen/Qwen3-8B", analyse, catalog).banded(0.02)
        assert banded.low < banded.delta_nll == 0.02 < banded.high
        assert banded.source == "prior"


class TestPrecision:
    """Pointwise higher precision never has a higher risk, whatever the role and the algorithm."""

    CHAINS = (
        ("ptpc_fp8", "fp8"),
        ("uint4_wo_32", "uint4_wo_64", "uint4_wo_128", "uint4_wo_per_channel"),
        ("int4_wo_32", "int4_wo_64", "int4_wo_128", "int4_wo_per_channel"),
        ("int4_wo_64", "int4_wa_64"),
        ("mxfp4_weight_only", "mxfp4_fp8", "mxfp4"),
        ("mxfp4_weight_only", "mxfp4_mxfp6_e2m3", "mxfp4"),
        ("mxfp6_e2m3", "mxfp4_mxfp6_e2m3"),
        ("amdfp4", "amdfp4_g32"),
        ("ptpc_fp8", "uint4_wo_32"),
        ("ptpc_fp8", "mxfp4_fp8"),
    )

    @pytest.mark.parametrize("chain", CHAINS)
    def test_noise_rises_along_the_chain(self, chain: tuple[str, ...], analyse: Analyse, catalog: Catalog) -> None:
        risk = risk_of("Qwen/Qwen3-8B", analyse, catalog)
        for role in risk.prior.roles:
            for algorithms in ([], *([algorithm] for algorithm in catalog.algorithms)):
                noise = [risk.noise(catalog.schemes.get(name), role, algorithms) for name in chain]
                assert noise == sorted(noise)

    def test_native_layers_cost_nothing(self, analyse: Analyse, catalog: Catalog) -> None:
        risk = risk_of("Qwen/Qwen3-8B", analyse, catalog)
        assert all(
            risk.noise(scheme, role, []) > 0 for role in risk.prior.roles for scheme in catalog.schemes if scheme.usable
        )
