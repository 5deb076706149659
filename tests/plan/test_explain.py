"""Answers of `explain` against the planner's own: the same rules, the same optimum, the same plan under a pin."""

from collections.abc import Callable

import pytest

from solver import api
from solver.catalog import NATIVE, Catalog
from solver.errors import BadInputError, UnknownNameError
from solver.plan.document import Alternative
from solver.plan.explain import Question
from solver.plan.explain_settings import SettingsQuestion
from solver.plan.explanation import Explanation, Outcome
from solver.plan.request import PlanRequest
from tests.conftest import Analyse, Solve

SMALL, LARGER, MOE, MLA = "Qwen/Qwen3-0.6B", "Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-V2-Lite"
DOWN = "model.layers.3.mlp.down_proj"

Explain = Callable[..., Explanation]


@pytest.fixture
def explain(analyse: Analyse, catalog: Catalog) -> Explain:
    """Return the answer to a question, given as a model, what is asked, and fields of the request."""

    def answer(model: str, layer: str | None = None, scheme: str | None = None, **fields: object) -> Explanation:
        asked = SettingsQuestion(fields.pop("algorithms", None), fields.pop("kv", None))  # type: ignore[arg-type]
        request = PlanRequest.model_validate({"hardware": "mi300x", **fields, "model": model})
        return api.explain(request, Question(layer, scheme, asked), analyse(model), catalog=catalog)

    return answer


def rules(answer: Explanation) -> set[str]:
    assert answer.scheme is not None
    return {verdict.rule for verdict in answer.scheme.refusals}


def same(outcome: Outcome | None, item: Alternative) -> bool:
    """Return whether an outcome is the plan that `solve` offers."""
    assert outcome is not None
    assert outcome.plan is not None
    assert item.footprint is not None
    assert item.risk is not None
    ours = (outcome.plan.total_bytes, outcome.plan.delta_nll, outcome.plan.kv_cache_scheme, outcome.plan.algorithm)
    return ours == (item.footprint.total_bytes, item.risk.delta_nll, item.kv_cache_scheme, item.algorithm)


def lowest_risk(solve: Solve, model: str, **fields: object) -> Alternative:
    return next(item for item in solve(model, **fields).alternatives if "lowest risk" in item.name)


class TestReasons:
    @pytest.mark.parametrize(
        ("model", "layer", "scheme", "fields", "rule", "needs"),
        [
            (SMALL, DOWN, "mx6", {}, "scheme-exportable", "nothing"),
            (SMALL, DOWN, "mxfp4", {}, "kernel-is-native", "request"),
            (SMALL, DOWN, "amdfp4", {}, "kernel-exists", "request"),
            (SMALL, "lm_head", "fp8", {}, "role-stays-native", "request"),
            (SMALL, DOWN, "int4_wo_128", {"tensor_parallel": 16}, "shard-divides", "force"),
            ("openai/gpt-oss-20b", "expert_down", "int4_wo_128", {}, "group-divides-in-features", "nothing"),
            ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "expert_down", "fp8", {}, "layer-is-linear", "nothing"),
            (MLA, "mla_kv_b", "amdfp4_global16", {}, "scheme-is-fit", "request"),
        ],
    )
    def test_name_the_rule_and_what_it_yields_to(
        self, explain: Explain, model: str, layer: str, scheme: str, fields: dict[str, int], rule: str, needs: str
    ) -> None:
        answer = explain(model, layer, scheme, **fields)
        assert rule in rules(answer)
        assert answer.scheme is not None
        assert answer.scheme.needs == needs
        assert (answer.scheme.insisted is None) == (needs == "nothing")
        assert all(verdict.source and verdict.sentence for verdict in answer.scheme.refusals)

    def test_what_the_table_says_is_what_a_question_about_each_scheme_says(
        self, explain: Explain, catalog: Catalog
    ) -> None:
        rows = explain(MOE, "expert_up", budget_bytes=24 * 10**9).schemes
        assert [row.scheme for row in rows] == [NATIVE, *(scheme.name for scheme in catalog.schemes)]
        for row in rows[1::6]:
            refused = rules(explain(MOE, "expert_up", row.scheme, budget_bytes=24 * 10**9))
            assert (row.refusal is None) == (refused == set())
            assert row.refusal is None or row.refusal.rule in refused


