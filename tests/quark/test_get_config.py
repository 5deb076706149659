"""Quark's `get_config` takes every plan, and exported scripts make the same configuration."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from solver.catalog import Catalog
from solver.errors import BadInputError
from solver.export.algorithm_config import read_config_file
from solver.export.options import ExportOptions
from solver.export.targets import TARGETS, export_plan
from solver.plan.confirm import confirm, draft
from solver.plan.document import Alternative, Answer, QuantPlan
from tests.conftest import REQUIRED_MODELS, Solve
from tests.quark.conftest import SolveTiny
from tests.quark.real import config_of, config_of_patterns, config_of_script, spec_of_scheme
from tests.quark.tiny import UNTEMPLATED, tiny_config

pytestmark = pytest.mark.usefixtures("quark")

OUTPUT = ExportOptions(output_dir="quantized")


def confirmed(answer: Answer) -> list[QuantPlan]:
    """Return all alternatives of an answer as confirmed plans."""
    return [confirm(draft(answer, alternative.id)) for alternative in answer.alternatives]


def check_config(config: Any, plan: Alternative | QuantPlan, template: Any) -> None:
    """Check that a configuration holds all that a plan says; only Quark's own entries for the KV cache may be more."""
    layers = {pattern: (layer.weight, layer.input_tensors) for pattern, layer in config.layer_quant_config.items()}
    everywhere = config.global_quant_config
    algorithms = [template.algo_config[name] for name in plan.algorithm.split(",")] if plan.algorithm else []
    kv_patterns = template.kv_layers_name if plan.kv_cache_scheme else []
    assert (everywhere.weight, everywhere.input_tensors) == spec_of_scheme(plan.global_scheme)
    assert {pattern: layers.pop(pattern) for pattern in plan.layer_quant_config} == {
        pattern: spec_of_scheme(scheme) for pattern, scheme in plan.layer_quant_config.items()
    }
    assert set(layers) <= set(kv_patterns)
    assert list(config.kv_cache_quant_config) == kv_patterns
    assert tuple(config.exclude) == plan.exclude_layers
    assert (config.algo_config or []) == algorithms


class TestTemplates:
    @pytest.mark.parametrize("model", REQUIRED_MODELS)
    def test_take_every_alternative_as_it_is_meant(
        self, model: str, required_answers: dict[str, Answer], llm_template: Any
    ) -> None:
        answer = required_answers[model]
        model_type = answer.model.model_type
        for alternative in answer.alternatives:
            check_config(config_of(alternative, model_type), alternative, llm_template.get(model_type))

    @pytest.mark.slow
    def test_take_every_algorithm_that_they_have(self, solve: Solve, llm_template: Any) -> None:
        template = llm_template.get("llama")
        named = [name for name, config in template.algo_config.items() if config is not None]
        planned = set()
        for name in named:
            answer = solve(
                "meta-llama/Llama-3.1-70B", budget_bytes=60 * 10**9, algorithms=(name,), layers={"*o_proj": "fp8"}
            )
            for alternative in answer.alternatives:
                check_config(config_of(alternative, "llama"), alternative, template)
                planned.add(alternative.algorithm)
        assert {"awq", "gptq", "smoothquant"} <= planned

    def test_take_several_algorithms_in_the_order_of_the_plan(self, solve: Solve, llm_template: Any) -> None:
        answer = solve("meta-llama/Llama-3.1-70B", budget_bytes=48 * 10**9, algorithms=("smoothquant", "gptq"))
        assert "smoothquant,gptq" in {alternative.algorithm for alternative in answer.alternatives}
        for alternative in answer.alternatives:
            check_config(config_of(alternative, "llama"), alternative, llm_template.get("llama"))


