"""The printed command, read by a real shell and by quark-cli's own parser, says what the plan says."""

import argparse
import subprocess
import warnings
from pathlib import Path
from typing import Any

import pytest

from solver.export.options import ExportOptions
from solver.export.targets import export_plan
from solver.plan.confirm import confirm, draft
from solver.plan.document import Answer, QuantPlan
from solver.plan.request import CALIBRATION_DATASETS, Calibration
from tests.conftest import REQUIRED_MODELS, Solve

AWKWARD = 'it\'s $HOME, "quoted" `id` & *;\\ [a-z] #1'

pytestmark = pytest.mark.usefixtures("quark")


@pytest.fixture(scope="module")
def parser(quark: Any) -> argparse.ArgumentParser:
    """Return the parser of `quark-cli torch-llm-ptq`, as quark-cli sets it up."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from quark.experimental.cli.torch_llm_ptq import TorchLLM_PTQ_CLI

    commands = argparse.ArgumentParser("quark-cli")
    TorchLLM_PTQ_CLI.register_subcommand(commands.add_subparsers().add_parser("torch-llm-ptq"))
    return commands


def words(command: str) -> list[str]:
    """Return the arguments that a shell hands to quark-cli."""
    script = f"quark-cli() {{ printf '%s\\0' \"$@\"; }}\n{command}"
    done = subprocess.run(["bash", "-u", "-c", script], capture_output=True, text=True, check=True, cwd="/")
    assert done.stderr == ""
    return done.stdout.split("\0")[:-1]


def parsed(parser: argparse.ArgumentParser, plan: QuantPlan, options: ExportOptions) -> argparse.Namespace:
    """Return what quark-cli understands of the exported command."""
    return parser.parse_args(words(export_plan(plan, "quark-cli", options)))


def check(parser: argparse.ArgumentParser, plan: QuantPlan, options: ExportOptions) -> None:
    """Check every field that quark-cli reads against the plan."""
    found = vars(parsed(parser, plan, options))
    del found["device"]  # what quark-cli finds on the machine
    assert found == {
        "model_dir": options.model_dir or plan.model.model_path,
        "output_dir": options.output_dir,
        "quant_scheme": plan.global_scheme,
        "layer_quant_scheme": [list(pair) for pair in plan.layer_quant_config.items()] or None,
        "exclude_layers": list(plan.exclude_layers),
        "kv_cache_dtype": plan.kv_cache_scheme,
        "quant_algo": plan.algorithm.split(",") if plan.algorithm else None,
        "dataset": plan.calibration.dataset,
        "num_calib_data": plan.calibration.num_calib_data,
        "seq_len": plan.calibration.seq_len,
        "skip_evaluation": plan.evaluation_intent == "none",
        "evaluation_dataset": "wikitext",
        "no_trust_remote_code": not plan.model.trust_remote_code,
        # What no plan decides stays at quark-cli's defaults.
        "batch_size": 1,
        "multi_device": False,
        "template_file": None,
    }


class TestEveryAlternative:
    @pytest.mark.parametrize("model", REQUIRED_MODELS)
    def test_is_parsed_as_planned(
        self, model: str, required_answers: dict[str, Answer], parser: argparse.ArgumentParser
    ) -> None:
        answer = required_answers[model]
        for alternative in answer.alternatives:
            plan = confirm(draft(answer, alternative.id))
            check(parser, plan, ExportOptions(output_dir=f"/quantized/{alternative.id}"))

    def test_of_these_models_holds_layers_algorithms_and_caches(self, required_answers: dict[str, Answer]) -> None:
        plans = [plan for answer in required_answers.values() for plan in answer.alternatives]
        assert any(len(plan.layer_quant_config) > 1 for plan in plans)
        assert {plan.kv_cache_scheme for plan in plans} == {None, "fp8"}
        assert any(plan.algorithm for plan in plans)


class TestRequests:
    @pytest.mark.parametrize(
        "fields",
        [
            {"evaluation_intent": "none"},
            {"evaluation_intent": "full", "trust_remote_code": True},
            {"calibration": {"dataset": "wikitext", "num_calib_data": 17, "seq_len": 1024}},
            {"layers": {"lm_head": "ptpc_fp8"}},
            {"exclude": ("*layers.[0-1].*", "*layers.3?.mlp.*")},
            {"layers": {"*layers.0.*": "fp8", "*layers.1?.mlp.down_proj": "native"}, "kv_cache_scheme": "fp8"},
        ],
        ids=str,
    )
    def test_reach_quark_unchanged(self, fields: dict[str, Any], solve: Solve, parser: argparse.ArgumentParser) -> None:
        answer = solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9, **fields)
        for alternative in answer.alternatives:
            check(parser, confirm(draft(answer, alternative.id)), ExportOptions(output_dir="/quantized"))

    def test_for_no_excludes_at_all_say_so(self, solve: Solve, parser: argparse.ArgumentParser) -> None:
        # Without the flag Quark would take the template's excludes, and the head would stay as it is.
        answer = solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9, layers={"*": "ptpc_fp8"})
        plan = confirm(draft(answer))
        assert plan.exclude_layers == ()
        assert parsed(parser, plan, ExportOptions(output_dir="/quantized")).exclude_layers == []

    def test_may_name_every_calibration_set_of_the_parser(self, solve: Solve, parser: argparse.ArgumentParser) -> None:
        plan = confirm(draft(solve("Qwen/Qwen3-8B", budget_bytes=12 * 10**9)))
        for name in CALIBRATION_DATASETS:
            named = plan.model_copy(update={"calibration": Calibration(dataset=name)})
            check(parser, named, ExportOptions(output_dir="/quantized"))


class TestPaths:
    def test_survive_the_shell(
        self, tmp_path: Path, required_answers: dict[str, Answer], parser: argparse.ArgumentParser
    ) -> None:
        plan = confirm(draft(required_answers["Qwen/Qwen3-8B"]))
        options = ExportOptions(model_dir=str(tmp_path / AWKWARD), output_dir=str(tmp_path / f"{AWKWARD}\nout"))
        check(parser, plan, options)

    def test_are_absolute(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        required_answers: dict[str, Answer],
        parser: argparse.ArgumentParser,
    ) -> None:
        # quark-cli changes its working folder before it reads them.
        (tmp_path / "checkpoint").mkdir()
        monkeypatch.chdir(tmp_path)
        plan = confirm(draft(required_answers["Qwen/Qwen3-8B"]))
        found = parsed(parser, plan, ExportOptions(model_dir="checkpoint", output_dir="out/../quantized"))
        assert found.model_dir == str(tmp_path / "checkpoint")
        assert found.output_dir == str(tmp_path / "quantized")
        assert Path(parsed(parser, plan, ExportOptions()).output_dir).parent == tmp_path

    def test_leave_the_id_of_a_hub_model_alone(
        self, required_answers: dict[str, Answer], parser: argparse.ArgumentParser
    ) -> None:
        plan = confirm(draft(required_answers["Qwen/Qwen3-8B"]))
        assert parsed(parser, plan, ExportOptions(output_dir="/quantized")).model_dir == "Qwen/Qwen3-8B"


class TestCalibrationSets:
    @pytest.mark.parametrize("name", CALIBRATION_DATASETS)
    def test_that_a_plan_may_name_are_loaded_by_quark(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        from quark.torch.utils.llm import data_preparation

        class Reached(Exception):  # noqa: N818
            """Stands for the download, before which Quark has decided how to load the set."""

        def download(*_: object, **__: object) -> None:
            raise Reached

        monkeypatch.setattr(data_preparation, "load_dataset", download)
        with pytest.raises(Reached):
            data_preparation.get_calib_dataloader(
                dataset_name=name, tokenizer=None, batch_size=1, num_calib_data=4, seqlen=16, device="cpu"
            )
