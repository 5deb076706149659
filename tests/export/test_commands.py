"""The commands of quark-cli and of Quark's example script say what the plan says, flag by flag."""

from pathlib import Path
from typing import Any

import pytest

from solver.catalog import Catalog
from solver.errors import BadInputError, DeclinedError
from solver.export.algorithm_config import read_config_file
from solver.export.options import ExportOptions
from solver.export.targets import TARGETS, export_plan, unexpressed
from solver.plan.confirm import reject
from solver.plan.document import QuantPlan
from tests.export.conftest import Words, values

COMMANDS = ("quark-cli", "quantize-quark")
OUT = ExportOptions(output_dir="/quantized")


def of_request(plan: QuantPlan, **fields: Any) -> QuantPlan:
    """Return a plan for a request that differs in what passes through to the command."""
    return plan.model_copy(update=fields)


class TestGate:
    @pytest.mark.parametrize("target", TARGETS)
    def test_a_draft_does_not_leave(self, target: str, plain: QuantPlan) -> None:
        waiting = plain.model_copy(update={"requires_confirmation": True})
        with pytest.raises(DeclinedError, match="not confirmed") as caught:
            export_plan(waiting, target, OUT)
        assert caught.value.exit_code == 1
        assert export_plan(waiting, target, OUT, draft=True) == export_plan(plain, target, OUT)

    @pytest.mark.parametrize("target", TARGETS)
    def test_a_rejected_plan_does_not_leave(self, target: str, plain: QuantPlan) -> None:
        with pytest.raises(DeclinedError, match="was rejected"):
            export_plan(reject(plain), target, OUT)

    def test_an_unknown_target_is_answered_with_all(self, plain: QuantPlan) -> None:
        with pytest.raises(BadInputError) as caught:
            export_plan(plain, "quark", OUT)
        assert [target for target in TARGETS if target not in str(caught.value)] == []


class TestFlags:
    @pytest.mark.parametrize("target", COMMANDS)
    def test_of_a_mixed_plan_are_all_of_it(self, target: str, mixed: QuantPlan, words: Words) -> None:
        found = words(export_plan(mixed, target, OUT))
        assert values(found, "--model_dir") == [["Qwen/Qwen3-8B"]]
        assert values(found, "--output_dir") == [["/quantized"]]
        assert values(found, "--quant_scheme") == [[mixed.global_scheme]]
        assert values(found, "--layer_quant_scheme") == [list(pair) for pair in mixed.layer_quant_config.items()]
        assert values(found, "--exclude_layers") == [list(mixed.exclude_layers)]
        assert values(found, "--kv_cache_dtype") == [["fp8"]]
        assert values(found, "--dataset") == [["pileval"]]
        assert values(found, "--num_calib_data") == [["128"]]
        assert values(found, "--seq_len") == [["512"]]

    @pytest.mark.parametrize("target", COMMANDS)
    def test_of_a_plain_plan_leave_out_what_it_has_not(self, target: str, plain: QuantPlan, words: Words) -> None:
        found = words(export_plan(plain, target, OUT))
        for flag in ("--layer_quant_scheme", "--kv_cache_dtype", "--quant_algo"):
            assert flag not in found

    @pytest.mark.parametrize("target", COMMANDS)
    def test_of_calibration_are_those_of_the_plan(self, target: str, plain: QuantPlan, words: Words) -> None:
        calibration = plain.calibration.model_copy(update={"dataset": "wikitext", "num_calib_data": 7, "seq_len": 99})
        found = words(export_plan(of_request(plain, calibration=calibration), target, OUT))
        assert values(found, "--dataset") == [["wikitext"]]
        assert values(found, "--num_calib_data") == [["7"]]
        assert values(found, "--seq_len") == [["99"]]

    @pytest.mark.parametrize("target", COMMANDS)
    def test_of_algorithms_name_them_in_order(self, target: str, with_algorithms: QuantPlan, words: Words) -> None:
        assert values(words(export_plan(with_algorithms, target, OUT)), "--quant_algo") == [["smoothquant,awq"]]

    def test_are_one_a_line_for_people_to_read(self, mixed: QuantPlan) -> None:
        first, *others = export_plan(mixed, "quark-cli", OUT).splitlines()
        assert first == "quark-cli torch-llm-ptq \\"
        assert all(line.startswith("    --") for line in others)
        assert all(line.endswith(" \\") for line in others[:-1])
        assert not others[-1].endswith("\\")

    def test_begin_with_the_program(self, plain: QuantPlan) -> None:
        assert export_plan(plain, "quark-cli", OUT).startswith("quark-cli torch-llm-ptq ")
        assert export_plan(plain, "quantize-quark", OUT).startswith("python3 quantize_quark.py ")


