"""Every flag reaches the plan, and does there what it says."""

import json
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from solver.plan.document import QuantPlan
from solver.plan.files import read_plan
from tests.cli.conftest import MODEL, PLAN, Run, refused

LLAMA = "meta-llama/Llama-3.2-1B-Instruct"

Planned = Callable[..., QuantPlan]


@pytest.fixture
def planned(analysed: Path, run: Run) -> Planned:
    """Return the plan that flags lead to, of the analysed model on an MI300X."""

    def plan(*flags: str) -> QuantPlan:
        done = run("--hardware", "mi300x", *flags)
        assert done.code == 0, done.err
        return read_plan(analysed / PLAN)

    return plan


UNUSED_BLOCK = 16 * 28 * 2 * 8 * 128 * 2
"""The block of 16 tokens that vLLM never uses: Qwen3-0.6B's 28 layers, keys and values of 8 heads of 128, 16 bits."""


def kv_bytes(plan: QuantPlan) -> int:
    assert plan.footprint is not None
    return plan.footprint.kv_cache_bytes


def scheme_of(plan: QuantPlan, path: str) -> str | None:
    """Return the scheme that Quark gives a layer: excludes win, then layer patterns, then the global scheme."""
    if any(fnmatchcase(path, pattern) for pattern in plan.exclude_layers):
        return None
    return next(
        (scheme for pattern, scheme in plan.layer_quant_config.items() if fnmatchcase(path, pattern)),
        plan.global_scheme,
    )


class TestCalibrationAndEvaluation:
    def test_are_quarks_own_defaults(self, planned: Planned) -> None:
        plan = planned()
        assert plan.calibration.model_dump() == {"dataset": "pileval", "num_calib_data": 128, "seq_len": 512}
        assert plan.evaluation_intent == "smoke"

    def test_are_what_was_asked(self, planned: Planned) -> None:
        plan = planned("--calib-dataset", "wikitext", "--num-calib-data", "64", "--seq-len", "2048")
        assert plan.calibration.model_dump() == {"dataset": "wikitext", "num_calib_data": 64, "seq_len": 2048}

    @pytest.mark.parametrize("intent", ["none", "smoke", "full"])
    def test_may_be_any_intent(self, intent: str, planned: Planned) -> None:
        assert planned("--evaluation-intent", intent).evaluation_intent == intent


class TestLayers:
    @pytest.mark.parametrize(("kv", "scheme"), [("none", None), ("fp8", "fp8")])
    def test_the_kv_cache_is_the_one_asked_for_in_every_alternative(
        self, kv: str, scheme: str | None, planned: Planned
    ) -> None:
        plan = planned("--kv", kv)
        assert {item.kv_cache_scheme for item in plan.alternatives} == {scheme}

    def test_excluded_layers_stay_native_in_every_alternative(self, planned: Planned) -> None:
        plan = planned("--exclude", "*layers.0.*", "--exclude", "*layers.2[67].mlp.*")
        for alternative in plan.alternatives:
            assert {"*layers.0.*", "*layers.2[67].mlp.*"} <= set(alternative.exclude_layers)
        assert scheme_of(plan, "model.layers.0.mlp.down_proj") is None
        assert scheme_of(plan, "model.layers.27.mlp.down_proj") is None
        assert scheme_of(plan, "model.layers.25.mlp.down_proj") is not None

    def test_a_layer_has_the_scheme_insisted_on_in_every_alternative(self, planned: Planned) -> None:
        plan = planned("--layer", "*down_proj=ptpc_fp8", "--layer", "*layers.3.*o_proj=uint4_wo_128")
        for alternative in plan.alternatives:
            chosen = plan.model_copy(update=alternative.model_dump(include=set(plan.model_dump())))
            for block in range(28):
                assert scheme_of(chosen, f"model.layers.{block}.mlp.down_proj") == "ptpc_fp8"
            assert scheme_of(chosen, "model.layers.3.self_attn.o_proj") == "uint4_wo_128"

    def test_a_layer_may_be_asked_to_stay_native(self, planned: Planned) -> None:
        plan = planned("--layer", "*down_proj=native")
        assert {scheme_of(plan, f"model.layers.{block}.mlp.down_proj") for block in range(28)} == {None}

    def test_what_the_stack_does_not_load_is_kept_and_noted(self, planned: Planned) -> None:
        plan = planned("--layer", "*o_proj=mxfp6_e2m3")
        assert scheme_of(plan, "model.layers.3.self_attn.o_proj") == "mxfp6_e2m3"
        assert any(risk.severity == "high" and "kept as asked" in risk.message for risk in plan.risks)


