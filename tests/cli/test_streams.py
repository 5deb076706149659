"""Which stream carries what, and what a pipe gets: answers on stdout, the rest on stderr, no colours, 80 columns."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from solver.plan.document import Answer, ErrorAnswer, QuantPlan
from tests.cli.conftest import MODEL, PLAN, UNKNOWN, Run, environment
from tests.report.test_tables import ROWS

ON = ("--hardware", "mi300x")
SCOUT = "meta-llama/Llama-4-Scout-17B-16E-Instruct"
ESCAPE = "\x1b"
CUT = "…"
"""What rich puts where a cell had no room."""


def wide(text: str) -> list[str]:
    """Return the lines of more than 80 columns, spaces at their ends left out."""
    return [line for line in text.splitlines() if len(line.rstrip()) > 80]


class TestJson:
    def test_an_answer_is_one_document_of_its_type(self, analysed: Path, spawn: Run) -> None:
        done = spawn(*ON, "--json")
        assert (done.code, done.err) == (0, "")
        answer = Answer.model_validate(done.document, strict=False)
        assert answer.model_dump(mode="json") == done.document
        assert {item.id for item in answer.alternatives} >= {1, 2, answer.recommended}

    def test_without_a_flag_that_asks_for_it_no_plan_is_written(self, analysed: Path, run: Run) -> None:
        assert run(*ON, "--json").code == 0
        assert not (analysed / PLAN).exists()

    @pytest.mark.parametrize("flags", [("--yes",), ("--choose", "2"), ("-o", PLAN)], ids=" ".join)
    def test_with_such_a_flag_the_plan_is_written_and_stdout_is_still_one_document(
        self, flags: tuple[str, ...], analysed: Path, run: Run
    ) -> None:
        done = run(*ON, "--json", *flags)
        assert (done.code, done.err) == (0, "")
        plan = QuantPlan.model_validate_json((analysed / PLAN).read_text(encoding="utf-8"))
        answer = Answer.model_validate(done.document)
        assert plan.alternatives == answer.alternatives
        assert plan.chosen == (2 if "--choose" in flags else answer.recommended)
        assert plan.requires_confirmation is ("--yes" not in flags)

    @pytest.mark.parametrize(
        ("arguments", "kind", "code"),
        [
            ((*ON, "--budget", "100MB"), "infeasible", 1),
            ((*ON, "--exclude", "*"), "no_answer", 1),
            ((*ON, "--budget", "12"), "bad_input", 2),
            (("--hardware", "mi300z"), "bad_input", 2),
            (UNKNOWN, "limit_reached", 3),
            ((), "missing", 4),
            ((*ON, "--choose", "99"), "bad_input", 2),
            ((*ON, "-o", "nowhere/plan.json"), "bad_input", 2),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
    )
    def test_an_error_is_one_document_of_its_type(
        self, arguments: tuple[str, ...], kind: str, code: int, analysed: Path, run: Run
    ) -> None:
        done = run(*arguments, "--json")
        assert (done.code, done.err) == (code, "")
        answer = ErrorAnswer.model_validate(done.document)
        assert answer.model_dump(mode="json") == done.document
        assert (answer.error["kind"], answer.error["exit_code"]) == (kind, code)
        assert answer.error["message"]

    def test_an_error_repeats_the_flags_that_it_is_about(self, analysed: Path, run: Run) -> None:
        document = run(*ON, "--budget", "12", "--context", "4k", "--exclude", "*q_proj", "--json").document
        flags = document["request"]
        assert (flags["budget"], flags["context"], flags["exclude"]) == ("12", "4k", ["*q_proj"])

    @pytest.mark.parametrize("flags", [("--bogus",), ("--kv", "fp9"), ("--concurrency", "0")], ids=" ".join)
    def test_a_flag_that_the_parser_refuses_is_a_document_too(
        self, flags: tuple[str, ...], analysed: Path, run: Run
    ) -> None:
        done = run(*ON, "--json", *flags)
        assert done.code == 2
        assert ErrorAnswer.model_validate(done.document).error["exit_code"] == 2

    @pytest.mark.parametrize("limit", ["inf", "1e400"])
    def test_numbers_are_those_of_json(self, limit: str, analysed: Path, run: Run) -> None:
        done = run(*ON, "--json", "--time-limit", limit)

        def refuse(name: str) -> Any:
            raise AssertionError(f"{name} is no JSON")

        json.loads(done.out, parse_constant=refuse)

    def test_every_analysis_is_one_document(self, folder: Path, spawn: Run) -> None:
        done = spawn("analyze", MODEL)
        assert (done.code, done.err) == (0, "")
        assert done.document["analysis_status"] == "complete"

    def test_every_profile_is_one_document(self, folder: Path, spawn: Run) -> None:
        done = spawn("profiles", "show", "hardware", "mi300x")
        assert (done.code, done.err) == (0, "")
        assert done.document["name"] == "mi300x"


class TestStreams:
    def test_the_answer_is_on_stdout_and_the_note_on_stderr(self, analysed: Path, spawn: Run) -> None:
        done = spawn(*ON)
        assert done.code == 0
        assert MODEL in done.out
        assert "lowest risk" in done.out
        assert "global_scheme" in done.out
        assert done.err == f"Wrote {PLAN}, a draft. Next: solve confirm {PLAN}\n"

    def test_a_refusal_is_on_stderr_alone(self, analysed: Path, spawn: Run) -> None:
        done = spawn(*ON, "--budget", "12")
        assert done.out == ""
        assert done.err.startswith("error: --budget")

    def test_an_exported_command_is_all_of_stdout(self, confirmed_file: Path, spawn: Run) -> None:
        done = spawn("export")
        assert done.err == ""
        assert done.out.startswith("quark-cli torch-llm-ptq \\\n")

    def test_a_confirmed_plan_is_shown_on_stdout_and_noted_on_stderr(self, draft_file: Path, spawn: Run) -> None:
        done = spawn("confirm")
        assert "global_scheme" in done.out
        assert (
            done.err
            == f"Confirmed {PLAN}. Next: solve export {PLAN} --to quark-cli, then solve export {PLAN} --to vllm\n"
        )

    def test_an_analysis_in_a_file_is_noted_on_stderr(self, folder: Path, run: Run) -> None:
        done = run("analyze", MODEL, "-o", "model_analysis.json")
        assert (done.code, done.out) == (0, "")
        assert "Wrote model_analysis.json. Next: solve --model model_analysis.json" in done.said

    def test_what_was_assumed_names_its_flag(self, analysed: Path, run: Run) -> None:
        text = " ".join(run(*ON).out.split())
        assumed = re.findall(r"assumed (.+?)(?= assumed |quant-plan-solver)", text)
        assert len(assumed) == 7
        flags = {flag for line in assumed for flag in re.findall(r"--[a-z][a-z-]+", line)}
        batch = {"--max-num-seqs", "--max-num-batched-tokens"}
        assert flags == {"--goal", "--context", "--backend", "--concurrency", "--tp", "--budget"} | batch
        given = run(*ON, "--context", "8k", "--budget", "5GB", "--backend", "vllm").out
        assert "--context" not in given
        assert "--budget" not in given
        assert "--backend" not in given


class TestPipes:
    COMMANDS = (
        (MODEL, *ON),
        ("Qwen/Qwen3-8B", *ON, "--budget", "12GB", "--layer", "*down_proj=ptpc_fp8", "--exclude", "*layers.[0-3].*"),
        (MODEL, *ON, "--budget", "100MB"),
        (MODEL, *ON, "--exclude", "nothing*"),
        ("analyze", "openai/gpt-oss-20b", "-o", "a.json"),
        ("profiles", "list", "hardware"),
    )

    @pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
    def test_get_no_escape_codes_and_80_columns(self, arguments: tuple[str, ...], folder: Path, spawn: Run) -> None:
        done = spawn(*arguments)
        assert done.out + done.err != ""
        for text in (done.out, done.err):
            assert ESCAPE not in text
            assert "\r" not in text
        # A command to type next is printed on one line whatever its length, so that it can be copied.
        notes = [line for line in wide(done.err) if "Next: solve " not in line]
        assert wide(done.out) + notes == []

    def test_an_encoding_without_box_characters_is_no_bug(self, folder: Path, spawn: Run) -> None:
        done = spawn(MODEL, *ON, env=environment(PYTHONIOENCODING="ascii"))
        assert done.code == 0, done.err
        assert done.out.isascii()


class TestTables:
    @pytest.mark.parametrize(
        "arguments",
        [
            (MODEL, *ON),
            (MODEL, *ON, "--backend", "none"),
            pytest.param((MODEL, *ON, "--algorithm", "awq,smoothquant"), marks=pytest.mark.slow),
            pytest.param((SCOUT, "--hardware", "mi355x", "--tp", "8"), marks=pytest.mark.slow),
        ],
        ids=" ".join,
    )
    def test_of_a_plan_hold_every_word_within_80_columns(
        self, arguments: tuple[str, ...], folder: Path, run: Run
    ) -> None:
        done = run(*arguments)
        assert done.code == 0
        assert wide(done.out) == []
        assert [line for line in done.out.splitlines() if CUT in line] == []

    @pytest.mark.parametrize("section", ["schemes", "algorithms", "templates", "hardware", "backends", "models"])
    def test_of_a_listing_hold_every_word_within_80_columns(self, section: str, run: Run) -> None:
        done = run("profiles", "list", section)
        assert done.code == 0
        assert wide(done.out) == []
        assert [line for line in done.out.splitlines() if CUT in line] == []

    def test_show_every_alternative_of_the_document(self, analysed: Path, run: Run) -> None:
        shown, document = run(*ON).out, run(*ON, "--json").document
        for alternative in document["alternatives"]:
            marker = ">" if alternative["id"] == document["recommended"] else " "
            name = alternative["name"].split(", ")[0]
            row = re.search(rf"^ *{marker}{alternative['id']} {name}.*$", shown, re.MULTILINE)
            assert row is not None
            assert f"{alternative['footprint']['total_bytes'] / 1e9:.2f} total" in row[0]

    def test_of_decisions_have_the_nine_rows_of_the_plan(self, analysed: Path, run: Run) -> None:
        shown = run(*ON, "--calib-dataset", "wikitext", "--num-calib-data", "77", "--seq-len", "333").out
        table = shown[shown.index("  decision ") :]
        rows = dict(re.findall(r"^  ([a-z_]+) +(\S+)", table, re.MULTILINE))
        assert list(rows) == ["decision", *ROWS]
        assert rows["calibration_dataset"] == "wikitext"
        assert (rows["num_calib_data"], rows["seq_len"]) == ("77", "333")