class TestExcludes:
    @pytest.mark.parametrize("intent", ["none", "smoke", "full"])
    @pytest.mark.parametrize("trust", [True, False])
    @pytest.mark.parametrize("target", COMMANDS)
    def test_are_in_full_and_never_last(
        self, target: str, trust: bool, intent: str, plain: QuantPlan, mixed: QuantPlan, words: Words
    ) -> None:
        for plan in (plain, mixed):
            model = plan.model.model_copy(update={"trust_remote_code": trust})
            found = words(export_plan(of_request(plan, model=model, evaluation_intent=intent), target, OUT))
            assert values(found, "--exclude_layers") == [list(plan.exclude_layers)]
            assert "lm_head" in plan.exclude_layers
            flags = [argument for argument in found if argument.startswith("--")]
            assert flags[-1] != "--exclude_layers"

    @pytest.mark.parametrize("target", COMMANDS)
    def test_that_are_none_are_still_said(self, target: str, plain: QuantPlan, words: Words) -> None:
        # Without the flag Quark would take the template's own.
        found = words(export_plan(of_request(plain, exclude_layers=()), target, OUT))
        assert values(found, "--exclude_layers") == [[]]


class TestEvaluation:
    @pytest.mark.parametrize(
        ("target", "intent", "expected"),
        [
            ("quark-cli", "none", ["--skip_evaluation"]),
            ("quark-cli", "smoke", ["--evaluation_dataset", "wikitext"]),
            ("quark-cli", "full", ["--evaluation_dataset", "wikitext"]),
            ("quantize-quark", "none", ["--skip_evaluation"]),
            ("quantize-quark", "smoke", ["--evaluation_dataset", "wikitext"]),
            ("quantize-quark", "full", ["--tasks", "mmlu,gsm8k"]),
        ],
    )
    def test_is_what_was_intended(
        self, target: str, intent: str, expected: list[str], plain: QuantPlan, words: Words
    ) -> None:
        found = words(export_plan(of_request(plain, evaluation_intent=intent), target, OUT))
        start = found.index(expected[0])
        assert found[start : start + len(expected)] == expected
        others = {"--skip_evaluation", "--evaluation_dataset", "--tasks"} - {expected[0]}
        assert others & set(found) == set()


class TestTrust:
    @pytest.mark.parametrize(
        ("target", "trust", "expected"),
        [
            ("quark-cli", False, {"--no_trust_remote_code"}),
            ("quark-cli", True, set()),
            ("quantize-quark", False, {"--no_trust_remote_code"}),
            ("quantize-quark", True, {"--trust_remote_code"}),
        ],
    )
    def test_is_given_only_where_the_plan_has_it(
        self, target: str, trust: bool, expected: set[str], plain: QuantPlan, words: Words
    ) -> None:
        model = plain.model.model_copy(update={"trust_remote_code": trust})
        found = words(export_plan(of_request(plain, model=model), target, OUT))
        assert {argument for argument in found if "trust" in argument} == expected