class TestAlgorithm:
    def plan(self, flag: str, folder: Path, run: Run) -> QuantPlan:
        done = run(LLAMA, "--hardware", "mi300x", "--budget", "4GB", "--goal", "size", "--algorithm", flag)
        assert done.code == 0, done.err
        return read_plan(folder / PLAN)

    def test_none_is_none_in_every_alternative(self, folder: Path, run: Run) -> None:
        plan = self.plan("none", folder, run)
        assert {item.algorithm for item in plan.alternatives} == {None}
        assert plan.request["algorithms"] == []

    def test_awq_is_in_every_alternative_and_no_risk_where_quark_configures_it(self, folder: Path, run: Run) -> None:
        plan = self.plan("awq", folder, run)
        assert {item.algorithm for item in plan.alternatives} == {"awq"}
        assert plan.request["algorithms"] == ["awq"]
        assert not any("no built-in awq" in risk.message for risk in plan.risks)

    def test_several_are_named_in_order(self, folder: Path, run: Run) -> None:
        assert self.plan("smoothquant, awq", folder, run).algorithm == "smoothquant,awq"

    def test_naming_one_twice_is_naming_it_once(self, folder: Path, run: Run) -> None:
        assert self.plan("awq,awq", folder, run).algorithm == "awq"

    def test_one_that_quark_does_not_configure_for_the_model_is_kept_and_noted(self, planned: Planned) -> None:
        plan = planned("--algorithm", "awq")
        assert plan.algorithm == "awq"
        assert any("no built-in awq configuration for qwen3" in risk.message for risk in plan.risks)