class TestScripts:
    @pytest.mark.parametrize("model", REQUIRED_MODELS)
    def test_build_the_configuration_that_the_commands_build(
        self, model: str, required_answers: dict[str, Answer]
    ) -> None:
        for plan in confirmed(required_answers[model]):
            built = config_of_script(export_plan(plan, "quark-python", OUTPUT))
            asked = config_of(plan, plan.model.model_type)
            assert built == asked
            assert built.to_dict() == asked.to_dict()

    def test_differ_for_different_plans(self, required_answers: dict[str, Answer]) -> None:
        plans = confirmed(required_answers["Qwen/Qwen3-8B"])
        built = [config_of_script(export_plan(plan, "quark-python", OUTPUT)) for plan in plans]
        assert all(built[0] != other for other in built[1:])

    def test_pass_on_what_only_the_api_takes(self, required_answers: dict[str, Answer]) -> None:
        answer = required_answers["Qwen/Qwen3-8B"]
        plan = next(plan for plan in confirmed(answer) if plan.kv_cache_scheme)
        options = ExportOptions(output_dir="quantized", min_kv_scale=0.05, attention_dtype="fp8")
        built = config_of_script(export_plan(plan, "quark-python", options))
        assert built == config_of_patterns(
            plan, plan.model.model_type, kv_cache_scheme="fp8", min_kv_scale=0.05, attention_scheme="fp8"
        )
        assert built.min_kv_scale == 0.05
        assert built.softmax_quant_spec is not None

    def test_are_not_shaken_by_quotes_in_paths(self, required_answers: dict[str, Answer]) -> None:
        plan = confirmed(required_answers["Qwen/Qwen3-8B"])[0]
        options = ExportOptions(model_dir='/models/it\'s """here""" \\N', output_dir='/quantized/"""\\"')
        script = export_plan(plan, "quark-python", options)
        namespace: dict[str, Any] = {"__name__": "exported"}
        exec(compile(script, "exported.py", "exec"), namespace)
        assert namespace["MODEL_DIR"] == options.model_dir
        assert namespace["OUTPUT_DIR"] == options.output_dir
        assert namespace["build_config"]() == config_of(plan, "qwen3")


class TestModelTypesWithoutATemplate:
    @pytest.mark.parametrize("name", UNTEMPLATED)
    def test_are_none_of_quarks(self, name: str, llm_template: Any) -> None:
        with pytest.raises(ValueError, match="no model template"):
            llm_template.get(name)

    @pytest.mark.parametrize("name", UNTEMPLATED)
    def test_export_to_what_brings_one(self, name: str, solve_tiny: SolveTiny) -> None:
        (plan, *_) = confirmed(solve_tiny(name, share=0.3))
        for target in set(TARGETS) - {"quark-python", "quark-template"}:
            with pytest.raises(BadInputError, match="--to quark-python"):
                export_plan(plan, target, OUTPUT)
        assert "register_template" in export_plan(plan, "quark-python", OUTPUT)

    @pytest.mark.parametrize("name", UNTEMPLATED)
    def test_reach_quark_cli_in_a_template_file(
        self, name: str, solve_tiny: SolveTiny, llm_template: Any, tmp_path: Path, catalog: Catalog
    ) -> None:
        from quark.experimental.cli.register_template import parse_template_from_json_file

        (plan, *_) = confirmed(solve_tiny(name, share=0.3))
        path = tmp_path / "template.json"
        path.write_text(export_plan(plan, "quark-template", OUTPUT), encoding="utf-8")
        options = ExportOptions(output_dir="quantized", algorithm_config_files=(read_config_file(str(path), catalog),))
        assert f"--template_file {path}" in export_plan(plan, "quark-cli", options)
        llm_template.register_template(parse_template_from_json_file(str(path)))
        assert config_of(plan, name) == config_of_script(export_plan(plan, "quark-python", OUTPUT))

    @pytest.mark.parametrize(
        ("name", "kv"), [*((name, "none") for name in UNTEMPLATED), ("smollm3", "fp8"), ("olmo2", "fp8")]
    )
    def test_are_registered_by_the_script(self, name: str, kv: str, solve_tiny: SolveTiny, llm_template: Any) -> None:
        for plan in confirmed(solve_tiny(name, share=0.3, kv_cache_scheme=kv)):
            config = config_of_script(export_plan(plan, "quark-python", OUTPUT))
            check_config(config, plan, llm_template.get(name))
            assert config == config_of(plan, name)


