"""Our documents keep the contracts that AMD Quark ships as JSON schemas; Quark itself is not imported for it."""

import json
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from solver import api
from solver.catalog import Catalog
from solver.catalog.section import read_yaml
from solver.export.options import ExportOptions
from solver.export.targets import export_plan
from solver.intake.analysis import ModelAnalysis
from solver.plan.confirm import choose, confirm, draft, reject
from solver.plan.document import Answer, QuantPlan
from solver.plan.request import PlanRequest
from tests.cli.conftest import MODEL, PLAN, Run, folder, run  # noqa: F401
from tests.conftest import REQUIRED_MODELS, Analyse
from tests.quark.tiny import TEMPLATED, UNTEMPLATED, tiny_config


def contracts(name: str) -> list[jsonschema.Draft202012Validator]:
    """Return the validators of one of Quark's contracts: its skills keep a copy each."""
    spec = find_spec("quark")
    assert spec is not None
    assert spec.origin is not None
    found = sorted((Path(spec.origin).parent / "_bundled_skills").rglob(f"contracts/{name}.schema.json"))
    assert "quark-torch-ptq" in {path.parents[2].name for path in found}
    schemas = [json.loads(path.read_text(encoding="utf-8")) for path in found]
    for schema in schemas:
        jsonschema.Draft202012Validator.check_schema(schema)
    return [jsonschema.Draft202012Validator(schema) for schema in schemas]


def violations(name: str, document: dict[str, Any]) -> list[str]:
    """Return where a document, as it lies on disk, breaks a contract."""
    on_disk = json.loads(json.dumps(document))
    return [f"{error.json_path}: {error.message}" for copy in contracts(name) for error in copy.iter_errors(on_disk)]


def dumped(plan: QuantPlan) -> dict[str, Any]:
    """Return a plan as JSON."""
    return plan.model_dump(mode="json")


class TestModelAnalysis:
    @pytest.mark.parametrize("model", REQUIRED_MODELS)
    def test_of_a_bundled_model_keeps_the_contract(self, model: str, analyse: Analyse) -> None:
        assert violations("model_analysis", analyse(model).document()) == []

    @pytest.mark.parametrize("name", [*TEMPLATED, *UNTEMPLATED])
    def test_of_a_configuration_file_keeps_the_contract(self, name: str, catalog: Catalog, tmp_path: Path) -> None:
        tiny_config(name).save_pretrained(tmp_path)
        assert violations("model_analysis", api.analyze(str(tmp_path), catalog=catalog).document()) == []

    def test_that_is_all_the_contract_asks_for_is_read(self) -> None:
        least = {
            "analysis_status": "partial",
            "model": {"model_path": "somewhere", "model_type": "llama"},
            "quantization_targets": {"linear_layer_count": 7, "exclude_defaults": ["lm_head"]},
            "risks": [{"severity": "low", "message": "none to speak of"}],
        }
        assert violations("model_analysis", least) == []
        assert violations("model_analysis", ModelAnalysis.model_validate(least).document()) == []

    def test_without_a_model_type_breaks_the_contract(self, analyse: Analyse) -> None:
        document = analyse("Qwen/Qwen3-8B").document()
        del document["model"]["model_type"]
        assert violations("model_analysis", document)