class TestService:
    def test_the_budget_may_bound_the_weights_alone(self, planned: Planned) -> None:
        plan = planned("--budget", "700MB", "--budget-scope", "weights")
        assert plan.service is not None
        assert (plan.service.budget_bytes, plan.service.budget_scope) == (700_000_000, "weights")
        for alternative in plan.alternatives:
            assert alternative.footprint is not None
            assert alternative.footprint.weights_bytes <= 700_000_000 < alternative.footprint.total_bytes

    def test_the_budget_bounds_everything_otherwise(self, planned: Planned) -> None:
        plan = planned("--budget", "2GiB")
        assert plan.service is not None
        assert (plan.service.budget_bytes, plan.service.budget_scope) == (2 * 2**30, "total")
        assert all(item.footprint and item.footprint.total_bytes <= 2 * 2**30 for item in plan.alternatives)

    def test_the_context_scales_the_cache(self, planned: Planned) -> None:
        long, short = planned("--kv", "none", "--context", "8192"), planned("--kv", "none", "--context", "4k")
        assert short.service is not None
        assert short.service.context == 4096
        assert 2 * (kv_bytes(short) - UNUSED_BLOCK) == kv_bytes(long) - UNUSED_BLOCK

    def test_the_concurrency_scales_the_cache(self, planned: Planned) -> None:
        one, four = planned("--kv", "none"), planned("--kv", "none", "--concurrency", "4")
        assert four.service is not None
        assert four.service.concurrency == 4
        assert kv_bytes(four) - UNUSED_BLOCK == 4 * (kv_bytes(one) - UNUSED_BLOCK)

    def test_devices_share_the_weights_and_the_cache(self, planned: Planned) -> None:
        one, two = planned("--kv", "none", "--budget", "5GB"), planned("--kv", "none", "--budget", "5GB", "--tp", "2")
        assert two.service is not None
        assert two.service.tensor_parallel == 2
        assert 2 * kv_bytes(two) == kv_bytes(one)
        assert one.footprint is not None
        assert two.footprint is not None
        assert one.footprint.weights_bytes < 2 * two.footprint.weights_bytes < 1.05 * one.footprint.weights_bytes

    def test_no_stack_allows_what_a_stack_does_not_load(self, planned: Planned) -> None:
        served, alone = planned(), planned("--backend", "none")
        assert served.service is not None
        assert alone.service is not None
        assert (served.service.backend, alone.service.backend) == ("vllm", "none")
        schemes = [{name for item in plan.alternatives for name in item.scheme_shares} for plan in (served, alone)]
        assert schemes[1] - schemes[0]

    def test_a_stack_is_found_by_its_title(self, planned: Planned) -> None:
        plan = planned("--backend", "vLLM")
        assert plan.service is not None
        assert plan.service.backend == "vllm"

    def test_what_the_stack_emulates_is_used_only_when_allowed(self, planned: Planned) -> None:
        flags = ("--goal", "size")
        native, emulated = planned(*flags), planned(*flags, "--allow-emulated")
        assert not native.request["allow_emulated"]
        assert emulated.request["allow_emulated"]
        assert not any("emulates" in risk.message for item in native.alternatives for risk in item.risks)
        assert any("emulates" in risk.message for item in emulated.alternatives for risk in item.risks)

    @pytest.mark.parametrize("name", ["mi300x", "MI300X", "AMD Instinct MI300X", "amd-instinct_mi300x"])
    def test_hardware_is_found_by_any_of_its_names(self, name: str, analysed: Path, run: Run) -> None:
        document = run("--hardware", name, "--json").document
        assert document["service"]["hardware"] == document["request"]["hardware"] == "mi300x"

    def test_hardware_is_that_of_the_environment_when_none_is_named(self, analysed: Path, run: Run) -> None:
        hardware = {"accelerator": "amd-rocm", "gpu_model": "AMD Instinct MI325X", "gpu_count": 8}
        content = json.dumps({"environment": {}, "hardware": hardware})
        (analysed / "env_context.json").write_text(content, encoding="utf-8")
        assert run("--json").document["service"]["hardware"] == "mi325x"
        assert run("--json", "--hardware", "mi300x").document["service"]["hardware"] == "mi300x"


class TestRecords:
    def test_the_request_is_in_the_plan_as_it_was_understood(self, planned: Planned) -> None:
        plan = planned(
            *("--budget", "3GB", "--context", "2k", "--concurrency", "2", "--tp", "2", "--seed", "7"),
            *("--time-limit", "12.5", "--goal", "size", "--exclude", "*layers.1.*", "--layer", "*q_proj=fp8"),
        )
        expected = {
            "model": "model_analysis.json",
            "hardware": "mi300x",
            "budget_bytes": 3 * 10**9,
            "context": 2048,
            "concurrency": 2,
            "tensor_parallel": 2,
            "seed": 7,
            "time_limit": 12.5,
            "goal": "size",
            "exclude": ["*layers.1.*"],
            "layers": {"*q_proj": "fp8"},
        }
        assert expected.items() <= plan.request.items()
        assert (plan.provenance.seed, plan.provenance.time_limit) == (7, 12.5)

    def test_a_request_from_a_plan_gives_the_plan_again(self, analysed: Path, run: Run) -> None:
        from solver import api
        from solver.plan.request import PlanRequest

        first = api.PlanSet.model_validate(run("--hardware", "mi300x", "--budget", "2.1GB", "--json").document)
        request = PlanRequest.model_validate(first.request)
        again = api.solve(request, api.analyze(request.model), analysis_ref="./model_analysis.json")
        assert again == first

    @pytest.mark.slow
    def test_another_seed_finds_as_good_plans(self, planned: Planned) -> None:
        def values(plan: QuantPlan) -> list[tuple[str, object, object]]:
            return [(item.name, item.footprint, item.risk) for item in plan.alternatives]

        assert values(planned("--seed", "0")) == values(planned("--seed", "12345"))

    def test_trust_is_recorded_and_reaches_the_command(self, planned: Planned, run: Run) -> None:
        assert not planned("--yes").model.trust_remote_code
        assert "--no_trust_remote_code" in run("export").out
        assert planned("--yes", "--trust-remote-code").model.trust_remote_code
        assert "trust_remote_code" not in run("export").out
        assert "    --trust_remote_code\n" in run("export", "--to", "quantize-quark").out


