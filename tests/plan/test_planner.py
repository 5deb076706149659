"""The main job on real models: alternatives that fit, differ, and are what their patterns say."""

import json
import math
from itertools import product
from pathlib import Path

import pytest

from solver import api
from solver.catalog import NATIVE, Catalog
from solver.cost.parameters import other_bytes
from solver.cost.weights import layer_bytes
from solver.errors import BadInputError, InfeasibleError, NoAnswerError, UnknownNameError
from solver.intake.analysis import ModelAnalysis
from solver.plan.alternatives import knee, pick
from solver.plan.document import Alternative, Answer
from solver.plan.request import PlanRequest
from solver.risk.model import RiskModel
from solver.rules.options import Case, refusals
from solver.rules.service import Service
from tests.conftest import REQUIRED_MODELS, Analyse, Solve
from tests.plan.reading import scheme_of_path

CACHED_ROLES = {"k", "v", "mla_kv_b"}

required = pytest.mark.parametrize("model", REQUIRED_MODELS)


def scheme_by_patterns(item: Alternative, path: str) -> str:
    return scheme_of_path(path, item.exclude_layers, item.layer_quant_config, item.global_scheme)


def service_of(answer: Answer, catalog: Catalog) -> Service:
    assert answer.service is not None
    stated = answer.service
    return Service(
        catalog.hardware.get(stated.hardware),
        catalog.backends.get(stated.backend),
        stated.context,
        stated.concurrency,
        stated.tensor_parallel,
    )


