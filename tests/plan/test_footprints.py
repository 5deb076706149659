"""The bill of a model in service: equal to that of plans, true at its limits, honest about speed."""

import json
from pathlib import Path

import pytest

from solver import api
from solver.catalog import NATIVE, Catalog
from solver.errors import BadInputError, NoAnswerError
from solver.plan.footprints import FootprintReport, UniformBill
from solver.plan.request import PlanRequest
from tests.conftest import Analyse, Solve

MODELS = ("Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B", "google/gemma-3-27b-it")


def report(model: str, analyse: Analyse, catalog: Catalog, *, stages: int = 1, **fields: object) -> FootprintReport:
    request = PlanRequest.model_validate({"model": model, "hardware": "mi300x", **fields})
    return api.footprints(request, analyse(model), catalog=catalog, pipeline_stages=stages)


def line(found: FootprintReport, scheme: str) -> UniformBill:
    return next(bill for bill in found.bills if bill.scheme == scheme)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kv", ["none", "fp8"])
def test_every_bill_adds_up_to_the_last_byte(model: str, kv: str, analyse: Analyse, catalog: Catalog) -> None:
    for bill in report(model, analyse, catalog, kv_cache_scheme=kv, concurrency=3).bills:
        parts = bill.footprint
        assert parts.total_bytes == (
            parts.weights_bytes + parts.kv_cache_bytes + parts.activation_bytes + parts.runtime_bytes
        )


@pytest.mark.parametrize("model", MODELS)
def test_the_unquantized_bill_is_that_of_a_plan_without_quantization(
    model: str, analyse: Analyse, catalog: Catalog, solve: Solve
) -> None:
    answer = solve(model, budget_bytes=60 * 10**9, kv_cache_scheme="none")
    assert line(report(model, analyse, catalog), NATIVE).footprint.total_bytes == answer.model.unquantized_total_bytes


def test_the_bill_of_a_quantized_checkpoint_is_as_it_is_stored(analyse: Analyse, catalog: Catalog) -> None:
    # 688,574,839,360 bytes are published of DeepSeek-V3, the predictor among them. vLLM holds routers in float32, and
    # what it absorbs of latent attention in 16 bits.
    model = "deepseek-ai/DeepSeek-V3"
    inventory = analyse(model).inventory
    assert inventory is not None
    assert inventory.mtp is not None
    shares = {share.part: share for share in inventory.parts}
    routers, absorbed = shares["router"], shares["mla_kv_b"]
    found = report(model, analyse, catalog, hardware="mi355x")
    assert found.stored == "fp8"
    held = line(found, NATIVE).footprint.weights_bytes
    assert held == (
        688_574_839_360
        - (inventory.mtp.size_bytes or 0)
        + 2 * routers.elements
        + (2 * absorbed.elements - (absorbed.size_bytes or 0))
    )
    assert report(MODELS[0], analyse, catalog).stored is None


def test_a_uniform_bill_is_that_of_the_plan_with_that_scheme_alone(
    analyse: Analyse, catalog: Catalog, solve: Solve
) -> None:
    answer = solve("Qwen/Qwen3-8B", budget_bytes=40 * 10**9, kv_cache_scheme="none")
    uniform = [plan for plan in answer.alternatives if len(set(plan.scheme_shares) - {NATIVE}) == 1]
    assert uniform
    found = report("Qwen/Qwen3-8B", analyse, catalog)
    for plan in uniform:
        (scheme,) = set(plan.scheme_shares) - {NATIVE}
        if not plan.layer_quant_config:
            assert line(found, scheme).footprint == plan.footprint


def test_where_no_layer_may_have_a_scheme_the_unquantized_bill_stands_alone(tmp_path: Path, catalog: Catalog) -> None:
    # vLLM 0.33 loads Mamba-1's mixers in the model's own type only, and there is nothing else to quantize.
    sizes = {"num_hidden_layers": 3, "hidden_size": 64, "intermediate_size": 128, "state_size": 8, "vocab_size": 256}
    config = {"model_type": "falcon_mamba", "architectures": ["FalconMambaForCausalLM"], **sizes}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    request = PlanRequest(model=str(tmp_path), hardware="mi300x")
    found = api.footprints(request, api.analyze(request.model, catalog=catalog, cache=False), catalog=catalog)
    assert [bill.scheme for bill in found.bills] == [NATIVE]
    with pytest.raises(NoAnswerError):
        api.solve(request, catalog=catalog)


def check_limits(model: str, bill: UniformBill, analyse: Analyse, catalog: Catalog, fields: dict[str, int]) -> None:
    """Check by further bills that what fits at most fits, and that one more does not."""
    limit = analyse(model).inventory.max_context  # type: ignore[union-attr]
    if not bill.fits:
        assert bill.highest_concurrency == 0
        return
    for asked, fits in (
        ({"context": bill.longest_context}, True),
        ({"context": bill.longest_context + 1}, False),
        ({"concurrency": bill.highest_concurrency}, True),
        ({"concurrency": bill.highest_concurrency + 1}, False),
    ):
        assert min(asked.values()) > 0
        if asked.get("context", 1) > (limit or 0):
            continue
        again = line(report(model, analyse, catalog, **fields, **asked), bill.scheme)
        assert again.fits is fits, (bill.scheme, asked)


