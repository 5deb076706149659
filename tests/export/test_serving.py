"""The serving command says what the bill says, in flags that the stack's own parser knows."""

import json
import math
import os
import re
import shlex
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from solver.catalog import Catalog
from solver.cli.export import export
from solver.errors import BadInputError, DeclinedError
from solver.export.options import ExportOptions
from solver.export.serving import serving_backends
from solver.export.targets import TARGETS, export_plan
from solver.plan.confirm import choose, confirm, draft, reject
from solver.plan.document import QuantPlan
from tests import data
from tests.conftest import Solve
from tests.export.conftest import values

OUT = ExportOptions(output_dir="/quantized")
MI300X = 206_141_652_992
PARSER = """
import json, sys
import vllm.platforms as platforms
from vllm.platforms.cpu import CpuPlatform
platforms._current_platform = CpuPlatform()
from vllm.entrypoints.common.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser
from vllm.version import __version__
parser = make_arg_parser(FlexibleArgumentParser())
flags = sorted(flag for action in parser._actions for flag in action.option_strings if flag.startswith("--"))
parsed = vars(parser.parse_args(sys.argv[1:]))
print(json.dumps({"version": __version__, "flags": flags, "parsed": {k: str(v) for k, v in parsed.items()}}))
"""


def plan_of(solve: Solve, model: str = "Qwen/Qwen3-8B", number: int | None = None, **fields: Any) -> QuantPlan:
    return confirm(draft(solve(model, **fields), number))


def command(plan: QuantPlan, target: str = "vllm", options: ExportOptions = OUT) -> list[str]:
    return shlex.split(export_plan(plan, target, options).replace("\\\n", " "))


def taken(plan: QuantPlan, flag: str = "--gpu-memory-utilization", target: str = "vllm") -> Fraction:
    ((share,),) = values(command(plan, target), flag)
    assert plan.service is not None
    assert plan.service.memory_bytes is not None
    return Fraction(share) * plan.service.memory_bytes


@pytest.fixture(scope="module")
def tight(solve: Solve) -> QuantPlan:
    fields = {"budget_bytes": 14 * 10**9, "concurrency": 4, "max_num_seqs": 8, "max_num_batched_tokens": 1024}
    return plan_of(solve, context=4096, kv_cache_scheme="fp8", **fields)


class TestValues:
    def test_of_vllm_are_the_bill_s(self, tight: QuantPlan) -> None:
        words = command(tight)
        assert words[:3] == ["vllm", "serve", "/quantized"]
        expected = {
            "--tensor-parallel-size": "1",
            "--max-model-len": "4096",
            "--max-num-seqs": "8",
            "--max-num-batched-tokens": "1024",
            "--kv-cache-dtype": "fp8",
        }
        assert {flag: values(words, flag) for flag in expected} == {flag: [[said]] for flag, said in expected.items()}
        assert "--trust-remote-code" not in words

    def test_of_vllm_leave_the_block_to_its_kernels(self, solve: Solve) -> None:
        # vLLM 0.33 has no sparse MLA kernel for blocks of 16 tokens on NVIDIA, and then does not start.
        assert not any("block" in word for word in command(plan_of(solve, hardware="b200", budget_bytes=14 * 10**9)))

    def test_of_sglang_are_the_bill_s(self, solve: Solve) -> None:
        plan = plan_of(solve, backend="sglang", concurrency=4, tensor_parallel=2, budget_bytes=14 * 10**9)
        words = command(plan, "sglang")
        assert words[:3] == ["python3", "-m", "sglang.launch_server"]
        assert plan.service is not None
        kv_dtype = "auto" if plan.kv_cache_scheme is None else "fp8_e4m3"
        expected = {
            "--model-path": "/quantized",
            "--tensor-parallel-size": "2",
            "--context-length": "8192",
            "--max-running-requests": "4",
            "--chunked-prefill-size": "2048",
            "--kv-cache-dtype": kv_dtype,
            "--page-size": "16",
        }
        assert {flag: values(words, flag) for flag in expected} == {flag: [[said]] for flag, said in expected.items()}

    def test_of_the_folder_are_where_quark_writes_it(self, tight: QuantPlan) -> None:
        ((written,),) = values(command(tight, "quark-cli", ExportOptions()), "--output_dir")
        assert command(tight, "vllm", ExportOptions())[2] == written

    def test_of_experts_that_are_shared_out_whole_say_so(self, solve: Solve) -> None:
        fields = {"budget_bytes": 20 * 10**9, "tensor_parallel": 8, "expert_parallel": True}
        assert "--enable-expert-parallel" in command(plan_of(solve, "Qwen/Qwen3-30B-A3B", **fields))
        sglang = plan_of(solve, "Qwen/Qwen3-30B-A3B", backend="sglang", **fields)
        assert values(command(sglang, "sglang"), "--expert-parallel-size") == [["8"]]
        cut = plan_of(solve, "Qwen/Qwen3-30B-A3B", **fields | {"expert_parallel": False})
        assert not any("expert" in word for word in command(cut))

    def test_of_experts_are_refused_where_there_are_none(self, solve: Solve) -> None:
        # vLLM refuses so too: config/model.py, _verify_with_expert_parallelism.
        with pytest.raises(BadInputError, match="no experts") as caught:
            solve("Qwen/Qwen3-8B", tensor_parallel=8, expert_parallel=True)
        assert caught.value.where == "--expert-parallel"

    def test_trust_is_passed_on(self, tight: QuantPlan) -> None:
        trusted = tight.model_copy(update={"model": tight.model.model_copy(update={"trust_remote_code": True})})
        assert "--trust-remote-code" in command(trusted)

    def test_change_with_the_choice(self, solve: Solve) -> None:
        plan = plan_of(solve, budget_bytes=12 * 10**9)
        kinds = {
            item.kv_cache_scheme: values(command(confirm(choose(plan, item.id))), "--kv-cache-dtype")
            for item in plan.alternatives
        }
        assert kinds == {None: [["auto"]], "fp8": [["fp8"]]}