class TestModels:
    @pytest.mark.slow
    def test_another_name_of_a_bundled_model_gives_the_same_plan(self, folder: Path, run: Run) -> None:
        flags = ("--hardware", "mi300x", "--json")
        full, short = run(MODEL, *flags).document, run("qwen3-0.6b", *flags).document
        assert full.pop("request") != short.pop("request")
        assert full == short

    def test_an_analysis_may_have_another_name(self, analysed: Path, run: Run) -> None:
        (analysed / "model_analysis.json").rename(analysed / "mine.json")
        document = run("--model", "mine.json", "--hardware", "mi300x", "--json").document
        assert document["model"]["analysis_ref"] == "mine.json"
        assert document["model"]["model_path"] == MODEL

    def test_a_checkpoints_folder_is_exported_by_its_absolute_path(self, folder: Path, run: Run) -> None:
        config = {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": 128,
            "intermediate_size": 256,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 32,
            "num_hidden_layers": 3,
            "vocab_size": 512,
            "max_position_embeddings": 1024,
            "torch_dtype": "bfloat16",
            "tie_word_embeddings": False,
        }
        checkpoint = folder / "my checkpoint"
        checkpoint.mkdir()
        (checkpoint / "config.json").write_text(json.dumps(config), encoding="utf-8")
        for named in ("./my checkpoint", "my checkpoint/config.json"):
            done = run("--model", named, "--hardware", "mi300x", "--yes")
            assert done.code == 0, done.err
            plan = read_plan(folder / PLAN)
            assert plan.service is not None
            assert plan.service.context == 1024
            command = run("export").out
            assert f"    --model_dir '{checkpoint}' \\\n" in command
            assert f"    --output_dir '{checkpoint}-{plan.global_scheme}' \\\n" in command


class TestBatch:
    def test_is_what_was_asked_for_and_follows_from_concurrency_where_nothing_was(self, planned: Planned) -> None:
        def batch(*flags: str) -> tuple[int, int]:
            service = planned("--context", "512", *flags).service
            assert service is not None
            return service.max_num_seqs, service.max_num_batched_tokens

        assert batch() == (1, 512)
        assert batch("--concurrency", "3") == (3, 1536)
        assert batch("--concurrency", "3", "--max-num-seqs", "9") == (9, 2048)
        assert batch("--max-num-seqs", "9", "--max-num-batched-tokens", "9") == (9, 9)

    def test_moves_the_activations_alone(self, planned: Planned) -> None:
        small, large = (planned("--max-num-batched-tokens", tokens).footprint for tokens in ("256", "1024"))
        assert small is not None
        assert large is not None
        assert small.activation_bytes < large.activation_bytes
        assert small.kv_cache_bytes == large.kv_cache_bytes

    @pytest.mark.parametrize(
        ("flags", "named"),
        [
            (("--concurrency", "8", "--max-num-seqs", "4"), ("--max-num-seqs 4", "at least 8")),
            (("--concurrency", "8", "--max-num-batched-tokens", "4"), ("--max-num-batched-tokens 4", "at least 8")),
            (("--max-num-seqs", "16", "--max-num-batched-tokens", "8"), ("--max-num-batched-tokens 8", "at least 16")),
        ],
        ids=lambda value: " ".join(value[-2:]),
    )
    def test_that_no_stack_starts_is_refused(
        self, flags: tuple[str, ...], named: tuple[str, ...], analysed: Path, run: Run
    ) -> None:
        refused(run("--hardware", "mi300x", *flags), 2, *named)
