"""Settings of algorithms: read as Quark's tools read them, refused with the field, and handed to every target."""

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from solver import api
from solver.catalog import Catalog
from solver.errors import BadInputError, MissingError
from solver.export.algorithm_config import TEMPLATE_FIELDS, ConfigFile, read_config_file
from solver.export.configured import standard_note
from solver.export.options import ExportOptions
from solver.export.targets import export_plan
from solver.plan.confirm import choose, confirm, draft
from solver.plan.document import QuantPlan
from solver.report.decisions import next_line
from tests.conftest import Solve
from tests.export.conftest import Words, values

AWQ = {"name": "awq", "scaling_layers": [], "model_decoder_layers": "model.layers"}
SMOOTH = {"name": "smooth", "alpha": 0.5}
Written = Callable[..., ConfigFile]


@pytest.fixture
def written(tmp_path: Path, catalog: Catalog) -> Written:
    """Return a writer of files that are read back at once."""

    def write(content: Any, *, algorithm: str = "", name: str = "own.json") -> ConfigFile:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return read_config_file(f"{algorithm}={path}" if algorithm else str(path), catalog)

    return write


@pytest.fixture
def alone(with_algorithms: QuantPlan) -> QuantPlan:
    """Return a plan with awq for a model type that Quark configures it for."""
    return with_algorithms.model_copy(update={"algorithm": "awq"})


@pytest.fixture
def bare(plain: QuantPlan) -> QuantPlan:
    """Return a plan with awq for a model type that Quark does not configure it for."""
    return plain.model_copy(update={"algorithm": "awq"})


def given(*files: ConfigFile) -> ExportOptions:
    return ExportOptions(output_dir="/quantized", algorithm_config_files=files)


class TestReading:
    def test_knows_the_algorithm_by_the_name_in_the_file(self, written: Written) -> None:
        assert dict(written(AWQ).configs) == {"awq": AWQ}
        assert dict(written(SMOOTH).configs) == {"smoothquant": SMOOTH}
        assert dict(written(SMOOTH, algorithm="smoothquant").configs) == {"smoothquant": SMOOTH}

    def test_takes_a_file_with_an_equals_sign(self, written: Written, tmp_path: Path) -> None:
        assert written(AWQ, name="my=awq.json").path == str(tmp_path / "my=awq.json")

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ({**AWQ, "model_decoder_layer": "x"}, ("model_decoder_layer", "model_decoder_layers")),
            ({"name": "gptq", "block_size": "128"}, ("block_size", "integer")),
            ({"name": "gptq", "block_size": None}, ("block_size",)),
            ({"name": "qronos", "alpha": 1}, ("inside_layer_modules",)),
            ({"name": "quarot"}, ("quarot", "rotation")),
            ({"scaling_layers": []}, ("name",)),
            ([AWQ], ("object",)),
            ("{", ("JSON",)),
            ('{"name": "awq", "name": "gptq"}', ("name",)),
            ({"algorithm_configs": {"gptq": AWQ}}, ("gptq", "awq")),
            ({"algorithm_configs": {"awq": AWQ}, "kv_layers": []}, ("kv_layers", "kv_layers_name")),
            ({"algorithm_configs": [AWQ]}, ("algorithm_configs",)),
        ],
        ids=str,
    )
    def test_refuses_what_quark_would_not_read(self, content: Any, words: tuple[str, ...], written: Written) -> None:
        with pytest.raises(BadInputError) as caught:
            written(content)
        assert [word for word in words if word not in str(caught.value)] == []

    def test_refuses_another_algorithm_than_it_is_said_to_be(self, written: Written) -> None:
        with pytest.raises(BadInputError, match="awq"):
            written(AWQ, algorithm="gptq")

    def test_refuses_no_file(self, catalog: Catalog, tmp_path: Path) -> None:
        with pytest.raises(MissingError):
            read_config_file(str(tmp_path / "none.json"), catalog)