class TestPrice:
    @pytest.mark.parametrize(
        ("model", "layer", "scheme", "fields"),
        [
            (LARGER, DOWN, "mxfp4", {"budget_bytes": 12 * 10**9}),
            (LARGER, DOWN, "int4_wo_128", {"budget_bytes": 12 * 10**9}),
            (MOE, "*experts*", "int4_fp8", {"budget_bytes": 24 * 10**9}),
            (MLA, "*kv_a_proj_with_mqa", "fp8", {"budget_bytes": 20 * 10**9}),
        ],
    )
    def test_is_that_of_the_plans_that_solve_offers(
        self, explain: Explain, solve: Solve, model: str, layer: str, scheme: str, fields: dict[str, int]
    ) -> None:
        answer = explain(model, layer, scheme, **fields)
        assert answer.scheme is not None
        assert same(answer.optimum, lowest_risk(solve, model, **fields))
        assert same(answer.scheme.insisted, lowest_risk(solve, model, **fields, layers={layer: scheme}))

    def test_of_what_is_allowed_and_not_chosen_is_more_loss(self, explain: Explain) -> None:
        answer = explain(LARGER, DOWN, "int4_wo_128", budget_bytes=12 * 10**9)
        assert rules(answer) == set()
        assert answer.scheme is not None
        assert answer.scheme.beaten_by == "uint4_wo_128"
        assert answer.optimum.plan is not None
        assert answer.scheme.insisted is not None
        assert answer.scheme.insisted.plan is not None
        assert answer.scheme.insisted.plan.given == {"int4_wo_128": 1}
        assert answer.scheme.insisted.plan.delta_nll > answer.optimum.plan.delta_nll

    def test_of_what_does_not_fit_is_the_least_footprint(self, explain: Explain, solve: Solve) -> None:
        smallest = min(
            item.footprint.total_bytes
            for item in solve(LARGER, budget_bytes=8 * 10**9).alternatives
            if item.footprint is not None
        )
        answer = explain(LARGER, "*", NATIVE, budget_bytes=8 * 10**9)
        assert answer.scheme is not None
        assert answer.scheme.insisted is not None
        assert answer.scheme.insisted.status == "no_plan"
        tight = explain(LARGER, "down", "ptpc_fp8", budget_bytes=smallest)
        assert tight.scheme is not None
        assert tight.scheme.insisted is not None
        assert tight.scheme.insisted.plan is None
        assert (tight.scheme.insisted.least_footprint_bytes or 0) > smallest

    def test_of_what_is_chosen_anyway_is_nothing(self, explain: Explain) -> None:
        answer = explain(SMALL, DOWN, "ptpc_fp8")
        assert answer.scheme is not None
        assert answer.optimum.plan is not None
        assert answer.optimum.plan.given == {"ptpc_fp8": 1}
        assert answer.scheme.insisted == answer.optimum

    def test_rules_are_told_where_no_plan_fits_at_all(self, explain: Explain) -> None:
        answer = explain(LARGER, DOWN, "mx6", budget_bytes=10**9)
        assert answer.optimum.status == "no_plan"
        assert (answer.optimum.least_footprint_bytes or 0) > 10**9
        assert "scheme-exportable" in rules(answer)

    def test_insistence_goes_before_the_excludes_of_the_request(self, explain: Explain) -> None:
        answer = explain(SMALL, DOWN, "fp8", exclude=("*down_proj",))
        assert answer.units[0].native_because == (
            "--exclude names *down_proj, until a scheme is named for what it matches"
        )
        assert answer.scheme is not None
        assert answer.scheme.insisted is not None
        assert answer.scheme.insisted.plan is not None
        assert answer.scheme.insisted.plan.given == {"fp8": 1}