class TestOptionsOfSome:
    @pytest.mark.parametrize(
        ("option", "able"),
        [
            ({"min_kv_scale": 0.1}, {"quantize-quark", "quark-python"}),
            ({"min_kv_scale": 0.0}, {"quantize-quark", "quark-python"}),
            ({"kv_cache_post_rope": True}, {"quantize-quark"}),
            ({"attention_dtype": "fp8"}, {"quantize-quark", "quark-python"}),
            ({"multi_gpu": True}, {"quantize-quark"}),
            ({"file2file_quantization": True}, {"quantize-quark"}),
            ({"model_export": ("onnx",)}, {"quantize-quark"}),
        ],
        # Sorted: workers that run tests side by side have to agree on names.
        ids=lambda value: str(sorted(value)),
    )
    def test_are_refused_by_the_others_naming_those_that_can(
        self, option: dict[str, Any], able: set[str], plain: QuantPlan
    ) -> None:
        options = ExportOptions(output_dir="/quantized", **option)
        for target in TARGETS:
            if target in able:
                assert export_plan(plain, target, options) != ""
                continue
            with pytest.raises(BadInputError) as caught:
                export_plan(plain, target, options)
            named = {other for other in TARGETS if other in str(caught.value.mend)}
            assert named == able
            assert caught.value.where == f"--to {target}"

    def test_become_flags_of_the_example_script(self, mixed: QuantPlan, words: Words) -> None:
        options = ExportOptions(
            output_dir="/quantized",
            min_kv_scale=0.25,
            kv_cache_post_rope=True,
            attention_dtype="fp8",
            multi_gpu=True,
            model_export=("hf_format", "gguf"),
        )
        found = words(export_plan(mixed, "quantize-quark", options))
        assert values(found, "--min_kv_scale") == [["0.25"]]
        assert values(found, "--kv_cache_post_rope") == [[]]
        assert values(found, "--attention_dtype") == [["fp8"]]
        assert values(found, "--multi_gpu") == [[]]
        assert values(found, "--model_export") == [["hf_format"], ["gguf"]]

    def test_are_left_out_where_nobody_asked(self, mixed: QuantPlan, words: Words) -> None:
        found = words(export_plan(mixed, "quantize-quark", OUT))
        assert values(found, "--model_export") == [["hf_format"]]
        for flag in ("--min_kv_scale", "--kv_cache_post_rope", "--attention_dtype", "--multi_gpu"):
            assert flag not in found

    def test_of_which_one_file_at_a_time_writes_only_the_hub_format(self, mixed: QuantPlan, words: Words) -> None:
        by_file = ExportOptions(output_dir="/quantized", file2file_quantization=True)
        assert values(words(export_plan(mixed, "quantize-quark", by_file)), "--file2file_quantization") == [[]]
        for formats in (("onnx",), ("hf_format", "gguf")):
            options = ExportOptions(output_dir="/q", file2file_quantization=True, model_export=formats)
            with pytest.raises(BadInputError, match="hf_format only"):
                export_plan(mixed, "quantize-quark", options)


class TestTemplates:
    @pytest.mark.parametrize("target", COMMANDS)
    def test_that_quark_lacks_are_refused_naming_the_script(self, target: str, without_template: QuantPlan) -> None:
        with pytest.raises(BadInputError, match="'stablelm'") as caught:
            export_plan(without_template, target, OUT)
        assert "quark-python" in str(caught.value)
        assert [other for other in COMMANDS if other in str(caught.value.mend)] == []