@required
class TestRequiredModels:
    def test_offer_three_to_seven_plans(self, model: str, required_answers: dict[str, Answer]) -> None:
        alternatives = required_answers[model].alternatives
        assert 3 <= len(alternatives) <= 7
        assert [item.id for item in alternatives] == list(range(1, len(alternatives) + 1))
        named = {name for item in alternatives for name in item.name.split(", ")}
        assert {"lowest risk", "balanced", "smallest", "fastest", "simplest"} <= named

    def test_no_plan_beats_another_in_everything(self, model: str, required_answers: dict[str, Answer]) -> None:
        def costs(item: Alternative) -> tuple[float, ...]:
            assert item.footprint is not None
            assert item.risk is not None
            assert item.decode_seconds_per_token is not None
            overrides = len(item.layer_quant_config)
            return item.footprint.total_bytes, item.risk.delta_nll, item.decode_seconds_per_token, overrides

        alternatives = required_answers[model].alternatives
        for one, other in product(alternatives, alternatives):
            if one.id != other.id:
                assert any(a < b for a, b in zip(costs(one), costs(other), strict=True))

    def test_the_fastest_has_the_shortest_decoding_step(self, model: str, required_answers: dict[str, Answer]) -> None:
        times = {item.name: item.decode_seconds_per_token for item in required_answers[model].alternatives}
        fastest = next(seconds for name, seconds in times.items() if "fastest" in name.split(", "))
        assert fastest is not None
        assert all(seconds is not None and seconds >= fastest for seconds in times.values())

    def test_bytes_and_risk_are_those_of_the_layers_that_the_patterns_select(
        self, model: str, required_answers: dict[str, Answer], analyse: Analyse, catalog: Catalog
    ) -> None:
        answer, inventory = required_answers[model], analyse(model).inventory
        assert inventory is not None
        service = service_of(answer, catalog)
        risk = RiskModel(catalog.sensitivities.get("prior"), catalog.roles, inventory, answer.model.model_type)
        for item in answer.alternatives:
            algorithms = [catalog.algorithms.get(name) for name in (item.algorithm or "").split(",") if name]
            size, loss = other_bytes(service, catalog.roles, inventory), 0.0
            for family in inventory.layers:
                role = catalog.roles.named(family.role)
                for block in family.block_indices or (None,):
                    name = scheme_by_patterns(item, family.path(block, 0)) if family.quantizable else NATIVE
                    scheme = None if name == NATIVE else catalog.schemes.get(name)
                    size += family.layers_per_block * layer_bytes(family, scheme, role, service, inventory)
                    if scheme is not None:
                        noise = risk.noise(scheme, family.role, algorithms)
                        loss += family.layers_per_block * risk.sensitivity(family, block) * noise
            if item.kv_cache_scheme is not None:
                loss += risk.kv_risk(service.context)
                # One bfloat16 scale for each layer whose output is cached.
                size += 2 * sum(family.count for family in inventory.layers if family.role in CACHED_ROLES)
            assert item.footprint is not None
            assert item.risk is not None
            assert item.footprint.weights_bytes == size
            assert math.isclose(item.risk.delta_nll, loss, rel_tol=1e-3)

    def test_every_layer_has_a_scheme_that_the_rules_allow(
        self, model: str, required_answers: dict[str, Answer], analyse: Analyse, catalog: Catalog
    ) -> None:
        answer, inventory = required_answers[model], analyse(model).inventory
        assert inventory is not None
        service = service_of(answer, catalog)
        for item in answer.alternatives:
            for family in inventory.layers:
                role = catalog.roles.named(family.role)
                for block in family.block_indices or (None,):
                    name = scheme_by_patterns(item, family.path(block, 0))
                    if name != NATIVE and family.quantizable:
                        scheme = catalog.schemes.get(name)
                        case = Case(family, role, scheme, service, inventory, answer.model.model_type, False)
                        assert refusals(case) == []

    def test_fused_groups_share_a_scheme(
        self, model: str, required_answers: dict[str, Answer], analyse: Analyse
    ) -> None:
        inventory = analyse(model).inventory
        assert inventory is not None
        groups = ({"q", "k", "v"}, {"gate", "up"}, {"expert_gate", "expert_up", "expert_down"}, {"mla_q_a", "mla_kv_a"})
        for item in required_answers[model].alternatives:
            for group, block in product(groups, range(inventory.blocks)):
                chosen = {
                    (family.name.rsplit(".", 1)[0], scheme_by_patterns(item, family.path(block, 0)))
                    for family in inventory.layers
                    if family.role in group and block in family.block_indices and "vision" not in family.name
                }
                assert len(chosen) == len({container for container, _ in chosen})

    def test_points_of_the_front_are_proven(self, model: str, required_answers: dict[str, Answer]) -> None:
        for item in required_answers[model].alternatives:
            assert item.proof is not None
            assert item.proof.status == "optimal"
            assert item.proof.gap == 0

    def test_defaults_are_shown_as_assumptions(self, model: str, required_answers: dict[str, Answer]) -> None:
        text = "\n".join(required_answers[model].assumptions)
        for flag in ("--context", "--concurrency", "--tp", "--backend"):
            assert flag in text


class TestRecommendation:
    @pytest.mark.parametrize(
        ("goal", "name"),
        [("accuracy", "lowest risk"), ("balanced", "balanced"), ("size", "smallest"), ("speed", "fastest")],
    )
    def test_follows_the_goal(self, goal: str, name: str, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9, goal=goal)
        chosen = next(item for item in answer.alternatives if item.id == answer.recommended)
        assert name in chosen.name.split(", ")


