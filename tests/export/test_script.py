"""The script on Quark's own API compiles, and holds what the plan holds."""

import ast
from pathlib import Path
from typing import Any

import pytest

from solver.export.options import ExportOptions
from solver.export.targets import export_plan
from solver.plan.document import QuantPlan
from tests.export.test_commands import NASTY

OUT = ExportOptions(output_dir="/quantized")


def script(plan: QuantPlan, options: ExportOptions = OUT) -> ast.Module:
    """Return the exported script, compiled as Python would."""
    text = export_plan(plan, "quark-python", options)
    compile(text, "quantize.py", "exec")
    return ast.parse(text)


def constants(tree: ast.Module) -> dict[str, Any]:
    """Return what the script assigns at its top."""
    return {
        target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def call(tree: ast.Module, name: str) -> dict[str, Any]:
    """Return the keywords of the one call of a function or method, as far as they are literals."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", None)) == name
    ]
    assert len(found) == 1, f"{name} is called {len(found)} times"
    return {
        str(keyword.arg): ast.literal_eval(keyword.value)
        for keyword in found[0].keywords
        if not isinstance(keyword.value, ast.Name | ast.Attribute)
    }


class TestConfiguration:
    def test_of_a_mixed_plan_is_all_of_it(self, mixed: QuantPlan) -> None:
        tree = script(mixed)
        assert call(tree, "get_config") == {
            "scheme": mixed.global_scheme,
            "algorithm": None,
            "kv_cache_scheme": "fp8",
            "min_kv_scale": 0.0,
            "attention_scheme": None,
            "layer_config": mixed.layer_quant_config,
            "exclude_layers": list(mixed.exclude_layers),
        }
        assert len(mixed.layer_quant_config) > 1
        assert constants(tree) == {
            "MODEL_DIR": "Qwen/Qwen3-8B",
            "OUTPUT_DIR": "/quantized",
            "TRUST_REMOTE_CODE": False,
        }

    def test_keeps_the_order_of_the_layer_patterns_and_their_letters(self, mixed: QuantPlan) -> None:
        patterns = {"*b.it's": "fp8", "*a.*": "ptpc_fp8", '*c."x"\\': "fp8"}
        config = call(script(mixed.model_copy(update={"layer_quant_config": patterns})), "get_config")
        assert list(config["layer_config"].items()) == list(patterns.items())

    def test_of_a_plain_plan_has_neither_layers_nor_cache(self, plain: QuantPlan) -> None:
        config = call(script(plain), "get_config")
        assert (config["layer_config"], config["kv_cache_scheme"], config["algorithm"]) == ({}, None, None)

    def test_without_excludes_is_an_empty_list(self, plain: QuantPlan) -> None:
        config = call(script(plain.model_copy(update={"exclude_layers": ()})), "get_config")
        assert config["exclude_layers"] == []

    def test_names_algorithms_as_a_list(self, with_algorithms: QuantPlan) -> None:
        assert call(script(with_algorithms), "get_config")["algorithm"] == ["smoothquant", "awq"]

    def test_takes_the_options_that_it_can_express(self, mixed: QuantPlan) -> None:
        options = ExportOptions(output_dir="/quantized", min_kv_scale=0.125, attention_dtype="fp8")
        config = call(script(mixed, options), "get_config")
        assert (config["min_kv_scale"], config["attention_scheme"]) == (0.125, "fp8")


class TestRun:
    def test_calibrates_as_planned(self, plain: QuantPlan) -> None:
        calibration = plain.calibration.model_copy(update={"dataset": "wikitext", "num_calib_data": 7, "seq_len": 99})
        tree = script(plain.model_copy(update={"calibration": calibration}))
        expected = {"dataset_name": "wikitext", "num_calib_data": 7, "seqlen": 99}
        assert expected.items() <= call(tree, "get_calib_dataloader").items()
        assert call(tree, "get_tokenizer")["max_seq_len"] == 99

    def test_trusts_code_only_where_the_plan_does(self, plain: QuantPlan) -> None:
        model = plain.model.model_copy(update={"trust_remote_code": True})
        assert constants(script(plain.model_copy(update={"model": model})))["TRUST_REMOTE_CODE"] is True
        assert constants(script(plain))["TRUST_REMOTE_CODE"] is False

    def test_does_nothing_when_it_is_imported(self, mixed: QuantPlan) -> None:
        names: dict[str, Any] = {"__name__": "quantize"}
        exec(compile(export_plan(mixed, "quark-python", OUT), "quantize.py", "exec"), names)
        assert {"build_config", "main"} <= names.keys()


class TestTemplate:
    def test_that_quark_lacks_is_registered(self, without_template: QuantPlan) -> None:
        tree = script(without_template)
        template = call(tree, "LLMTemplate")
        assert template["model_type"] == "stablelm"
        assert template["kv_layers_name"] == ["*k_proj", "*v_proj"]
        assert call(tree, "get_config")["exclude_layers"] == list(without_template.exclude_layers)

    def test_that_quark_has_is_not(self, plain: QuantPlan) -> None:
        assert "register_template" not in export_plan(plain, "quark-python", OUT)


class TestPaths:
    @pytest.mark.parametrize("name", [*NASTY, '"""', "'''", "{model}", "%s", "\\N{DIGIT ONE}", "\\x", "\\"], ids=ascii)
    def test_survive_being_written_as_python(self, name: str, plain: QuantPlan, tmp_path: Path) -> None:
        options = ExportOptions(model_dir=str(tmp_path / name), output_dir=str(tmp_path / "out" / name))
        found = constants(script(plain, options))
        assert found["MODEL_DIR"] == str(tmp_path / name)
        assert found["OUTPUT_DIR"] == str(tmp_path / "out" / name)

    def test_of_the_plan_itself_survive_too(self, plain: QuantPlan, tmp_path: Path) -> None:
        for name in ('"""+exit()+"""', "\\N{", "it's"):
            model = plain.model.model_copy(update={"model_path": str(tmp_path / name)})
            found = constants(script(plain.model_copy(update={"model": model}), ExportOptions()))
            assert found["MODEL_DIR"] == str(tmp_path / name)

    def test_are_absolute(self, plain: QuantPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "checkpoint").mkdir()
        monkeypatch.chdir(tmp_path)
        found = constants(script(plain, ExportOptions(model_dir="checkpoint", output_dir="out")))
        assert found["MODEL_DIR"] == str(tmp_path / "checkpoint")
        assert found["OUTPUT_DIR"] == str(tmp_path / "out")
