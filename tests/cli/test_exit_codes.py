"""Every exit code that the help names, each with one message that says what, where and how to mend it."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from solver.cli import main
from tests.cli.conftest import MODEL, PLAN, SOLVE, UNKNOWN, Run, environment, refused

ON = ("--hardware", "mi300x")


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestAnswered:
    def test_a_plan_ends_with_0_and_is_written(self, analysed: Path, run: Run) -> None:
        assert run(*ON).code == 0
        assert (analysed / PLAN).is_file()

    def test_the_model_may_stand_first(self, folder: Path, run: Run) -> None:
        named, first = run("--model", MODEL, *ON), run(MODEL, *ON)
        assert named.code == 0
        assert first.out == named.out

    @pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("--version",), ("confirm", "--help")])
    def test_help_and_version_end_with_0(self, arguments: tuple[str, ...], run: Run) -> None:
        done = run(*arguments)
        assert (done.code, done.err) == (0, "")
        assert done.out

    def test_the_help_names_every_exit_code(self, run: Run) -> None:
        epilog = run("--help").out.rpartition("Exit codes:")[2]
        assert {int(code) for code in re.findall(r"\d+", epilog)} == {0, 1, 2, 3, 4, 101}


class TestInfeasible:
    def test_says_what_would_have_to_give(self, analysed: Path, run: Run) -> None:
        done = run(*ON, "--budget", "100MB")
        refused(done, 1, "no plan fits 100.00 MB", "the smallest takes", "clash budget-holds", "what helps")

    def test_fits_a_plain_terminal(self, analysed: Path, run: Run) -> None:
        lines = run(*ON, "--budget", "100MB").err.splitlines()
        assert max(map(len, lines)) <= 80
        assert [line.split()[0] for line in lines if line[:1].isalpha()][:1] == ["error:"]

    def test_names_what_clashes_and_what_helps_in_the_document(self, analysed: Path, run: Run) -> None:
        error = run(*ON, "--budget", "1700MB", "--kv", "none", "--json").document["error"]
        assert {rule["id"] for rule in error["rules"]} <= {"budget-holds", "--kv none"}
        best = error["repairs"][0]
        assert run(*ON, "--budget", "1700MB", "--kv", "none", best["flag"], str(best["value"])).code == 0

    def test_the_budget_it_asks_for_is_enough(self, analysed: Path, run: Run) -> None:
        said = run(*ON, "--budget", "100MB").said
        wanted = re.search(r"--budget (\S+)", said)
        assert wanted is not None
        assert run(*ON, "--budget", wanted[1]).code == 0

    def test_the_least_footprint_fits_and_a_byte_less_does_not(self, analysed: Path, run: Run) -> None:
        error = run(*ON, "--budget", "100MB", "--json").document["error"]
        assert (error["kind"], error["exit_code"]) == ("infeasible", 1)
        least = error["least_footprint_bytes"]
        assert run(*ON, "--budget", f"{least}B", "--json").code == 0
        assert run(*ON, "--budget", f"{least - 1}B", "--json").code == 1

    def test_excluding_every_layer_leaves_no_plan(self, analysed: Path, run: Run) -> None:
        refused(run(*ON, "--exclude", "*"), 1, "every layer", "excluded", "--exclude")


class TestDeclined:
    def test_a_rejected_plan_ends_with_1(self, draft_file: Path, run: Run) -> None:
        refused(run("confirm", "--reject"), 1, PLAN, "rejected")


class TestBadFlags:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--budget", "12"), ("--budget", "'12' has no unit", "40GB", "40GiB")),
            (("--budget", "12.5"), ("--budget", "no unit")),
            (("--budget", "12XB"), ("--budget", "'12XB' is not a size", "40GB")),
            (("--budget", ""), ("--budget", "is not a size")),
            (("--budget", "0GB"), ("--budget", "is not positive")),
            (("--budget", "-5GB"), ("--budget",)),
            (("--budget", "300GB"), ("--budget", "one AMD Instinct MI300X has 206.14 GB", "--tp")),
            (("--context", "0"), ("--context", "8192 or 8k")),
            (("--context", "4q"), ("--context", "'4q'", "8192 or 8k")),
            (("--context", "50000"), ("--context 50000", "40960 tokens")),
            (("--layer", "*down_proj"), ("--layer", "PATTERN=SCHEME", "'*down_proj=ptpc_fp8'")),
            (("--layer", "=fp8"), ("--layer", "PATTERN=SCHEME")),
            (("--layer", "nothing*=fp8"), ("--layer", "'nothing*' matches no layer", "mlp.down_proj")),
            (("--exclude", "nothing*"), ("--exclude", "'nothing*' matches no layer", "mlp.down_proj")),
            (("--time-limit", "0"), ("--time-limit", "0 s")),
            (("--min-decode-tps", "0"), ("--min-decode-tps", "0 tokens/s")),
            (("--min-decode-tps", "inf"), ("--min-decode-tps", "inf tokens/s")),
            (("--calib-dataset", "pile"), ("--calib-dataset", "'pile'", "pileval", "wikitext")),
            (("--profiles", "nowhere"), ("--profiles nowhere", "is no folder")),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
    )
    def test_are_refused(self, arguments: tuple[str, ...], words: tuple[str, ...], analysed: Path, run: Run) -> None:
        refused(run(*ON, *arguments), 2, *words)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--bogus",), ("--bogus",)),
            (("--kv", "fp9"), ("--kv", "fp9", "none", "fp8")),
            (("--budget-scope", "all"), ("--budget-scope", "total", "weights")),
            (("--goal", "cost"), ("unknown goal 'cost'", "solve profiles list goals")),
            (("--evaluation-intent", "much"), ("--evaluation-intent", "smoke")),
            (("--concurrency", "0"), ("--concurrency",)),
            (("--concurrency", "two"), ("--concurrency", "integer")),
            (("--tp", "0"), ("--tp",)),
            (("--choose", "0"), ("--choose",)),
            (("--num-calib-data", "0"), ("--num-calib-data",)),
            (("--seq-len", "0"), ("--seq-len",)),
            (("--seed", "-1"), ("--seed",)),
            (("--time-limit", "-1"), ("--time-limit",)),
            (("--time-limit", "nan"), ("--time-limit",)),
            (("export", "--min-kv-scale", "-1"), ("--min-kv-scale",)),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
    )
    def test_that_the_parser_refuses_are_named(
        self, arguments: tuple[str, ...], words: tuple[str, ...], analysed: Path, run: Run
    ) -> None:
        done = run(*arguments)
        assert (done.code, done.out) == (2, "")
        assert [word for word in words if word not in done.said] == []

    def test_a_scheme_that_quark_cannot_give_a_layer_is_refused(self, folder: Path, run: Run) -> None:
        done = run("HuggingFaceTB/SmolLM2-135M-Instruct", *ON, "--layer", "*q_proj=int4_wo_128")
        refused(done, 2, "*q_proj=int4_wo_128", "divisible by 128", "has 576", "group-divides-in-features")

    def test_an_alternative_that_there_is_not_is_refused(self, analysed: Path, run: Run) -> None:
        done = run(*ON, "--choose", "99")
        assert done.code == 2
        assert "there is no alternative 99. There are 1, 2, 3." in done.said

    def test_a_seed_that_the_solver_cannot_take_is_bad_input(self, analysed: Path, run: Run) -> None:
        refused(run(*ON, "--seed", str(2**31)), 2, "--seed")

    def test_more_sequences_than_can_be_counted_are_no_bug(self, analysed: Path, run: Run) -> None:
        assert run(*ON, "--concurrency", str(10**18)).code in {1, 2}


class TestUnknownNames:
    @pytest.mark.parametrize(
        ("arguments", "name", "nearest", "listing"),
        [
            (("--hardware", "mi300z"), "mi300z", "mi300x", "solve profiles list hardware"),
            ((*ON, "--backend", "vlm"), "vlm", "vllm", "solve profiles list backends"),
            ((*ON, "--layer", "*down_proj=ptpc_fp9"), "ptpc_fp9", "ptpc_fp8", "solve profiles list schemes"),
            ((*ON, "--algorithm", "awk"), "awk", "awq", "solve profiles list algorithms"),
            ((*ON, "--model", "Qwen3-0.7B"), "Qwen3-0.7B", MODEL, "solve profiles list models"),
            (("profiles", "show", "hardware", "mi300z"), "mi300z", "mi300x", "solve profiles list hardware"),
            (("profiles", "show", "scheme", "fp88"), "fp88", "fp8", "solve profiles list schemes"),
            (("profiles", "list", "schemas"), "schemas", "schemes", "solve profiles"),
        ],
    )
    def test_are_answered_with_the_nearest(
        self, arguments: tuple[str, ...], name: str, nearest: str, listing: str, analysed: Path, run: Run
    ) -> None:
        refused(run(*arguments), 2, f"'{name}'", f"Did you mean {nearest}", f"`{listing}")

    @pytest.mark.parametrize(
        "arguments",
        [("--hardware", "mi300z"), (*ON, "--layer", "*=fp0"), ("profiles", "list", "schemas")],
        ids=["hardware", "scheme", "section"],
    )
    def test_the_listing_they_point_to_lists_what_was_meant(
        self, arguments: tuple[str, ...], analysed: Path, run: Run
    ) -> None:
        said = run(*arguments).said
        meant = re.search(r"Did you mean ([\w, ]+)\?", said)
        listing = re.search(r"`solve ([^`]+)` lists all", said)
        assert meant is not None
        assert listing is not None
        shown = run(*listing[1].split())
        assert shown.code == 0
        assert [name for name in meant[1].split(", ") if name not in shown.out] == []

    @pytest.mark.parametrize(("typed", "meant"), [("confrim", "confirm"), ("exprot", "export"), ("analyse", "analyze")])
    def test_a_mistyped_command_is_answered_with_the_command(
        self, typed: str, meant: str, folder: Path, run: Run
    ) -> None:
        refused(run(typed), 2, f"'{typed}'", f"Did you mean `solve {meant}`")
        refused(run(typed, PLAN), 2, f"'{typed}'", f"Did you mean `solve {meant}`")


class TestBadFiles:
    @pytest.mark.parametrize(
        ("content", "word"),
        [(b"{", "not valid JSON"), (b"", "not valid JSON"), (b"\xff\xfe", "not valid JSON"), (b"[]", "no JSON object")],
        ids=["open", "empty", "binary", "a list"],
    )
    @pytest.mark.parametrize("name", ["checkpoint", "checkpoint/config.json"])
    def test_a_broken_configuration_is_named(
        self, name: str, content: bytes, word: str, folder: Path, run: Run
    ) -> None:
        (folder / "checkpoint").mkdir()
        (folder / "checkpoint" / "config.json").write_bytes(content)
        refused(run(name, *ON), 2, "checkpoint/config.json", word)

    def test_a_configuration_of_endless_depth_is_bad_input(self, folder: Path, run: Run) -> None:
        (folder / "config.json").write_text("[" * 100_000, encoding="utf-8")
        refused(run("config.json", *ON), 2, "config.json", "not valid JSON")

    @pytest.mark.parametrize(
        ("config", "words"),
        [
            ({"hidden_size": 64}, ("has no `model_type`",)),
            ({"model_type": "nonesuch"}, ("'nonesuch'", "recent enough")),
            ({"model_type": "llama", "hidden_size": "wide"}, ("hidden_size",)),
        ],
        ids=["no model type", "unknown model type", "wrong type"],
    )
    def test_a_configuration_that_describes_no_model_is_named(
        self, config: dict[str, object], words: tuple[str, ...], folder: Path, run: Run
    ) -> None:
        (folder / "model").mkdir()
        (folder / "model" / "config.json").write_text(json.dumps(config), encoding="utf-8")
        refused(run("./model", *ON), 2, "model", "cannot build this model", *words)

    @pytest.mark.parametrize("command", [(), ("analyze",)])
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ('{"model_type": ["llama"], "hidden_size": 64}', ("model_type ['llama'] is no name",)),
            ('{"model_type": "llama", "hidden_size": 64, "hidden_size": 65}', ("'hidden_size' stands twice",)),
            ('{"model_type": "llama"}', ("states none of hidden_size, num_hidden_layers", "the whole config.json")),
            ('{"model_type": "bart", "d_model": 64}', ("'bart' has an encoder",)),
            ('{"model_type": "clip", "text_config": {"hidden_size": 64}}', ("cannot build this model",)),
            (
                '{"model_type": "qwen", "hidden_size": 64}',
                ("cannot be read as qwen2", "num_attention_heads is missing"),
            ),
            ('{"model_type": "deepseek_vl_v2", "language_config": null}', ("language_config is missing",)),
            ('{"model_type": "llama", "hidden_size": 64, "torch_dtype": "int3"}', ("torch_dtype 'int3' is no type",)),
        ],
    )
    def test_a_configuration_that_contradicts_itself_is_named(
        self, text: str, words: tuple[str, ...], command: tuple[str, ...], folder: Path, run: Run
    ) -> None:
        (folder / "model").mkdir()
        (folder / "model" / "config.json").write_text(text, encoding="utf-8")
        before = contents(folder)
        refused(run(*command, "./model", *(() if command else ON)), 2, "model", *words)
        assert contents(folder) == before

    def test_a_folder_without_a_configuration_is_named(self, folder: Path, run: Run) -> None:
        (folder / "empty").mkdir()
        refused(run("./empty", *ON), 2, "empty", "has no config.json")

    def test_a_path_that_does_not_exist_is_named(self, folder: Path, run: Run) -> None:
        refused(run("./nowhere/config.json", *ON), 2, "./nowhere/config.json", "no such file or folder")

    def test_a_name_longer_than_any_path_is_bad_input(self, folder: Path, run: Run) -> None:
        refused(run("m" * 5000, *ON), 2)

    def test_a_model_without_a_name_is_bad_input_about_the_model(self, folder: Path, run: Run) -> None:
        refused(run("--model", "", *ON), 2, "--model")

    @pytest.mark.parametrize(
        ("content", "word"), [("{", "not valid JSON"), ("{}", "analysis_status"), ("7", "document")]
    )
    def test_a_broken_analysis_is_named(self, content: str, word: str, folder: Path, run: Run) -> None:
        (folder / "model_analysis.json").write_text(content, encoding="utf-8")
        refused(run(*ON), 2, "model_analysis.json", word, "`solve analyze MODEL -o model_analysis.json`")

    @pytest.mark.parametrize("content", ["{", "[]", '{"hardware": {}}', '{"hardware": {"gpu_model": "MI399X"}}'])
    def test_a_broken_environment_is_named(self, content: str, analysed: Path, run: Run) -> None:
        (analysed / "env_context.json").write_text(content, encoding="utf-8")
        refused(run(), 2, "env_context.json", "--hardware")

    @pytest.mark.parametrize(
        ("content", "word"), [(b"{", "document"), (b"{}", "global_scheme"), (b"\xff", "is no text file")]
    )
    @pytest.mark.parametrize("command", ["confirm", "export"])
    def test_a_broken_plan_is_named(self, command: str, content: bytes, word: str, folder: Path, run: Run) -> None:
        (folder / PLAN).write_bytes(content)
        refused(run(command), 2, PLAN, word)
        assert (folder / PLAN).read_bytes() == content

    def test_a_broken_plan_is_not_replaced_by_a_draft(self, analysed: Path, run: Run) -> None:
        (analysed / PLAN).write_text("my notes", encoding="utf-8")
        refused(run(*ON), 2, PLAN)
        assert (analysed / PLAN).read_text(encoding="utf-8") == "my notes"


class TestLimitReached:
    def test_without_any_plan_ends_with_3_and_says_how_to_allow_more(self, analysed: Path, run: Run) -> None:
        refused(run(*UNKNOWN), 3, "1e-09 s", "`--time-limit`")

    def test_without_any_plan_is_a_document_too(self, analysed: Path, run: Run) -> None:
        done = run(*UNKNOWN, "--json")
        assert done.code == 3
        assert done.document["error"]["kind"] == "limit_reached"

    def test_with_plans_ends_with_0_and_says_that_there_may_be_more(self, analysed: Path, run: Run) -> None:
        done = run(*ON, "--max-overrides", "3", "--time-limit", "1e-9")
        assert done.code == 0
        assert "The time limit ended a part of the search" in done.out
        front = run(*ON, "--max-overrides", "3", "--time-limit", "1e-9", "--json").document["front"]
        assert (front["limited"], front["complete"], front["interrupted"]) == (True, False, False)

    def test_beside_a_whole_front_leaves_out_what_was_asked_for_besides(self, analysed: Path, run: Run) -> None:
        flags = ("--faster", "2", "--diverse", "1", "--json")
        whole, cut = (run(*ON, *flags, *more).document for more in ((), ("--time-limit", "1e-9")))
        assert (cut["front"]["complete"], cut["front"]["limited"]) == (True, True)
        assert cut["front"]["points"] == whole["front"]["points"]
        assert {plan["name"] for plan in cut["alternatives"]} < {plan["name"] for plan in whole["alternatives"]}

    def test_leaves_what_is_proven_to_have_no_plan_without_one(self, analysed: Path, run: Run) -> None:
        refused(
            run(*ON, "--budget", "100MB", "--time-limit", "1e-9"), 1, "no plan fits 100.00 MB", "the smallest takes"
        )


class TestMissing:
    def test_neither_model_nor_analysis(self, folder: Path, run: Run) -> None:
        refused(run(*ON), 4, "no model is named", "model_analysis.json", "--model", "solve analyze MODEL")

    def test_neither_hardware_nor_environment(self, analysed: Path, run: Run) -> None:
        refused(run(), 4, "no hardware is named", "env_context.json", "--hardware", "solve profiles list hardware")

    @pytest.mark.parametrize("command", [("confirm",), ("export",), ("confirm", "other.json")])
    def test_no_plan(self, command: tuple[str, ...], folder: Path, run: Run) -> None:
        refused(run(*command), 4, (*command, PLAN)[1], "there is no plan", "writes one")

    @pytest.mark.parametrize(
        "command", [pytest.param((), id="solve"), pytest.param(("analyze",), id="analyze", marks=pytest.mark.slow)]
    )
    def test_a_hub_model_that_is_not_cached(self, command: tuple[str, ...], folder: Path, spawn: Run) -> None:
        env = environment(HF_HOME=str(folder / "hub"))
        flags = () if command else ON
        done = spawn(*command, "Qwen/Qwen3-0.7B", *flags, env=env)
        refused(done, 4, "Qwen/Qwen3-0.7B is not bundled", "not in the local hub cache", f"Did you mean {MODEL}")


class TestBug:
    def test_an_unexpected_exception_ends_with_101_and_one_line(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(_: object, **__: object) -> None:
            raise RuntimeError("no such [case]")

        monkeypatch.setattr("solver.cli.app.app", broken)
        done = run(*ON)
        assert (done.code, done.out) == (101, "")
        assert done.said.startswith("bug: RuntimeError: no such [case]. Nothing was written.")
        assert "SOLVE_DEBUG=1" in done.said

    def test_its_traceback_is_there_for_who_asks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(_: object, **__: object) -> None:
            raise RuntimeError("no such case")

        monkeypatch.setattr("solver.cli.app.app", broken)
        monkeypatch.setenv("SOLVE_DEBUG", "1")
        with pytest.raises(RuntimeError, match="no such case"):
            main(ON)

    def test_a_plan_that_fails_its_own_check_is_a_bug(
        self, analysed: Path, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # A solver that answers wrongly must never reach the user as a plan.
        from solver.errors import VerificationError

        def unmasked(*_: object) -> None:
            raise VerificationError("the counts do not add up")

        monkeypatch.setattr("solver.optimize.front_points.verify_front", unmasked)
        done = run(*ON)
        assert done.code == 101
        assert "VerificationError" in done.said
        assert not (analysed / PLAN).exists()


class TestProcesses:
    """The same codes from the installed command, as a shell sees them."""

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            ((MODEL, *ON), 0),
            ((MODEL, *ON, "--budget", "12"), 2),
            ((MODEL, *ON, "--bogus"), 2),
            ((MODEL,), 4),
            pytest.param((MODEL, *ON, "--budget", "100MB"), 1, marks=pytest.mark.slow),
            pytest.param((MODEL, *UNKNOWN), 3, marks=pytest.mark.slow),
        ],
        ids=str,
    )
    def test_end_as_documented(self, arguments: tuple[str, ...], code: int, spawn: Run) -> None:
        assert spawn(*arguments).code == code

    @pytest.mark.parametrize("command", [(MODEL, *ON), ("confirm",), ("profiles", "list", "models")], ids=str)
    def test_do_not_need_a_stdin(self, command: tuple[str, ...], draft_file: Path) -> None:
        done = subprocess.run(
            ["bash", "-c", '"$@" <&-', "bash", str(SOLVE), *command],
            cwd=draft_file.parent,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
    def test_do_not_take_a_full_disk_for_a_bug(self, folder: Path) -> None:
        with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 - a device
            done = subprocess.run(
                [str(SOLVE), MODEL, *ON],
                cwd=folder,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert done.returncode not in {0, 101}, done.stderr
        assert os.listdir(folder) == []  # noqa: PTH208 - hidden files too

    @pytest.mark.slow
    def test_end_quietly_when_nobody_reads_on(self, folder: Path) -> None:
        script = '"$@" | head -c 1 >/dev/null; exit "${PIPESTATUS[0]}"'
        done = subprocess.run(
            ["bash", "-c", script, "bash", str(SOLVE), MODEL, *ON],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in {0, 1}
        assert "bug" not in done.stderr
        assert "Traceback" not in done.stderr


FAILURES = [
    (*ON, "--budget", "100MB", "--yes"),
    (*ON, "--budget", "12", "--yes"),
    (*ON, "--exclude", "nothing*", "--yes"),
    (*ON, "--choose", "99", "--yes"),
    (*UNKNOWN, "--yes"),
    (*ON, "--profiles", "nowhere", "--yes"),
    ("--yes",),
    ("./nowhere", *ON, "--yes"),
    ("confirm", "--choose", "99"),
    ("confirm", "--reject", "--yes"),
    ("export", "--to", "nowhere"),
    (*ON,),
]


class TestNothingHalfWritten:
    @pytest.mark.parametrize("arguments", FAILURES, ids=" ".join)
    def test_a_run_that_fails_leaves_every_file_as_it_was(
        self, arguments: tuple[str, ...], confirmed_file: Path, analysed: Path, run: Run
    ) -> None:
        before = contents(analysed)
        assert run(*arguments).code in {1, 2, 3, 4}
        assert contents(analysed) == before

    @pytest.mark.parametrize(
        ("command", "target"),
        [("solve", "taken"), ("solve", "nowhere/plan.json"), ("analyze", "."), ("analyze", "plan.json/plan.json")],
    )
    def test_a_target_that_cannot_be_written_leaves_nothing_behind(
        self, command: str, target: str, analysed: Path, run: Run
    ) -> None:
        (analysed / "taken").mkdir()
        (analysed / "plan.json").write_text("a file", encoding="utf-8")
        before = contents(analysed)
        done = run(*(ON if command == "solve" else ("analyze", MODEL)), "-o", target)
        assert done.code == 2
        assert "cannot be written" in done.said
        assert contents(analysed) == before

    def test_a_file_whose_name_is_no_text_is_no_bug(self, analysed: Path, spawn: Run) -> None:
        name = os.fsdecode(b"caf\xe9.json")  # latin-1, as old archives hold
        (analysed / "model_analysis.json").rename(analysed / name)
        done = spawn("--model", name, *ON)
        assert done.code in {0, 2}, done.err
        assert {path.name for path in analysed.iterdir()} <= {name, PLAN}

    def test_a_plan_is_readable_by_others_as_the_umask_says(self, analysed: Path, run: Run) -> None:
        before = os.umask(0o027)
        try:
            assert run(*ON).code == 0
        finally:
            os.umask(before)
        assert (analysed / PLAN).stat().st_mode & 0o777 == 0o640


class TestMessages:
    @pytest.mark.parametrize(
        ("flag", "value"),
        [("--budget", "12"), ("--context", "4q"), ("--exclude", "nothing*"), ("--calib-dataset", "pile")],
    )
    def test_name_the_flag_as_it_is_typed(self, flag: str, value: str, analysed: Path, run: Run) -> None:
        error = run(*ON, flag, value, "--json").document["error"]
        assert error["where"] == flag
        assert error["kind"] == "bad_input"

    def test_are_not_read_as_markup(self, folder: Path, run: Run) -> None:
        refused(run("[red]none[/red]", *ON), 2, "'[red]none[/red]'")