class TestTargets:
    def test_the_example_script_takes_one_file_for_each(
        self, with_algorithms: QuantPlan, written: Written, words: Words
    ) -> None:
        files = written(AWQ, name="a.json"), written(SMOOTH, name="s.json")
        found = words(export_plan(with_algorithms, "quantize-quark", given(*files)))
        expected = [["awq", files[0].path], ["smoothquant", files[1].path]]
        assert values(found, "--quant_algo_config_file") == expected

    def test_quark_cli_takes_a_template_file(
        self, bare: QuantPlan, written: Written, words: Words, catalog: Catalog
    ) -> None:
        text = export_plan(bare, "quark-template", given(written(AWQ)))
        template = written(text, name="template.json")
        assert dict(template.configs) == {"awq": AWQ}
        found = words(export_plan(bare, "quark-cli", given(template)))
        assert values(found, "--template_file") == [[template.path]]
        assert values(found, "--quant_algo") == [["awq"]]

    def test_the_template_file_has_the_patterns_that_the_plan_is_made_for(
        self, bare: QuantPlan, catalog: Catalog
    ) -> None:
        document = json.loads(export_plan(bare, "quark-template", given()))
        template = catalog.templates.get("qwen3")
        assert document["model_type"] == "qwen3"
        for field, ours in TEMPLATE_FIELDS.items():
            assert document[field] == list(getattr(template, ours))

    def test_the_script_writes_them_out(self, alone: QuantPlan, written: Written) -> None:
        tree = ast.parse(export_plan(alone, "quark-python", given(written(AWQ))))
        (call,) = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "attr", "") == "from_dict")
        assert isinstance(call.func, ast.Attribute)
        assert isinstance(call.func.value, ast.Name)
        assert call.func.value.id == "AWQConfig"
        assert {"name": "awq", **ast.literal_eval(call.args[0])} == AWQ

    @pytest.mark.parametrize("target", ["quark-cli", "quantize-quark"])
    def test_that_would_stop_without_settings_are_refused(self, target: str, bare: QuantPlan) -> None:
        with pytest.raises(BadInputError, match="algorithm-is-configured") as caught:
            export_plan(bare, target, given())
        assert "--algo-config" in str(caught.value)

    def test_to_quark_refuses_the_same(self, bare: QuantPlan) -> None:
        with pytest.raises(BadInputError, match="algorithm-is-configured"):
            api.Plan.of(bare).to_quark(given())

    @pytest.mark.parametrize(
        ("model", "algorithms", "target"),
        [
            ("Qwen/Qwen3-0.6B", ("awq",), "quark-python"),
            ("Qwen/Qwen3-0.6B", (), "quark-cli"),
            ("meta-llama/Llama-3.2-1B-Instruct", ("awq",), "quark-cli"),
        ],
    )
    def test_that_are_the_next_step_take_the_plan(
        self, model: str, algorithms: tuple[str, ...], target: str, solve: Solve
    ) -> None:
        answer = solve(model, scheme="uint4_wo_32", algorithms=algorithms, backend="none")
        plan = confirm(draft(answer))
        assert plan.algorithm == (",".join(algorithms) or None)
        step = f"solve export PLAN --to {target}"
        assert [step, choose(plan, plan.chosen).next_steps[0]] == [plan.next_steps[0], step]
        assert next_line(plan, Path("mine.json")).startswith(f"solve export mine.json --to {target}")
        assert export_plan(plan, target, given())

    def test_the_script_writes_llamas_where_quark_has_none_and_says_so(self, bare: QuantPlan, catalog: Catalog) -> None:
        text = export_plan(bare, "quark-python", given())
        assert "AWQConfig.from_dict(" in text
        assert "self_attn.q_proj" in text
        assert "awq" in (standard_note(bare, "quark-python", given(), catalog) or "")
        assert standard_note(bare, "quark-cli", given(), catalog) is None

    def test_the_script_leaves_to_quark_what_it_has(self, alone: QuantPlan, catalog: Catalog) -> None:
        assert "algo_configs" not in export_plan(alone, "quark-python", given())
        assert standard_note(alone, "quark-python", given(), catalog) is None

    def test_without_settings_to_write_out_the_script_is_refused(self, bare: QuantPlan) -> None:
        with pytest.raises(BadInputError, match="rotation"):
            export_plan(bare.model_copy(update={"algorithm": "rotation"}), "quark-python", given())


class TestRefusals:
    def test_of_an_algorithm_that_the_plan_has_not(self, plain: QuantPlan, written: Written) -> None:
        with pytest.raises(BadInputError, match="no algorithm"):
            export_plan(plain, "quark-python", given(written(AWQ)))

    def test_of_single_files_by_quark_cli(self, alone: QuantPlan, written: Written) -> None:
        with pytest.raises(BadInputError, match="template file") as caught:
            export_plan(alone, "quark-cli", given(written(AWQ)))
        assert "quark-template" in str(caught.value)

    def test_of_a_template_file_by_the_example_script(self, alone: QuantPlan, written: Written) -> None:
        template = written(export_plan(alone, "quark-template", given(written(AWQ))), name="template.json")
        with pytest.raises(BadInputError, match="one algorithm a file"):
            export_plan(alone, "quantize-quark", given(template))

    def test_of_a_template_file_that_lacks_an_algorithm(self, with_algorithms: QuantPlan, written: Written) -> None:
        one = with_algorithms.model_copy(update={"algorithm": "awq"})
        template = written(export_plan(one, "quark-template", given(written(AWQ))), name="template.json")
        with pytest.raises(BadInputError, match="smoothquant"):
            export_plan(with_algorithms, "quark-cli", given(template))

    @pytest.mark.parametrize(
        ("change", "word"), [({"model_type": "opt"}, "'opt'"), ({"kv_layers_name": ["*v_proj"]}, "kv_layers_name")]
    )
    def test_of_a_template_file_that_is_not_the_plans(
        self, change: dict[str, Any], word: str, alone: QuantPlan, written: Written
    ) -> None:
        document = json.loads(export_plan(alone, "quark-template", given(written(AWQ))))
        template = written(document | change, name="template.json")
        with pytest.raises(BadInputError, match=word):
            export_plan(alone, "quark-cli", given(template))


@pytest.mark.parametrize("name", [item.name for item in Catalog().algorithms])
def test_the_settings_of_every_profile_are_settings(name: str, catalog: Catalog, written: Written) -> None:
    config = catalog.algorithms.get(name).config
    assert config is not None
    if config.standard is not None:
        document = {"name": config.name, **json.loads(json.dumps(config.standard))}
        assert dict(written(document).configs) == {name: document}