class TestPaths:
    @pytest.mark.parametrize("target", COMMANDS)
    def test_are_absolute(
        self, target: str, plain: QuantPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: Words
    ) -> None:
        (tmp_path / "checkpoint").mkdir()
        monkeypatch.chdir(tmp_path)
        for named in (
            "checkpoint",
            "./checkpoint",
            "../" + tmp_path.name + "/checkpoint",
            str(tmp_path / "checkpoint"),
        ):
            found = words(export_plan(plain, target, ExportOptions(model_dir=named, output_dir="a/../quantized")))
            assert values(found, "--model_dir") == [[str(tmp_path / "checkpoint")]]
            assert values(found, "--output_dir") == [[str(tmp_path / "quantized")]]

    @pytest.mark.parametrize("target", COMMANDS)
    def test_of_a_hub_model_are_its_id_and_a_folder_here(
        self, target: str, plain: QuantPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: Words
    ) -> None:
        monkeypatch.chdir(tmp_path)
        found = words(export_plan(plain, target, ExportOptions()))
        assert values(found, "--model_dir") == [["Qwen/Qwen3-0.6B"]]
        assert values(found, "--output_dir") == [[str(tmp_path / f"Qwen3-0.6B-{plain.global_scheme}")]]
        found = words(export_plan(plain, target, ExportOptions(model_dir="me/my-copy")))
        assert values(found, "--model_dir") == [["me/my-copy"]]

    def test_of_a_configuration_are_its_folder(self, plain: QuantPlan, tmp_path: Path, words: Words) -> None:
        model = plain.model.model_copy(update={"model_path": str(tmp_path / "model" / "config.json")})
        found = words(export_plan(of_request(plain, model=model), "quark-cli", OUT))
        assert values(found, "--model_dir") == [[str(tmp_path / "model")]]

    def test_may_begin_at_home(
        self, plain: QuantPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: Words
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        options = ExportOptions(model_dir="~/model", output_dir="~/quantized")
        found = words(export_plan(plain, "quark-cli", options))
        assert values(found, "--model_dir") == [[str(tmp_path / "model")]]
        assert values(found, "--output_dir") == [[str(tmp_path / "quantized")]]


NASTY = [
    "two words",
    "it's",
    'say "yes"',
    "$HOME and ${HOME:-x}",
    "$(touch pwned)",
    "`touch pwned`",
    "a;touch pwned",
    "a&&touch pwned",
    "a|touch pwned",
    "a>pwned",
    "*",
    "[a-z]?",
    "{a,b}",
    "back\\slash",
    "end\\",
    "new\nline",
    "tab\there",
    "!history",
    "#comment",
    "~",
    "-rf",
    "größe-模型",
    "\x1b[31mred",
]


class TestShell:
    @pytest.mark.parametrize("name", NASTY, ids=ascii)
    @pytest.mark.parametrize("target", COMMANDS)
    def test_reads_folders_back_as_they_are_called(
        self, target: str, name: str, mixed: QuantPlan, tmp_path: Path, words: Words
    ) -> None:
        options = ExportOptions(model_dir=str(tmp_path / name), output_dir=str(tmp_path / "out" / name))
        found = words(export_plan(mixed, target, options))
        assert values(found, "--model_dir") == [[str(tmp_path / name)]]
        assert values(found, "--output_dir") == [[str(tmp_path / "out" / name)]]
        assert list(tmp_path.iterdir()) == []

    def test_does_not_expand_patterns_into_files(self, mixed: QuantPlan, tmp_path: Path, words: Words) -> None:
        command = export_plan(mixed, "quark-cli", OUT)
        before = words(command)
        for name in ("x.layers.0.mlp.down_proj", "y.layers.1.self_attn.k_proj", "lm_head", "layers.35.mlp.up_proj"):
            (tmp_path / name).touch()
        assert words(command) == before

    @pytest.mark.parametrize("name", ["$(touch pwned)", "it's", "two words"])
    def test_reads_files_of_algorithms_back(
        self, name: str, with_algorithms: QuantPlan, catalog: Catalog, tmp_path: Path, words: Words
    ) -> None:
        (tmp_path / name).write_text('{"name": "awq"}', encoding="utf-8")
        file = read_config_file(f"awq={tmp_path / name}", catalog)
        options = ExportOptions(output_dir="/quantized", algorithm_config_files=(file,))
        found = words(export_plan(with_algorithms, "quantize-quark", options))
        assert values(found, "--quant_algo_config_file") == [["awq", str(tmp_path / name)]]
        assert [path.name for path in tmp_path.iterdir()] == [name]


class TestWhatIsLeftOut:
    @pytest.mark.parametrize(
        ("target", "intent", "left_out"),
        [
            ("quark-cli", "smoke", False),
            ("quark-cli", "full", True),
            ("quantize-quark", "full", False),
            ("quark-python", "smoke", True),
            ("quark-python", "none", False),
        ],
    )
    def test_that_a_target_leaves_out_is_said(self, target: str, intent: str, left_out: bool, plain: QuantPlan) -> None:
        said = unexpressed(plain.model_copy(update={"evaluation_intent": intent}), target)
        assert (said is not None) is left_out
        assert said is None or "quantize-quark" in said