class TestShare:
    @pytest.mark.parametrize("budget", [8 * 10**9, 12 * 10**9, 40 * 10**9])
    def test_of_vllm_keeps_the_budget_and_holds_every_alternative(self, budget: int, solve: Solve) -> None:
        plan = plan_of(solve, budget_bytes=budget)
        for item in plan.alternatives:
            assert item.footprint is not None
            share = taken(confirm(choose(plan, item.id)))
            assert item.footprint.total_bytes <= math.ceil(share)
            assert share <= budget

    def test_of_sglang_bounds_weights_and_cache_alone(self, solve: Solve) -> None:
        plan = plan_of(solve, backend="sglang", budget_bytes=14 * 10**9)
        bill = plan.footprint
        assert bill is not None
        share = taken(plan, "--mem-fraction-static", "sglang")
        assert bill.weights_bytes + bill.kv_cache_bytes <= math.ceil(share)
        assert share + bill.activation_bytes + bill.runtime_bytes <= 14 * 10**9

    @pytest.mark.parametrize("backend", ["vllm", "sglang"])
    def test_without_a_budget_is_the_stack_s_own(self, backend: str, solve: Solve) -> None:
        plan = plan_of(solve, backend=backend)
        flag = {"vllm": "--gpu-memory-utilization", "sglang": "--mem-fraction-static"}[backend]
        assert plan.service is not None
        assert values(command(plan, backend), flag) == [[str(plan.service.default_memory_fraction)]]

    def test_for_a_budget_of_weights_is_the_stack_s_own(self, solve: Solve) -> None:
        plan = plan_of(solve, budget_bytes=9 * 10**9, budget_scope="weights")
        assert values(command(plan), "--gpu-memory-utilization") == [["0.92"]]

    def test_is_refused_where_the_budget_does_not_hold_the_bill(self, tight: QuantPlan) -> None:
        assert tight.service is not None
        short = tight.model_copy(update={"service": tight.service.model_copy(update={"budget_bytes": 10**9})})
        with pytest.raises(BadInputError, match=r"takes 1\d\.\d\d GB of a device, and 1\.00 GB") as caught:
            export_plan(short, "vllm", OUT)
        assert caught.value.where == "--to vllm"

    def test_is_refused_where_weights_fit_and_the_rest_does_not(self, solve: Solve) -> None:
        fields = {"budget_bytes": 9 * 10**9, "budget_scope": "weights", "context": 40_960, "concurrency": 64}
        with pytest.raises(BadInputError, match="are for it"):
            export_plan(plan_of(solve, hardware="l4", **fields), "vllm", OUT)

    def test_is_refused_on_a_device_of_unknown_memory(self, solve: Solve) -> None:
        plan = plan_of(solve, hardware="h100_nvl", budget_bytes=12 * 10**9)
        with pytest.raises(BadInputError, match="not known"):
            export_plan(plan, "vllm", OUT)


class TestEnvironment:
    def test_of_the_chosen_kernels_precedes_the_program(self, solve: Solve) -> None:
        fields = {"hardware": "mi355x", "budget_bytes": 24 * 10**9, "layers": {"*mlp.experts*": "mxfp4"}}
        plan = plan_of(solve, "Qwen/Qwen3-30B-A3B", **fields)
        assert plan.environment == {"VLLM_ROCM_USE_AITER": "1"}
        assert export_plan(plan, "vllm", OUT).startswith("VLLM_ROCM_USE_AITER=1 vllm serve /quantized \\\n")
        assert any("VLLM_ROCM_USE_AITER=1" in risk.message for risk in plan.risks)

    def test_reaches_the_program_as_a_shell_starts_it(self, solve: Solve, tmp_path: Path) -> None:
        fields = {"hardware": "mi355x", "budget_bytes": 24 * 10**9, "layers": {"*mlp.experts*": "mxfp4"}}
        program = tmp_path / "vllm"
        program.write_text('#!/bin/sh\nprintf "%s %s" "$VLLM_ROCM_USE_AITER" "$1"\n', encoding="utf-8")
        program.chmod(0o755)
        text = export_plan(plan_of(solve, "Qwen/Qwen3-30B-A3B", **fields), "vllm", OUT)
        path = f"{tmp_path}:{os.environ['PATH']}"
        done = subprocess.run(["sh", "-c", text], env={"PATH": path}, capture_output=True, text=True, check=True)
        assert done.stdout == "1 serve"

    def test_is_empty_where_no_kernel_asks(self, tight: QuantPlan) -> None:
        assert tight.environment == {}

    def test_has_one_value_for_each_variable(self, catalog: Catalog) -> None:
        for backend in catalog.backends:
            pairs = {pair for row in backend.support for pair in row.environment.items()}
            assert len({variable for variable, _ in pairs}) == len(pairs), backend.name

    def test_is_named_nowhere_in_free_text(self, catalog: Catalog) -> None:
        for backend in catalog.backends:
            for row in backend.support:
                assert not re.search(r"\b[A-Z]+_[A-Z0-9_]+=", row.condition or ""), backend.name