class TestQuantPlan:
    @pytest.mark.parametrize("model", REQUIRED_MODELS)
    def test_of_every_alternative_keeps_the_contract(self, model: str, required_answers: dict[str, Answer]) -> None:
        answer = required_answers[model]
        assert len(answer.alternatives) > 1
        for alternative in answer.alternatives:
            plan = draft(answer, alternative.id)
            assert violations("quant_plan", dumped(plan)) == []
            assert violations("quant_plan", dumped(confirm(plan))) == []
            assert violations("quant_plan", dumped(reject(plan))) == []

    @pytest.mark.parametrize("model", REQUIRED_MODELS)
    def test_says_whether_the_user_has_confirmed(self, model: str, required_answers: dict[str, Answer]) -> None:
        plan = draft(required_answers[model])
        other = choose(confirm(plan), required_answers[model].alternatives[-1].id)
        stages = (plan, confirm(plan), other, confirm(other))
        assert [dumped(stage)["requires_confirmation"] for stage in stages] == [True, False, True, False]

    def test_that_is_drafted_without_an_inventory_keeps_the_contract(self, catalog: Catalog, tmp_path: Path) -> None:
        analysis = ModelAnalysis.model_validate(
            {
                "analysis_status": "complete",
                "model": {"model_path": str(tmp_path / "absent"), "model_type": "llama"},
                "quantization_targets": {"linear_layer_count": 7, "exclude_defaults": ["lm_head"]},
                "risks": [],
            }
        )
        request = PlanRequest(model=analysis.model.model_path, hardware="mi300x")
        plan = draft(api.solve(request, analysis, catalog=catalog))
        assert plan.footprint is None
        assert violations("quant_plan", dumped(plan)) == []

    def test_without_its_global_scheme_breaks_the_contract(self, required_answers: dict[str, Answer]) -> None:
        document = dumped(draft(required_answers["Qwen/Qwen3-8B"]))
        del document["global_scheme"]
        assert violations("quant_plan", document)


class TestFiles:
    """What the commands write, read back from the disk."""

    def test_keep_the_contracts_at_every_stage(self, run: Run, folder: Path) -> None:  # noqa: F811
        def read(name: str) -> Any:
            return json.loads((folder / name).read_text(encoding="utf-8"))

        assert run("analyze", MODEL, "-o", "model_analysis.json").code == 0
        assert violations("model_analysis", read("model_analysis.json")) == []
        for step in (
            ("--hardware", "mi300x"),
            ("confirm", PLAN, "--choose", "2"),
            ("confirm", PLAN, "--reject"),
            ("--hardware", "mi300x", "--kv", "fp8", "--layer", "*down_proj=ptpc_fp8", "--yes"),
        ):
            assert run(*step).code in {0, 1}
            assert violations("quant_plan", read(PLAN)) == []
        assert read(PLAN)["model"]["analysis_ref"] == "./model_analysis.json"
        assert not read(PLAN)["requires_confirmation"]


class TestRunManifest:
    """The manifest that Quark's skill asks for, filled as its four steps say from what we hand over."""

    def manifest(self, plan: QuantPlan, command: str) -> dict[str, Any]:
        output = Path(shlex.split(command.replace(" \\\n", " "))[5])
        return {
            "workflow": "quark-torch-ptq",
            "inputs": {"model": plan.model.model_path, "analysis": plan.model.analysis_ref, "plan": PLAN},
            "outputs": {"output_dir": str(output)},
            "checkpoints": [{"id": "plan", "reason": "confirmed"}, {"id": "run", "reason": "the exact command"}],
            "blocked_by": list(plan.missing),
            "steps": [
                {"name": "intake", "kind": "analyze", "produces": ["model_analysis.json"]},
                {"name": "plan", "kind": "plan", "produces": [PLAN]},
                {"name": "manifest", "kind": "generate", "produces": ["run_manifest.yaml"]},
                {"name": "quantize", "kind": "run", "command": command, "produces": [str(output)]},
            ],
        }

    @pytest.mark.parametrize("model", REQUIRED_MODELS)
    def test_with_the_exported_command_keeps_the_contract(
        self, model: str, required_answers: dict[str, Answer], tmp_path: Path
    ) -> None:
        plan = confirm(draft(required_answers[model]))
        command = export_plan(plan, "quark-cli", ExportOptions(output_dir="/quantized"))
        path = tmp_path / "run_manifest.yaml"
        YAML(typ="safe", pure=True).dump(self.manifest(plan, command), path)
        read = read_yaml(path)
        assert violations("run_manifest", read) == []
        assert read["outputs"] == {"output_dir": "/quantized"}
        # The command comes back from YAML as it was: quotes, globs and lines.
        assert read["steps"][-1]["command"] == command

    def test_without_its_steps_breaks_the_contract(self, required_answers: dict[str, Answer]) -> None:
        plan = confirm(draft(required_answers["Qwen/Qwen3-8B"]))
        manifest = self.manifest(plan, export_plan(plan, "quark-cli", ExportOptions(output_dir="/quantized")))
        del manifest["steps"]
        assert violations("run_manifest", manifest)