class Tokenizer:
    """Stands in for a tokenizer, of which a script asks only that it can be saved."""

    def save_pretrained(self, folder: str) -> None:
        (Path(folder) / "tokenizer.json").write_text("{}", encoding="utf-8")


Calls = dict[str, dict[str, Any]]
RunScript = Callable[[QuantPlan, ExportOptions], Calls]


@pytest.fixture
def run_script(quark: Any, llm_template: Any, monkeypatch: pytest.MonkeyPatch) -> RunScript:
    """Return what runs an exported script on a small model, and the arguments of its calls to Quark's loaders.

    The loaders need the hub and accelerate, and are stood in for: every call must fit the real one's signature.
    """
    import torch
    import transformers

    loaders = quark.utils.llm

    def run(plan: QuantPlan, options: ExportOptions) -> Calls:
        config = tiny_config(plan.model.model_type)
        model = getattr(transformers, config.architectures[0])._from_config(config).eval()
        data = torch.utils.data.DataLoader(torch.randint(3, config.vocab_size, (2, 16)), batch_size=1)
        calls: Calls = {}

        def stand_in(name: str, result: Any, real: Callable[..., Any]) -> None:
            def call(*args: Any, **kwargs: Any) -> Any:
                bound = inspect.signature(real).bind(*args, **kwargs)
                bound.apply_defaults()
                calls[name] = bound.arguments
                return result

            monkeypatch.setattr(loaders, name, call)

        stand_in("get_model", (model, torch.bfloat16), loaders.get_model)
        stand_in("get_tokenizer", Tokenizer(), loaders.get_tokenizer)
        stand_in("get_calib_dataloader", data, loaders.data_preparation.get_calib_dataloader_to_tensor)
        namespace: dict[str, Any] = {"__name__": "exported"}
        exec(compile(export_plan(plan, "quark-python", options), "exported.py", "exec"), namespace)
        namespace["main"]()
        return calls

    return run


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
class TestScriptsThatRun:
    def plan(self, name: str, solve_tiny: SolveTiny) -> QuantPlan:
        calibration = {"num_calib_data": 2, "seq_len": 16}
        return confirm(draft(solve_tiny(name, share=0.1, algorithms=(), calibration=calibration)))

    @pytest.mark.parametrize("name", ["llama", "smollm3"])
    def test_write_a_quantized_checkpoint(
        self, name: str, solve_tiny: SolveTiny, run_script: RunScript, tmp_path: Path
    ) -> None:
        plan = self.plan(name, solve_tiny)
        calls = run_script(plan, ExportOptions(model_dir="/checkpoint", output_dir=str(tmp_path)))
        written = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["quantization_config"]
        assert written["quant_method"] == "quark"
        assert set(plan.layer_quant_config) <= set(written["layer_quant_config"])
        assert (tmp_path / "tokenizer.json").is_file()
        assert calls["get_model"]["ckpt_path"] == calls["get_tokenizer"]["ckpt_path"] == "/checkpoint"
        assert (calls["get_calib_dataloader"]["num_calib_data"], calls["get_calib_dataloader"]["seqlen"]) == (2, 16)

    def test_run_no_code_of_the_checkpoint_unasked(
        self, solve_tiny: SolveTiny, run_script: RunScript, tmp_path: Path
    ) -> None:
        plan = self.plan("llama", solve_tiny)
        calls = run_script(plan, ExportOptions(model_dir="/checkpoint", output_dir=str(tmp_path)))
        assert not calls["get_model"]["trust_remote_code"]
        assert not calls["get_tokenizer"]["trust_remote_code"]