class TestHelp:
    def test_names_every_target(self, catalog: Catalog) -> None:
        (option,) = get_type_hints(export, include_extras=True)["to"].__metadata__
        targets = {*TARGETS, *serving_backends(catalog.backends)}
        assert [target for target in targets if target not in option.help] == []


class TestRefusals:
    def test_of_a_stack_without_a_command_name_those_that_have_one(self, tight: QuantPlan) -> None:
        for target in ("none", "llama.cpp", "transformers"):
            with pytest.raises(BadInputError, match="no serving command") as caught:
                export_plan(tight, target, OUT)
            assert "sglang, vllm" in str(caught.value)

    def test_of_another_stack_than_the_plan_s(self, tight: QuantPlan, solve: Solve) -> None:
        with pytest.raises(BadInputError, match="made for the backend vllm") as caught:
            export_plan(tight, "sglang", OUT)
        assert "--to vllm" in str(caught.value)
        checkpoint = plan_of(solve, backend="none", budget_bytes=12 * 10**9)
        with pytest.raises(BadInputError, match="made for the backend none"):
            export_plan(checkpoint, "vllm", OUT)

    def test_of_options_that_only_quantizing_has(self, tight: QuantPlan) -> None:
        with pytest.raises(BadInputError, match="cannot express --multi-gpu"):
            export_plan(tight, "vllm", ExportOptions(multi_gpu=True))

    def test_of_what_is_not_confirmed(self, tight: QuantPlan) -> None:
        waiting = tight.model_copy(update={"requires_confirmation": True})
        with pytest.raises(DeclinedError, match="not confirmed"):
            export_plan(waiting, "vllm", OUT)
        assert export_plan(waiting, "vllm", OUT, draft=True) == export_plan(tight, "vllm", OUT)
        with pytest.raises(DeclinedError, match="was rejected"):
            export_plan(reject(tight), "vllm", OUT)


class TestMultimodal:
    def test_models_are_told_that_their_encoder_is_not_counted(self, solve: Solve) -> None:
        item = solve("google/gemma-3-27b-it", budget_bytes=24 * 10**9).alternatives[0]
        (note,) = [risk for risk in item.risks if "vision tower" in risk.message]
        assert "--language-model-only" in note.recovery_hint

    def test_text_models_are_not(self, tight: QuantPlan) -> None:
        assert not any("vision tower" in risk.message for risk in tight.risks)


class TestOwnParser:
    KNOWN = json.loads(Path(data.__file__).with_name("serving_flags.json").read_text(encoding="utf-8"))

    @pytest.mark.parametrize("backend", ["vllm", "sglang"])
    def test_knows_every_flag_that_is_written(self, backend: str, catalog: Catalog) -> None:
        profile = catalog.backends.get(backend)
        assert profile.serve is not None
        assert self.KNOWN[backend]["version"] == profile.version
        written = {*profile.serve.flags.values(), profile.serve.model_flag, profile.serve.text_only} - {None}
        assert written <= set(self.KNOWN[backend]["flags"])

    @pytest.mark.slow
    @pytest.mark.skipif("SOLVER_VLLM_PYTHON" not in os.environ, reason="SOLVER_VLLM_PYTHON names no Python with vLLM")
    def test_reads_the_command_back(self, tight: QuantPlan) -> None:
        arguments = command(tight)[2:]
        done = subprocess.run(
            [os.environ["SOLVER_VLLM_PYTHON"], "-c", PARSER, *arguments], capture_output=True, text=True, check=True
        )
        answer = json.loads(done.stdout.splitlines()[-1])
        assert set(self.KNOWN["vllm"]["flags"]) == set(answer["flags"])
        parsed = answer["parsed"]
        assert (parsed["model_tag"], parsed["max_model_len"]) == ("/quantized", "4096")
        assert (parsed["max_num_seqs"], parsed["max_num_batched_tokens"]) == ("8", "1024")
        assert float(parsed["gpu_memory_utilization"]) * MI300X <= 14 * 10**9
