"""`solve verify` with the installed Quark: it holds for sound plans, and tells layer by layer what Quark would do."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver import api
from solver.catalog import Catalog
from solver.plan.confirm import confirm, draft
from solver.plan.context import template_of
from solver.plan.document import Alternative, Answer, QuantPlan
from solver.plan.expansion import expand
from solver.plan.files import write_plan
from solver.plan.request import Calibration, PlanRequest
from solver.plan.verification import Check
from tests.conftest import REQUIRED_MODELS, Solve
from tests.quark.conftest import SolveTiny, Tiny
from tests.quark.real import config_of, linears, resolve, spec_of_scheme
from tests.quark.tiny import TEMPLATED, TEXT, UNTEMPLATED

pytestmark = pytest.mark.usefixtures("quark")

Verify = Callable[[QuantPlan], dict[str, Check]]
SOME = ("llama", "gemma3")
CACHED = ("qwen3_moe",)


def split(names: Sequence[str], fast: Sequence[str]) -> list[Any]:
    """Return names as parameters, all but some of them slow."""
    return [pytest.param(name, marks=() if name in fast else pytest.mark.slow) for name in names]


@pytest.fixture
def verify(catalog: Catalog) -> Verify:
    """Return the checks of a plan that Quark makes, by name; the others are to hold where nothing else is said."""

    def checks(plan: QuantPlan) -> dict[str, Check]:
        verification = api.verify(plan, catalog=catalog, quark="yes")
        assert verification.quark_version is not None
        return {check.name: check for check in verification.checks}

    return checks


def all_hold(checks: dict[str, Check], count: int) -> None:
    """Check that nothing differs, and that Quark was asked of all layers."""
    assert [check for check in checks.values() if check.verdict == "differs"] == []
    assert checks["quark layers"].compared == f"{count:,} layers: weights, inputs and outputs as planned"


class TestSoundPlans:
    @pytest.mark.parametrize("name", split(TEMPLATED, SOME))
    def test_hold(self, name: str, tiny: Tiny, solve_tiny: SolveTiny, verify: Verify) -> None:
        checks = verify(draft(solve_tiny(name, share=0.1, backend="none")))
        all_hold(checks, len(linears(tiny(name).model)))
        assert checks["quark command"].verdict == "holds"

    @pytest.mark.parametrize(
        "name", split((*CACHED, "llama", "phi3", "gemma3", "deepseek_v3", "lfm2", "llama4", "smollm3"), CACHED)
    )
    def test_with_an_fp8_cache_hold(self, name: str, tiny: Tiny, solve_tiny: SolveTiny, verify: Verify) -> None:
        plan = draft(solve_tiny(name, share=0.1, backend="none", kv_cache_scheme="fp8"))
        assert plan.kv_cache_scheme == "fp8"
        all_hold(verify(plan), len(linears(tiny(name).model)))

    @pytest.mark.parametrize("name", split(UNTEMPLATED, ("olmo2",)))
    def test_without_a_template_of_quarks_hold_and_have_no_command(
        self, name: str, tiny: Tiny, solve_tiny: SolveTiny, verify: Verify, llm_template: Any
    ) -> None:
        before = llm_template.list_available()
        checks = verify(draft(solve_tiny(name, share=0.3)))
        all_hold(checks, len(linears(tiny(name).model)))
        assert checks["quark command"].verdict == "left_out"
        assert "quark-python" not in checks["quark command"].compared
        assert llm_template.list_available() == before

    @pytest.mark.parametrize(("algorithm", "scheme"), [("awq", "uint4_wo_32"), ("gptq", "mxfp4_weight_only")])
    def test_whose_algorithm_only_the_script_configures_hold_and_have_no_command(
        self, algorithm: str, scheme: str, tiny: Tiny, solve_tiny: SolveTiny, verify: Verify
    ) -> None:
        plan = draft(solve_tiny("qwen3", share=1.0, backend="none", scheme=scheme, algorithms=(algorithm,)))
        assert plan.algorithm == algorithm
        checks = verify(plan)
        all_hold(checks, len(linears(tiny("qwen3").model)))
        assert checks["quark command"].verdict == "left_out"
        assert f"Quark 0.13 has no {algorithm} settings for qwen3" in checks["quark command"].compared

    def test_of_a_real_model_hold(self, solve: Solve, verify: Verify) -> None:
        all_hold(verify(draft(solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9))), 253)

    @pytest.mark.slow
    @pytest.mark.parametrize("model", REQUIRED_MODELS)
    def test_of_all_required_models_hold_at_their_full_depth(
        self, model: str, required_answers: dict[str, Answer], verify: Verify
    ) -> None:
        for alternative in required_answers[model].alternatives:
            checks = verify(draft(required_answers[model], alternative.id))
            assert {check.verdict for check in checks.values()} == {"holds"}

    def test_of_a_translated_model_are_not_checked_by_layer(
        self, tmp_path: Path, catalog: Catalog, verify: Verify
    ) -> None:
        # transformers has no class for it, and Quark would run the code of the checkpoint.
        config = {"model_type": "internlm2", "architectures": ["InternLM2ForCausalLM"], "bias": False} | TEXT
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        request = PlanRequest(model=str(tmp_path), hardware="mi300x", backend="none")
        checks = verify(draft(api.solve(request, catalog=catalog)))
        assert checks["patterns"].verdict == "holds"
        assert checks["quark layers"].verdict == "left_out"
        assert "internlm2" in checks["quark layers"].compared


def differences(check: Check) -> set[tuple[str, str, str]]:
    """Return the differences of a check."""
    assert check.verdict == "differs"
    return {(item.where, item.expected, item.found) for item in check.differences}


class TestChangedPlans:
    @pytest.fixture
    def plan(self, solve_tiny: SolveTiny) -> QuantPlan:
        """Return a plan with an fp8 cache and literal entries for its layers."""
        answer = solve_tiny(
            "qwen3", share=0.3, backend="none", kv_cache_scheme="fp8", layers={"*q_proj": "fp8", "*[kv]_proj": "int8"}
        )
        plan = draft(answer)
        return plan.model_copy(
            update={"layer_quant_config": {"*k_proj": "int8", "*v_proj": "int8", **plan.layer_quant_config}}
        )

    def test_without_the_entries_of_the_cache_are_told_what_quark_does(self, plan: QuantPlan, verify: Verify) -> None:
        cached = ("model.layers.0.self_attn.k_proj", "model.layers.0.self_attn.v_proj")
        entries = {
            name: scheme
            for name, scheme in plan.layer_quant_config.items()
            if not any(fnmatchcase(path, name) for path in cached)
        }
        entries = {"*self_attn.q_proj*": "fp8", **entries, "*self_attn.[kv]_proj*": "int8"}
        checks = verify(plan.model_copy(update={"layer_quant_config": entries}))
        told = differences(checks["quark layers"])
        # Quark takes the first entry that names an attention module for the base of all k and v.
        assert any(
            where == "model.layers.0.self_attn.k_proj, weight" and want.startswith("int8") for where, want, _ in told
        )
        assert any(check.verdict == "differs" for name, check in checks.items() if name == "rules")

    def test_in_the_scheme_of_one_layer_of_the_cache_are_told(self, plan: QuantPlan, verify: Verify) -> None:
        entries = {"model.layers.1.self_attn.k_proj": "fp8", **plan.layer_quant_config}
        told = differences(verify(plan.model_copy(update={"layer_quant_config": entries}))["quark layers"])
        ((where, expected, found),) = [item for item in told if item[0].endswith(", weight")]
        assert where == "model.layers.1.self_attn.k_proj, weight"
        assert expected == "fp8: fp8_e4m3 per_tensor, static"
        assert found.startswith("int8 ")

    def test_that_exclude_one_layer_of_the_cache_are_told_that_all_lose_their_weights(
        self, plan: QuantPlan, verify: Verify
    ) -> None:
        excluded = plan.model_copy(update={"exclude_layers": (*plan.exclude_layers, "model.layers.0.self_attn.k_proj")})
        told = differences(verify(excluded)["quark layers"])
        assert {where for where, _, found in told if found == "nothing" and where.endswith("weight")} == {
            f"model.layers.{block}.self_attn.k_proj, weight" for block in range(1, 4)
        }

    @pytest.mark.parametrize(
        ("field", "value", "reason"),
        [
            ("algorithm", "nothing", "Unsupported algorithm: nothing"),
            ("kv_cache_scheme", "int8", "Unsupported KV cache scheme: int8"),
            ("global_scheme", "fp3", "Unsupported quantization scheme: fp3"),
            ("layer_quant_config", {"*q_proj": "fp3"}, "KeyError"),
        ],
    )
    def test_that_quark_does_not_take_are_told_its_reason(
        self, field: str, value: Any, reason: str, plan: QuantPlan, catalog: Catalog, verify: Verify
    ) -> None:
        from solver.plan.recheck import recheck
        from solver.quark.resolve import layer_check

        chosen = recheck(plan, api.analyze(plan.model.model_path, catalog=catalog), catalog).chosen
        check = layer_check(plan.model_copy(update={field: value}), chosen, plan.model.model_path, catalog)
        ((where, _, found),) = differences(check)
        assert where == "LLMTemplate.get_config"
        assert reason in found

    def test_with_a_command_that_quark_cli_does_not_read_are_told_its_reason(
        self, plan: QuantPlan, verify: Verify
    ) -> None:
        # A data set that Quark has no loader for gets past no request, and so into no plan but by hand.
        calibration = Calibration.model_construct(dataset="pile", num_calib_data=128, seq_len=512)
        ((where, _, found),) = differences(
            verify(plan.model_copy(update={"calibration": calibration}))["quark command"]
        )
        assert where == "quark-cli"
        assert "invalid choice: 'pile'" in found

    def test_of_a_model_with_a_convolution_are_told_that_quark_would_quantize_it(
        self, solve_tiny: SolveTiny, verify: Verify
    ) -> None:
        plan = draft(solve_tiny("gemma3", share=0.4))
        lifted = plan.model_copy(update={"exclude_layers": ("lm_head",)})
        checks = verify(lifted)
        (path,) = {
            where for where, expected, _ in differences(checks["quark layers"]) if expected.startswith("no linear")
        }
        assert path.endswith("patch_embedding")
        assert path in {item.where for item in checks["patterns"].differences}


class TestWhatQuarkStopsAt:
    @pytest.mark.parametrize(
        ("module", "function", "told"),
        [
            ("quark.torch.utils.llm", "preprocess_for_quantization", "while it prepares the model"),
            (
                "quark.torch.quantization.model_transformation",
                "setup_config_per_layer",
                "while it resolves them",
            ),
        ],
    )
    def test_is_left_out_and_said(
        self, module: str, function: str, told: str, solve: Solve, verify: Verify, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def stops(*_: Any, **__: Any) -> None:
            raise IndexError("no such\nmodule")

        plan = draft(solve("Qwen/Qwen3-0.6B"))
        monkeypatch.setattr(f"{module}.{function}", stops)
        check = verify(plan)["quark layers"]
        assert check.verdict == "left_out"
        assert check.compared.endswith(f"Quark stops {told}: IndexError: no such module")

    def test_for_lack_of_settings_is_left_out_and_said(self, solve: Solve, verify: Verify) -> None:
        # Nobody knows settings of rotation for this model: the user supplies them with the export.
        plan = draft(solve("Qwen/Qwen3-0.6B")).model_copy(update={"algorithm": "rotation"})
        check = verify(plan)["quark layers"]
        assert (check.verdict, "no rotation settings" in check.compared) == ("left_out", True)


PATTERNS = (
    "*",
    "*q_proj",
    "*k_proj",
    "*v_proj",
    "*[kv]_proj",
    "*_proj",
    "*self_attn*",
    "*layers.1.*",
    "*layers.[0-2].self_attn.*",
    "*.3.*k_proj",
    "model.layers.0.self_attn.k_proj",
    "model.layers.2.self_attn.v_proj",
    "*mlp*",
    "*down_proj",
    "*experts*",
    "*experts.1.*",
    "*experts.[0-1].up_proj",
    "*qkv_proj",
    "*kv_b_proj",
    "k_proj",
    "*lm_head",
    "nothing*",
)
SCHEMES = ("fp8", "int8", "mxfp4", "ptpc_fp8")


class TestTheReadingOfPatterns:
    @pytest.mark.parametrize("name", ["qwen3", "qwen3_moe", "phi3", "deepseek_v3", "lfm2"])
    @given(data=st.data())
    @settings(max_examples=20, deadline=None, derandomize=True)
    def test_is_that_of_quark_whatever_they_are(
        self, name: str, data: st.DataObject, tiny: Tiny, solve_tiny: SolveTiny, catalog: Catalog
    ) -> None:
        small = tiny(name)
        entries = data.draw(st.dictionaries(st.sampled_from(PATTERNS), st.sampled_from(SCHEMES), max_size=5))
        excludes = data.draw(st.lists(st.sampled_from(PATTERNS[1:]), max_size=3, unique=True))
        plan = Alternative.model_construct(
            global_scheme=data.draw(st.sampled_from(SCHEMES)),
            layer_quant_config=entries,
            exclude_layers=tuple(excludes),
            kv_cache_scheme=data.draw(st.sampled_from([None, "fp8"])),
            algorithm=None,
        )
        template = template_of(small.analysis, catalog)
        expansion = expand(plan, small.inventory, template.kv_layers)
        quarks = resolve(small.model, config_of(plan, template.model_type)).linears
        for member, scheme in expansion.resolved.items():
            if member in expansion.torn or not member.family.quantizable:
                continue
            for expert in range(member.family.experts) if member.family.experts else (None,):
                path = member.family.path(member.block, expert)
                assert quarks[path] == spec_of_scheme(scheme), path
        for member, schemes in expansion.torn.items():
            specs = [quarks[member.family.path(member.block, expert)] for expert in range(member.family.experts)]
            assert all(any(spec_of_scheme(scheme) == spec for spec in specs) for scheme in schemes)


class TestAQuarkThatCannotBeImported:
    @pytest.fixture
    def broken(self, tmp_path: Path, solve: Solve) -> Callable[..., subprocess.CompletedProcess[str]]:
        """Return a runner of `solve verify` where the first `quark` on the path cannot be imported."""
        write_plan(tmp_path / "plan.json", confirm(draft(solve("Qwen/Qwen3-0.6B"))))
        (tmp_path / "quark").mkdir()
        (tmp_path / "quark" / "__init__.py").write_text("raise RuntimeError('no compiler here')", encoding="utf-8")
        path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            program = [sys.executable, "-c", "from solver.cli import main; main()", "verify", "plan.json", *arguments]
            environment = os.environ | {"PYTHONPATH": path, "COLUMNS": "80"}
            return subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

        return run

    def test_is_left_out_and_said(self, broken: Callable[..., subprocess.CompletedProcess[str]]) -> None:
        done = broken()
        assert done.returncode == 0
        said = " ".join(done.stdout.split())
        assert "quark left out amd-quark cannot be imported: RuntimeError: no compiler here" in said

    def test_ends_with_4_where_it_is_asked_for(self, broken: Callable[..., subprocess.CompletedProcess[str]]) -> None:
        done = broken("--quark", "yes")
        assert (done.returncode, done.stdout) == (4, "")
        assert "no compiler here" in done.stderr
        assert "Traceback" not in done.stderr
