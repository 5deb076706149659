"""`solve export` as it is typed: its flags, its refusals, and a command that bash reads back."""

import ast
import os
import subprocess
from pathlib import Path

import pytest

from solver.catalog import Catalog
from solver.plan.files import read_plan, write_plan
from tests.cli.conftest import MODEL, PLAN, SOLVE, Run, environment, refused


class TestTargets:
    def test_quark_cli_is_the_default(self, confirmed_file: Path, run: Run) -> None:
        done = run("export")
        assert (done.code, done.err) == (0, "")
        assert done == run("export", PLAN, "--to", "quark-cli")
        assert done.out.startswith("quark-cli torch-llm-ptq \\\n    --model_dir Qwen/Qwen3-0.6B \\\n")

    def test_each_has_its_own_text(self, confirmed_file: Path, run: Run) -> None:
        assert run("export", "--to", "quantize-quark").out.startswith("python3 quantize_quark.py ")
        script = run("export", "--to", "quark-python").out
        assert ast.get_docstring(ast.parse(script))

    def test_an_unknown_one_is_answered_with_all(self, confirmed_file: Path, run: Run) -> None:
        refused(run("export", "--to", "quark"), 2, "--to", "'quark'", "quark-cli", "quantize-quark", "quark-python")

    def test_a_backend_serves_what_quark_wrote(self, confirmed_file: Path, run: Run) -> None:
        quantized = next(line for line in run("export").out.splitlines() if "--output_dir" in line)
        done = run("export", PLAN, "--to", "vllm")
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(f"vllm serve {quantized.split()[1]} \\\n    --tensor-parallel-size 1 \\\n")

    def test_a_backend_without_a_command_is_answered_with_those_that_have_one(
        self, confirmed_file: Path, run: Run
    ) -> None:
        refused(run("export", "--to", "llama.cpp"), 2, "--to llama_cpp", "sglang, vllm")

    def test_nothing_is_written(self, confirmed_file: Path, run: Run) -> None:
        before = {path: path.read_bytes() for path in confirmed_file.parent.iterdir()}
        for target in ("quark-cli", "quantize-quark", "quark-python"):
            assert run("export", "--to", target).code == 0
        assert {path: path.read_bytes() for path in confirmed_file.parent.iterdir()} == before


class TestOptions:
    def test_reach_the_command(self, confirmed_file: Path, run: Run) -> None:
        done = run(
            *("export", "--to", "quantize-quark", "--model-dir", "me/mine", "--output-dir", "out dir"),
            *("--min-kv-scale", "0.5", "--kv-cache-post-rope", "--attention-dtype", "fp8", "--multi-gpu"),
            *("--model-export", "hf_format", "--model-export", "gguf"),
        )
        assert done.code == 0
        assert "rule attention-is-served" in done.said
        lines = {line.strip().removesuffix(" \\") for line in done.out.splitlines()}
        assert lines >= {
            "--model_dir me/mine",
            f"--output_dir '{confirmed_file.parent / 'out dir'}'",
            "--min_kv_scale 0.5",
            "--kv_cache_post_rope",
            "--attention_dtype fp8",
            "--multi_gpu",
            "--model_export hf_format",
            "--model_export gguf",
        }

    @pytest.mark.parametrize(
        ("target", "flags", "able"),
        [
            ("quark-cli", ("--min-kv-scale", "0.1"), "quantize-quark"),
            ("quark-cli", ("--file2file",), "quantize-quark"),
            ("quark-cli", ("--kv-cache-post-rope",), "quantize-quark"),
            ("quark-python", ("--multi-gpu",), "quantize-quark"),
            ("quark-python", ("--model-export", "onnx"), "quantize-quark"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
    )
    def test_that_a_target_cannot_express_are_refused_naming_one_that_can(
        self, target: str, flags: tuple[str, ...], able: str, confirmed_file: Path, run: Run
    ) -> None:
        refused(run("export", "--to", target, *flags), 2, f"--to {target}", able)

    @pytest.mark.parametrize("flags", [("--min-kv-scale", "0.1"), ("--file2file",)])
    def test_that_are_refused_are_named_as_they_are_typed(
        self, flags: tuple[str, ...], confirmed_file: Path, run: Run
    ) -> None:
        refused(run("export", *flags), 2, flags[0])

    @pytest.mark.parametrize(
        ("flags", "words"),
        [
            (("--attention-dtype", "fp4"), ("--attention-dtype", "'fp4'", "fp8")),
            (("--model-export", "onxx"), ("--model-export", "onxx", "onnx")),
            (("--algo-config", "awq.json"), ("awq.json", "no such file")),
            (("--algorithm-config", "awq=awq.json"), ("awq.json", "no such file")),
            (("--algo-config", "=awq.json"), ("--algo-config", "ALGORITHM=FILE")),
            (("--file2file", "--model-export", "onnx"), ("--model-export", "hf_format only")),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
    )
    def test_that_cannot_be_read_are_refused(
        self, flags: tuple[str, ...], words: tuple[str, ...], confirmed_file: Path, run: Run
    ) -> None:
        refused(run("export", "--to", "quantize-quark", *flags), 4 if "no such file" in words else 2, *words)


class TestDefects:
    def test_that_a_hand_over_meets_are_told_beside_it(
        self, confirmed_file: Path, run: Run, catalog: Catalog, folder: Path
    ) -> None:
        plan = read_plan(confirmed_file)
        other = plan.model.model_copy(update={"model_type": "gpt_oss"})
        write_plan(folder / "oss.json", plan.model_copy(update={"model": other}))
        done = run("export", "oss.json", "--to", "quark-cli")
        assert (done.code, done.out[:9]) == (0, "quark-cli")
        assert "written as mxfp4_weight_only" in done.said
        assert "quark-python" in done.said
        assert "mxfp4_weight_only" not in run("export", PLAN, "--to", "quark-cli").said


class TestShell:
    def test_reads_back_what_the_command_prints_in_a_folder_of_any_name(self, confirmed_file: Path) -> None:
        home = confirmed_file.parent / "it's $(touch pwned) `id`;*\n[x]"
        home.mkdir()
        plan = read_plan(confirmed_file)
        done = subprocess.run(
            [
                "bash",
                "-c",
                'quark-cli() { printf \'%s\\0\' "$@"; }; command=$("$1" export "$2") && eval "$command"',
                "bash",
                str(SOLVE),
                str(confirmed_file),
            ],
            cwd=home,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        found = done.stdout.decode().split("\0")[:-1]
        assert found[:7] == [
            *("torch-llm-ptq", "--model_dir", MODEL),
            *("--output_dir", str(home / f"Qwen3-0.6B-{plan.global_scheme}")),
            *("--quant_scheme", plan.global_scheme),
        ]
        assert os.listdir(home) == []  # noqa: PTH208 - hidden files too