class TestBudget:
    def test_a_larger_budget_never_raises_the_risk(self, solve: Solve) -> None:
        losses = []
        for gigabytes in (8, 9, 10, 12, 14):
            first = solve("Qwen/Qwen3-8B", budget_bytes=gigabytes * 10**9).alternatives[0]
            assert first.risk is not None
            losses.append(first.risk.delta_nll)
        assert losses == sorted(losses, reverse=True)

    def test_one_byte_less_than_the_smallest_is_infeasible_and_says_so(self, solve: Solve) -> None:
        smallest = solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9).alternatives[-1].footprint
        assert smallest is not None
        exact = solve("Qwen/Qwen3-8B", budget_bytes=smallest.total_bytes)
        assert exact.alternatives[0].footprint == smallest
        with pytest.raises(InfeasibleError) as caught:
            solve("Qwen/Qwen3-8B", budget_bytes=smallest.total_bytes - 1)
        assert caught.value.least_footprint_bytes == smallest.total_bytes
        assert caught.value.exit_code == 1
        assert ("--budget", f"{smallest.total_bytes}B") in {(r.flag, r.value) for r in caught.value.repairs}

    def test_the_scope_weights_bounds_weights_alone(self, solve: Solve) -> None:
        total = solve("Qwen/Qwen3-8B", budget_bytes=8 * 10**9)
        weights = solve("Qwen/Qwen3-8B", budget_bytes=8 * 10**9, budget_scope="weights")
        first = weights.alternatives[0].footprint
        assert first is not None
        assert first.weights_bytes <= 8 * 10**9 < first.total_bytes
        assert weights.alternatives[0].risk.delta_nll < total.alternatives[0].risk.delta_nll  # type: ignore[union-attr]

    def test_without_one_the_device_is_the_budget_and_every_layer_is_quantized(
        self, solve: Solve, catalog: Catalog
    ) -> None:
        answer = solve("Qwen/Qwen3-8B")
        memory = catalog.hardware.get("mi300x").memory
        assert memory is not None
        assert answer.service is not None
        assert answer.service.budget_bytes == math.ceil(memory.value * 0.92)
        assert any("unquantized model fits" in text for text in answer.assumptions)
        for item in answer.alternatives:
            assert item.exclude_layers == ("lm_head",)

    def test_more_than_the_device_has_is_refused(self, solve: Solve) -> None:
        with pytest.raises(BadInputError, match="MI300X has"):
            solve("Qwen/Qwen3-8B", budget_bytes=300 * 10**9)

    def test_where_only_an_fp8_cache_would_leave_the_weights_alone_some_layer_is_quantized(self, solve: Solve) -> None:
        # At this length the native model fits with an fp8 cache and not with a native one.
        fields = {"context": 40_960, "concurrency": 8}
        answer = solve("Qwen/Qwen3-8B", budget_bytes=43 * 10**9, **fields)
        assert answer.model.unquantized_total_bytes is not None
        assert answer.model.unquantized_total_bytes > 43 * 10**9
        for item in answer.alternatives:
            assert set(item.scheme_shares) != {NATIVE}

    def test_excluding_everything_has_no_answer(self, solve: Solve) -> None:
        with pytest.raises(NoAnswerError, match="excluded"):
            solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9, exclude=("*",))

    def test_a_group_that_is_excluded_in_part_is_noted(self, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", budget_bytes=14 * 10**9, exclude=("*layers.3.self_attn.k_proj",))
        assert any("block 3 qkv_proj stays native" in note.message for note in answer.alternatives[0].risks)


class TestService:
    def test_context_and_concurrency_grow_the_cache(self, solve: Solve) -> None:
        def cache(**fields: int) -> int:
            bill = (
                solve("Qwen/Qwen3-8B", budget_bytes=60 * 10**9, kv_cache_scheme="none", **fields)
                .alternatives[0]
                .footprint
            )
            assert bill is not None
            return bill.kv_cache_bytes - one_block

        # vLLM never uses the first block of its pool: 16 tokens of 36 layers, keys and values of 8 heads of 128.
        one_block = 16 * 36 * 2 * 8 * 128 * 2
        assert cache(context=16_384) == 2 * cache(context=8192)
        assert cache(context=8192, concurrency=4) == 4 * cache(context=8192)

    def test_the_models_own_limit_is_kept(self, solve: Solve) -> None:
        with pytest.raises(BadInputError, match="40960"):
            solve("Qwen/Qwen3-8B", context=50_000)

    def test_the_default_context_is_the_models_limit_where_that_is_shorter(self, solve: Solve) -> None:
        answer = solve("TinyLlama/TinyLlama-1.1B-Chat-v1.0", budget_bytes=10**10)
        assert answer.service is not None
        assert answer.service.context == 2048

    def test_unknown_names_answer_with_the_nearest(self, solve: Solve) -> None:
        with pytest.raises(UnknownNameError) as caught:
            solve("Qwen/Qwen3-8B", backend="vlm")
        assert "vllm" in caught.value.nearest


class TestInsistence:
    def test_a_pin_is_kept_everywhere_it_matches(self, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9, layers={"*down_proj": "fp8"})
        for item in answer.alternatives:
            assert scheme_by_patterns(item, "model.layers.7.mlp.down_proj") == "fp8"

    def test_what_the_stack_only_emulates_is_kept_and_noted(self, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9, layers={"*down_proj": "mxfp4"})
        item = answer.alternatives[0]
        assert scheme_by_patterns(item, "model.layers.7.mlp.down_proj") == "mxfp4"
        assert any(note.severity == "high" and "kernel-is-native" in note.message for note in item.risks)

    def test_what_quark_cannot_do_is_refused(self, solve: Solve) -> None:
        with pytest.raises(BadInputError, match="group-divides-in-features"):
            solve("openai/gpt-oss-20b", budget_bytes=20 * 10**9, layers={"*mlp.experts*": "int4_wo_128"})

    def test_a_fused_group_cannot_be_torn_apart(self, solve: Solve) -> None:
        with pytest.raises(NoAnswerError, match="one unit"):
            solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9, layers={"*q_proj": "fp8", "*k_proj": "ptpc_fp8"})

    def test_a_pattern_that_matches_nothing_is_refused(self, solve: Solve) -> None:
        for fields in ({"layers": {"q_proj": "fp8"}}, {"exclude": ("down_proj",)}):
            with pytest.raises(BadInputError, match="matches no layer"):
                solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9, **fields)

    def test_a_pinned_head_leaves_the_templates_exclude_out(self, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", budget_bytes=16 * 10**9, layers={"lm_head": "fp8"})
        for item in answer.alternatives:
            assert scheme_by_patterns(item, "lm_head") == "fp8"
            assert "lm_head" not in item.exclude_layers

    def test_excluded_layers_stay_native(self, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", budget_bytes=14 * 10**9, exclude=("*layers.0.*",))
        for item in answer.alternatives:
            assert scheme_by_patterns(item, "model.layers.0.mlp.up_proj") == NATIVE
            assert {"lm_head", "*layers.0.*"} <= set(item.exclude_layers)

    @pytest.mark.parametrize("kv", ["none", "fp8"])
    def test_the_cache_is_as_asked(self, kv: str, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9, kv_cache_scheme=kv)
        assert {item.kv_cache_scheme for item in answer.alternatives} == {None if kv == "none" else "fp8"}

    def test_with_an_fp8_cache_one_excluded_key_leaves_all_of_them_native(self, solve: Solve) -> None:
        fields = {"kv_cache_scheme": "fp8", "exclude": ("*layers.3.self_attn.k_proj",)}
        for item in solve("Qwen/Qwen3-8B", budget_bytes=14 * 10**9, **fields).alternatives:
            assert scheme_by_patterns(item, "model.layers.0.self_attn.k_proj") == NATIVE

    def test_an_fp8_cache_cannot_feed_on_two_schemes(self, solve: Solve) -> None:
        layers = {"*layers.0.self_attn.[qkv]_proj": "fp8", "*self_attn.[qkv]_proj": "ptpc_fp8"}
        open_cache = solve("Qwen/Qwen3-8B", budget_bytes=14 * 10**9, layers=layers)
        assert {item.kv_cache_scheme for item in open_cache.alternatives} == {None}
        with pytest.raises(NoAnswerError, match="fp8 KV cache share one"):
            solve("Qwen/Qwen3-8B", budget_bytes=14 * 10**9, layers=layers, kv_cache_scheme="fp8")

    def test_an_algorithm_without_a_configuration_is_kept_and_noted(self, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", budget_bytes=9 * 10**9, algorithms=("awq",))
        for item in answer.alternatives:
            assert item.algorithm == "awq"
            assert any("no built-in awq configuration" in note.message for note in item.risks)

    def test_an_algorithm_that_fits_nothing_is_kept_and_noted(self, solve: Solve) -> None:
        answer = solve("meta-llama/Llama-3.1-70B", budget_bytes=90 * 10**9, algorithms=("awq",), layers={"*": "fp8"})
        assert any("no gain" in note.message and note.severity == "medium" for note in answer.alternatives[0].risks)

    def test_combinations_are_kept_in_order(self, solve: Solve) -> None:
        answer = solve("meta-llama/Llama-3.1-70B", budget_bytes=48 * 10**9, algorithms=("smoothquant", "awq"))
        assert {item.algorithm for item in answer.alternatives} == {"smoothquant,awq"}

    def test_emulated_schemes_come_only_when_asked_for(self, solve: Solve) -> None:
        def offered(**fields: bool) -> dict[str, list[str]]:
            answer = solve("Qwen/Qwen3-8B", budget_bytes=9 * 10**9, **fields)
            return {
                name: [note.message for note in item.risks]
                for item in answer.alternatives
                for name in item.scheme_shares
            }

        assert "mxfp6_e2m3" not in offered()
        emulated = offered(allow_emulated=True)
        assert any("emulates mxfp6_e2m3" in message for message in emulated["mxfp6_e2m3"])

    def test_what_is_emulated_is_never_the_fastest(self, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", budget_bytes=9 * 10**9, allow_emulated=True)
        fastest = next(item for item in answer.alternatives if "fastest" in item.name)
        assert not any(name.startswith(("mxfp", "nvfp")) for name in fastest.scheme_shares)


class TestRefusals:
    def test_a_stack_that_reads_no_quark_checkpoint_has_no_plan(self, solve: Solve) -> None:
        with pytest.raises(NoAnswerError, match="TensorRT-LLM"):
            solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9, hardware="h100", backend="tensorrt_llm")

    def test_a_device_without_known_memory_needs_a_budget(self, solve: Solve) -> None:
        with pytest.raises(Exception, match="is not known, so there is no default budget"):
            solve("Qwen/Qwen3-8B", hardware="dgx_spark")


class TestDeterminism:
    def test_the_same_request_gives_the_same_document(self, solve: Solve) -> None:
        fields = {"budget_bytes": 24 * 10**9}
        first, second = (solve("google/gemma-3-27b-it", **fields).model_dump_json() for _ in range(2))
        assert first == second


class TestModelWithoutTemplate:
    @pytest.fixture
    def analysis(self, tmp_path: Path) -> ModelAnalysis:
        config = {
            "architectures": ["Olmo2ForCausalLM"],
            "model_type": "olmo2",
            "hidden_size": 256,
            "intermediate_size": 512,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "vocab_size": 1024,
            "max_position_embeddings": 512,
            "torch_dtype": "bfloat16",
        }
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return api.analyze(str(tmp_path))

    def test_is_planned_and_flagged(self, analysis: ModelAnalysis) -> None:
        request = PlanRequest(model="olmo2", hardware="mi300x", budget_bytes=10**9)
        answer = api.solve(request, analysis)
        assert not answer.model.template_builtin
        assert any("no template" in note.message for note in answer.alternatives[0].risks)
        assert all("*lm_head" in item.exclude_layers for item in answer.alternatives)


class TestPicks:
    def test_the_knee_is_on_the_front(self, solve: Solve) -> None:
        answer = solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9)
        balanced = next(item for item in answer.alternatives if "balanced" in item.name)
        ends = (answer.alternatives[0], answer.alternatives[-1])
        assert all(end.footprint != balanced.footprint for end in ends)

    def test_a_front_of_one_point_is_all_names_at_once(self) -> None:
        from solver.optimize.cpsat import SolverSettings
        from solver.optimize.front import exact_front
        from solver.optimize.problem import Budget
        from tests.optimize.instances import problem, unit_class

        front = exact_front([problem([unit_class("a", 1, [(10, 1, 0)])])], Budget(10), SolverSettings())
        assert knee(front) == 0
        assert [item.names for item in pick(front, None, [])] == [("lowest risk", "balanced", "smallest")]