@pytest.mark.parametrize("model", MODELS)
def test_the_limits_fit_and_one_more_does_not(model: str, analyse: Analyse, catalog: Catalog) -> None:
    fields = {"budget_bytes": 40 * 10**9}
    for bill in report(model, analyse, catalog, **fields).bills[:4]:
        check_limits(model, bill, analyse, catalog, fields)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "gigabytes", "devices"),
    [
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", 50, 4),
        ("ibm-granite/granite-4.0-h-small", 40, 2),
        ("LiquidAI/LFM2-1.2B", 4, 1),
        ("deepseek-ai/DeepSeek-V2-Lite", 36, 1),
        ("deepseek-ai/DeepSeek-V2-Lite", 22, 2),
        ("google/gemma-3-27b-it", 32, 2),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 60, 4),
    ],
)
def test_the_limits_hold_for_every_kind_of_cache_and_over_devices(
    model: str, gigabytes: int, devices: int, analyse: Analyse, catalog: Catalog
) -> None:
    # Delta attention, Mamba-2, convolutions, latent attention, windows and chunks beside full attention.
    fields = {"budget_bytes": gigabytes * 10**9, "tensor_parallel": devices}
    bills = report(model, analyse, catalog, **fields).bills
    assert bills[0].scheme == NATIVE
    assert bills[0].fits
    for bill in (bills[0], bills[len(bills) // 2], bills[-1]):
        check_limits(model, bill, analyse, catalog, fields)


def test_experts_shared_out_whole_take_as_much_as_cut_ones_where_both_divide(
    analyse: Analyse, catalog: Catalog
) -> None:
    cut = report("Qwen/Qwen3-30B-A3B", analyse, catalog, tensor_parallel=4)
    whole = report("Qwen/Qwen3-30B-A3B", analyse, catalog, tensor_parallel=4, expert_parallel=True)
    assert line(cut, NATIVE).footprint == line(whole, NATIVE).footprint
    # 128 experts over 3 devices: the fullest has 43 of them.
    third = report("Qwen/Qwen3-30B-A3B", analyse, catalog, tensor_parallel=3, expert_parallel=True, force=True)
    experts = 43 * 3 * 768 * 2048 * 48 * 2
    assert experts < line(third, NATIVE).footprint.weights_bytes < experts * 1.1


def test_kept_predictors_are_counted(analyse: Analyse, catalog: Catalog) -> None:
    model = "Qwen/Qwen3-Next-80B-A3B-Instruct"
    reports = [report(model, analyse, catalog, mtp=mtp) for mtp in ("drop", "keep")]
    told = ["billed by their weights alone" in " ".join(item.assumptions) for item in reports]
    assert told == [False, True]
    dropped, kept = (line(item, NATIVE) for item in reports)
    mtp = analyse(model).inventory.mtp  # type: ignore[union-attr]
    assert mtp is not None
    assert kept.footprint.weights_bytes - dropped.footprint.weights_bytes == mtp.size_bytes


@pytest.mark.parametrize("stages", [2, 3, 5])
def test_the_fullest_stage_is_reported(stages: int, analyse: Analyse, catalog: Catalog) -> None:
    whole = line(report("Qwen/Qwen3-8B", analyse, catalog), NATIVE)
    part = line(report("Qwen/Qwen3-8B", analyse, catalog, stages=stages), NATIVE)
    assert whole.footprint.weights_bytes / stages <= part.footprint.weights_bytes < whole.footprint.weights_bytes
    assert 0 <= part.stage < stages


def test_too_many_stages_are_refused(analyse: Analyse, catalog: Catalog) -> None:
    with pytest.raises(BadInputError, match="36 blocks do not fill 40 stages"):
        report("Qwen/Qwen3-8B", analyse, catalog, stages=40)


def test_emulated_schemes_are_never_counted_as_fast(analyse: Analyse, catalog: Catalog) -> None:
    found = report("Qwen/Qwen3-8B", analyse, catalog, allow_emulated=True)
    native = line(found, NATIVE)
    for scheme in ("mxfp4", "mxfp6_e3m2", "nvfp4"):
        emulated = line(found, scheme)
        assert emulated.footprint.total_bytes < native.footprint.total_bytes
        assert emulated.decode_seconds is not None
        assert native.decode_seconds is not None
        assert emulated.decode_seconds > native.decode_seconds
        assert (emulated.prefill_seconds or 0) >= (native.prefill_seconds or 0)


def test_quantized_inputs_speed_up_prompts_and_weights_alone_only_steps(analyse: Analyse, catalog: Catalog) -> None:
    found = report("Qwen/Qwen3-8B", analyse, catalog)
    native, fp8, int4 = (line(found, scheme) for scheme in (NATIVE, "ptpc_fp8", "int4_wo_128"))
    assert (fp8.prefill_seconds or 0) < (native.prefill_seconds or 0)
    assert int4.prefill_seconds == pytest.approx(native.prefill_seconds)
    assert (int4.decode_seconds or 0) < (fp8.decode_seconds or 0) < (native.decode_seconds or 0)


def test_a_step_moves_at_least_the_weights_that_it_reads(analyse: Analyse, catalog: Catalog) -> None:
    # 16.38 GB less the embedding, at 80 % of 5.3 TB/s.
    native = line(report("Qwen/Qwen3-8B", analyse, catalog, context=1), NATIVE)
    weights = 16_381_470_720 - 151_936 * 4096 * 2
    assert native.decode_seconds == pytest.approx(weights / (0.8 * 5.3e12), rel=0.01)


def test_kept_predictors_lie_on_the_last_stage(analyse: Analyse, catalog: Catalog) -> None:
    model = "Qwen/Qwen3-Next-80B-A3B-Instruct"
    whole, halves = (
        [line(report(model, analyse, catalog, stages=stages, mtp=mtp), NATIVE) for mtp in ("drop", "keep")]
        for stages in (1, 2)
    )
    mtp = analyse(model).inventory.mtp  # type: ignore[union-attr]
    assert mtp is not None
    assert whole[1].footprint.weights_bytes - whole[0].footprint.weights_bytes == mtp.size_bytes
    assert halves[1].stage == 1
    assert halves[1].footprint.weights_bytes < whole[1].footprint.weights_bytes
