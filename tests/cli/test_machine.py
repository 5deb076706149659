"""`./env_context.json` beside the command: it settles the hardware, and what contradicts it is told and recorded."""

import json
from pathlib import Path

import pytest

from solver import api
from solver.plan.files import read_plan, to_json
from solver.plan.request import PlanRequest
from tests.cli.conftest import MODEL, PLAN, SOLVE, Run, environment, refused
from tests.cli.terminal import Terminal

H100 = {"accelerator": "nvidia-cuda", "gpu_model": "NVIDIA H100 80GB HBM3", "gpu_arch": "sm_90", "memory_gb": 80}
MI300X = {"accelerator": "amd-rocm", "gpu_model": "AMD Instinct MI300X", "gpu_count": 4, "memory_gb": 192}


def describe(folder: Path, **hardware: object) -> None:
    """Write an `env_context.json`."""
    document = {"environment": {"os": "linux", "python": "3.13", "containerized": False}, "hardware": hardware}
    (folder / "env_context.json").write_text(json.dumps(document), encoding="utf-8")


def noted(err: str) -> list[str]:
    """Return the notes on stderr."""
    return [line.removeprefix("note: ") for line in err.splitlines() if line.startswith("note: ")]


class TestContradictions:
    def test_are_none_where_the_machine_is_that_of_the_plan(self, analysed: Path, run: Run) -> None:
        describe(analysed, **MI300X)
        done = run("--tp", "4")
        assert (done.code, noted(done.err)) == (0, [])
        assert [item for item in read_plan(analysed / PLAN).assumptions if "env_context" in item] == []

    @pytest.mark.parametrize(
        ("hardware", "flags", "planned", "words"),
        [
            (H100, ("--hardware", "mi300x"), "mi300x", ("MI300X (--hardware)", "H100")),
            (MI300X | {"accelerator": "nvidia-cuda"}, (), "mi300x", ("contradicts itself", "nvidia-cuda")),
            (MI300X | {"gpu_arch": "gfx950"}, (), "mi300x", ("contradicts itself", "gfx950")),
            (MI300X | {"memory_gb": 64}, (), "mi300x", ("contradicts itself", "memory_gb 64")),
            (MI300X, ("--tp", "8"), "mi300x", ("8 devices (--tp)", "counts 4")),
            (
                {"accelerator": "amd-rocm", "gpu_arch": "gfx942", "memory_gb": 256},
                (),
                "mi325x",
                ("MI325X (--hardware)", "gfx942"),
            ),
        ],
        ids=["hardware", "accelerator", "architecture", "memory", "devices", "inferred"],
    )
    def test_are_told_on_stderr_and_recorded(
        self,
        hardware: dict[str, object],
        flags: tuple[str, ...],
        planned: str,
        words: tuple[str, ...],
        analysed: Path,
        run: Run,
    ) -> None:
        describe(analysed, **hardware)
        done = run(*flags)
        (note,) = noted(done.err)
        assert [word for word in words if word not in note] == []
        plan = read_plan(analysed / PLAN)
        assert plan.service is not None
        assert plan.service.hardware == planned
        assert plan.assumptions[0] == note
        as_document = run(*flags, "--json")
        assert as_document.err == ""
        assert as_document.document["assumptions"][0] == note

    @pytest.mark.parametrize("content", ["{", "[]", '{"hardware": {}}', "[" * 100_000, '{"a": 1, "a": 2}'])
    def test_with_a_file_that_cannot_be_read_do_not_stop_a_run_with_hardware(
        self, content: str, analysed: Path, run: Run
    ) -> None:
        (analysed / "env_context.json").write_text(content, encoding="utf-8")
        done = run("--hardware", "mi300x")
        assert done.code == 0
        (note,) = noted(done.err)
        assert "not compared with env_context.json" in note
        assert read_plan(analysed / PLAN).assumptions[0] == note
        refused(run(), 2, "env_context.json", "--hardware")

    def test_are_part_of_the_request_so_that_it_gives_the_same_answer_again(self, analysed: Path, run: Run) -> None:
        describe(analysed, **H100)
        document = run("--hardware", "mi300x", "--json").document
        again = api.solve(
            PlanRequest.model_validate(document["request"]),
            api.analyze("model_analysis.json"),
            analysis_ref=document["model"]["analysis_ref"],
        )
        assert again == api.PlanSet.model_validate(document)
        assert to_json(again.model_dump(mode="json")) == to_json(document)

    def test_are_recorded_in_a_draft_without_an_inventory(self, folder: Path, run: Run) -> None:
        least = {
            "analysis_status": "partial",
            "model": {"model_path": "somewhere", "model_type": "llama"},
            "quantization_targets": {"linear_layer_count": 7, "exclude_defaults": ["lm_head"]},
            "risks": [],
        }
        (folder / "model_analysis.json").write_text(json.dumps(least), encoding="utf-8")
        describe(folder, **H100)
        (note,) = noted(run("--hardware", "mi300x").err)
        assert read_plan(folder / PLAN).assumptions[0] == note

    def test_that_a_change_makes_are_told_once(self, analysed: Path) -> None:
        describe(analysed, **MI300X)
        command = [str(SOLVE), "--budget", "3GB", "--goal", "size", "--choose", "1"]
        with Terminal(command, cwd=analysed, env=environment()) as terminal:
            before = terminal.until("[yes/no/change]")
            terminal.say("tp=8")
            changed = terminal.until("[yes/no/change]")
            terminal.say("context=4k")
            later = terminal.until("[yes/no/change]")
            terminal.say("yes")
            assert terminal.end() == 0
        assert [text.count("note: ") for text in (before, changed, later)] == [0, 1, 0]
        assert "8 devices (--tp)" in read_plan(analysed / PLAN).assumptions[0]


class TestFootprint:
    def test_is_that_of_the_machine_when_no_hardware_is_named(self, folder: Path, run: Run) -> None:
        describe(folder, **H100)
        document = run("footprint", MODEL, "--json").document
        assert document["service"]["hardware"] == "h100_sxm"
        assert [item for item in document["assumptions"] if "env_context" in item] == []

    def test_tells_and_records_contradictions(self, folder: Path, run: Run) -> None:
        describe(folder, **MI300X)
        flags = ("footprint", MODEL, "--hardware", "mi355x", "--tp", "4", "--pp", "2")
        hardware, devices = noted(run(*flags).err)
        assert "planned for AMD Instinct MI355X (--hardware)" in hardware
        assert "8 devices" in devices
        assert run(*flags, "--json").document["assumptions"][:2] == [hardware, devices]

    def test_needs_hardware_from_somewhere(self, folder: Path, run: Run) -> None:
        refused(run("footprint", MODEL), 4, "no hardware is named", "--hardware")