class TestUnits:
    @pytest.mark.parametrize(
        ("model", "layer", "leaves"),
        [
            (SMALL, "model.layers.0.self_attn.k_proj", {"q_proj", "k_proj", "v_proj"}),
            (SMALL, DOWN, {"down_proj"}),
            (MOE, "model.layers.0.mlp.experts.5.up_proj", {"gate_proj", "up_proj", "down_proj"}),
            ("deepseek-ai/DeepSeek-V3", "mla_q_a", {"q_a_proj", "kv_a_proj_with_mqa"}),
        ],
    )
    def test_hold_what_the_stack_fuses(self, explain: Explain, model: str, layer: str, leaves: set[str]) -> None:
        (unit,) = explain(model, layer, hardware="mi355x", tensor_parallel=8).units
        assert {name.rpartition(".")[2] for name in unit.members} == leaves
        assert unit.fused == (len(leaves) > 1)

    def test_are_tied_by_the_patterns_of_the_cache(self, explain: Explain) -> None:
        assert explain(SMALL, "q").units[0].kv_patterns == ("*k_proj", "*v_proj")
        assert explain(SMALL, "down").units[0].kv_patterns == ()

    def test_layers_are_cut_as_tensor_parallelism_cuts_them(self, explain: Explain) -> None:
        part = explain(SMALL, DOWN, tensor_parallel=2).layers[0]
        assert (part.out_features, part.in_features) == (part.shard_out_features, 2 * part.shard_in_features)


class TestSettings:
    def test_rules_against_an_algorithm_and_the_plan_with_it(self, explain: Explain, solve: Solve) -> None:
        answer = explain(LARGER, algorithms=("awq",), budget_bytes=12 * 10**9)
        (setting,) = answer.settings
        assert [verdict.rule for verdict in setting.refusals] == ["algorithm-is-configured"]
        assert not setting.used
        assert same(setting.insisted, lowest_risk(solve, LARGER, algorithms=("awq",), budget_bytes=12 * 10**9))

    def test_a_cache_that_the_device_does_not_hold(self, explain: Explain) -> None:
        (setting,) = explain(SMALL, kv="fp8", hardware="a100_80").settings
        assert [verdict.rule for verdict in setting.refusals] == ["kv-cache-runs"]
        assert setting.needs == "force"

    def test_a_cache_that_quark_does_not_reach(self, explain: Explain) -> None:
        (setting,) = explain("Qwen/Qwen3-Next-80B-A3B-Instruct", kv="fp8").settings
        assert "kv-patterns-reach-the-cache" in {verdict.rule for verdict in setting.refusals}
        assert (setting.needs, setting.insisted) == ("nothing", None)

    def test_what_is_used_is_the_optimum(self, explain: Explain) -> None:
        answer = explain(SMALL, kv="none")
        assert answer.optimum.plan is not None
        assert answer.settings[0].used == (answer.optimum.plan.kv_cache_scheme is None)
        assert answer.settings[0].used
        assert answer.settings[0].insisted == answer.optimum


class TestNonsense:
    def test_a_layer_that_is_not_there_is_answered_with_the_nearest(self, explain: Explain) -> None:
        with pytest.raises(BadInputError, match=r"Did you mean model\.layers\.\{block\}\.mlp\.down_proj"):
            explain(SMALL, "model.layers.99.mlp.down_prj", "fp8")

    def test_unknown_names(self, explain: Explain) -> None:
        with pytest.raises(UnknownNameError, match="ptpc_fp8"):
            explain(SMALL, DOWN, "ptpcfp")
        with pytest.raises(UnknownNameError, match="awq"):
            explain(SMALL, algorithms=("awqq",))

    def test_a_scheme_without_a_layer_and_no_question_at_all(self, explain: Explain) -> None:
        with pytest.raises(BadInputError, match="no layer"):
            explain(SMALL, None, "fp8")
        with pytest.raises(BadInputError, match="nothing is asked"):
            explain(SMALL)
