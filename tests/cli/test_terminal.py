"""The conversation on a real terminal: what is missing is asked for, and nothing is final before a yes."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from solver.plan.document import QuantPlan
from solver.plan.files import read_plan
from tests.cli.conftest import PLAN, SOLVE, environment
from tests.cli.terminal import Terminal

ON = ("--hardware", "mi300x")
SETTLED = (*ON, "--budget", "3GB", "--goal", "accuracy")
CONFIRM = "Confirm this plan? Any changes?"
ASKED = f"{CONFIRM} [yes/no/change]:"

Open = Callable[..., Terminal]


@pytest.fixture
def terminal(analysed: Path) -> Open:
    """Return an opener of terminals that run the command in a folder with an analysed model."""

    def start(*arguments: str, stdout: Path | None = None, **changes: str) -> Terminal:
        return Terminal([str(SOLVE), *arguments], cwd=analysed, env=environment(**changes), stdout=stdout)

    return start


def written(folder: Path) -> QuantPlan:
    return read_plan(folder / PLAN)


class TestAsking:
    def test_what_is_missing_is_asked_for_and_has_defaults(self, terminal: Open, analysed: Path) -> None:
        with terminal() as screen:
            assert "Accelerator [mi300x]:" in screen.until(":")
            screen.say("")
            assert "Budget of one device, 40GB or 40GiB [all it has]:" in screen.until("]:")
            screen.say("")
            assert "Goal: accuracy, balanced, cpu, experiment, gguf, size, speed [accuracy]:" in screen.until("]:")
            screen.say("")
            assert "lowest risk" in screen.until("Plan [1]:")
            screen.say("")
            screen.until(ASKED)
            screen.say("yes")
            assert screen.end() == 0
        plan = written(analysed)
        assert not plan.requires_confirmation
        assert plan.request["hardware"] == "mi300x"
        assert plan.request["budget_bytes"] is None
        assert plan.request["goal"] == "accuracy"

    def test_the_answers_count(self, terminal: Open, analysed: Path) -> None:
        with terminal() as screen:
            for question, answer in (("Accelerator", "mi325x"), ("Budget", "2GiB"), ("Goal", "size")):
                screen.until(question)
                screen.say(answer)
            screen.until("Plan [")
            screen.say("")
            screen.until(ASKED)
            screen.say("y")
            assert screen.end() == 0
        plan = written(analysed)
        assert plan.request["hardware"] == "mi325x"
        assert plan.request["budget_bytes"] == 2 * 2**30
        assert "smallest" in next(item.name for item in plan.alternatives if item.id == plan.chosen)

    def test_what_flags_say_is_not_asked(self, terminal: Open) -> None:
        with terminal(*SETTLED, "--choose", "2") as screen:
            shown = screen.until(ASKED)
            screen.say("no")
            assert screen.end() == 1
        assert not re.search(r"Accelerator|Budget of|Goal:|Plan \[", shown)

    def test_yes_asks_nothing_at_all(self, terminal: Open, analysed: Path) -> None:
        with terminal(*ON, "--yes") as screen:
            assert screen.end() == 0
            assert "Wrote quant_plan.json, confirmed." in screen.text
        assert not written(analysed).requires_confirmation

    @pytest.mark.slow
    def test_json_asks_nothing_at_all(self, terminal: Open, analysed: Path) -> None:
        answer = analysed / "answer.json"
        with terminal(*ON, "--json", stdout=answer) as screen:
            assert screen.end() == 0
            assert not re.search(r"Accelerator|Budget of|Goal:|Plan \[|Confirm", screen.text)
        assert json.loads(answer.read_text(encoding="utf-8"))["recommended"] == 1
        assert not (analysed / PLAN).exists()

    @pytest.mark.parametrize(
        ("question", "wrong", "complaint", "right"),
        [
            ("Accelerator", "mi300z", "unknown hardware", "mi300x"),
            ("Budget", "12", "no unit", "12GB"),
            ("Goal", "cost", "unknown goal", "size"),
        ],
    )
    def test_an_answer_that_cannot_be_used_is_asked_for_again(
        self, question: str, wrong: str, complaint: str, right: str, terminal: Open
    ) -> None:
        with terminal() as screen:
            for name in ("Accelerator", "Budget", "Goal"):
                screen.until(name)
                screen.until("]:")
                if name == question:
                    screen.say(wrong)
                    shown = screen.until("]:")
                    assert complaint in shown
                    assert name in shown
                    screen.say(right)
                else:
                    screen.say("")
            screen.until("Plan [")


class TestChanging:
    def test_changes_add_up_until_yes(self, terminal: Open, analysed: Path) -> None:
        with terminal(*SETTLED) as screen:
            screen.until("Plan [1]:")
            screen.say("2")
            screen.until(ASKED)
            screen.say("kv=none")
            assert re.search(r"kv_cache_scheme +null +as asked", screen.until(ASKED))
            screen.say("layer *down_proj=ptpc_fp8")
            screen.until(ASKED)
            screen.say("exclude *layers.0.*")
            assert "*layers.0.*" in screen.until(ASKED)
            screen.say("budget=44GB")
            assert "budget 44.00 GB" in screen.until(ASKED)
            assert not (analysed / PLAN).exists()
            screen.say("yes")
            assert screen.end() == 0
            assert "Wrote quant_plan.json, confirmed. Next: solve export quant_plan.json" in screen.text
        plan = written(analysed)
        assert not plan.requires_confirmation
        assert plan.request["budget_bytes"] == 44 * 10**9
        assert plan.request["kv_cache_scheme"] == "none"
        assert plan.request["layers"] == {"*down_proj": "ptpc_fp8"}
        assert plan.request["exclude"] == ["*layers.0.*"]
        assert "*layers.0.*" in plan.exclude_layers

    def test_the_number_of_another_plan_shows_that_plan(self, terminal: Open, analysed: Path) -> None:
        with terminal(*SETTLED, "--choose", "1") as screen:
            screen.until(ASKED)
            screen.say("3")
            shown = screen.until(ASKED)
            screen.say("YES")
            assert screen.end() == 0
        plan = written(analysed)
        assert plan.chosen == 3
        assert plan.global_scheme in shown

    def test_changes_that_cannot_be_used_leave_the_plan_as_it_was(self, terminal: Open, analysed: Path) -> None:
        wrong = {
            "budget=12": "no unit",
            "budget=1MB": "no plan fits",
            "hardware=mi300z": "Did you mean mi300x",
            "kv=fp9": "none, fp8",
            "tp=0": "positive number",
            "seq-len=-4": "positive number",
            "calib-dataset=pile": "Quark 0.13 loads pileval",
            "layer *nothing=fp8": "matches no layer",
            "layer *down_proj": "PATTERN=SCHEME",
            "exclude": "'exclude' is not understood",
            "context=1000k": "own limit",
            "nonsense": "'nonsense' is not understood",
            "": "",
        }
        with terminal(*SETTLED, "--choose", "2") as screen:
            screen.until(ASKED)
            for typed, complaint in wrong.items():
                screen.say(typed)
                assert complaint in " ".join(screen.until("[yes/no/change]:").split())
            screen.say("yes")
            assert screen.end() == 0
        plan = written(analysed)
        assert plan.chosen == 2
        assert plan.request["budget_bytes"] == 3 * 10**9
        assert (plan.request["layers"], plan.request["exclude"], plan.request["context"]) == ({}, [], None)

    def test_what_can_be_typed_is_said_once(self, terminal: Open) -> None:
        with terminal(*SETTLED, "--choose", "2") as screen:
            screen.until(ASKED)
            screen.say("nonsense")
            assert screen.until(ASKED).count("Changes: budget=44GB") == 1
            screen.say("no")
            assert screen.end() == 1

    def test_a_number_that_there_is_not_is_asked_for_again(self, terminal: Open, analysed: Path) -> None:
        with terminal(*SETTLED) as screen:
            screen.until("Plan [1]:")
            screen.say("77")
            screen.until("There are 1, 2, 3")
            screen.until("Plan [1]:")
            screen.say("two")
            screen.until("Plan [1]:")
            screen.say("2")
            screen.until(ASKED)
            screen.say("77")
            screen.until("no alternative 77")
            screen.say("")
            screen.until(ASKED)
            screen.say("no")
            assert screen.end() == 1


class TestDeclining:
    def test_no_writes_nothing(self, terminal: Open, analysed: Path) -> None:
        with terminal(*SETTLED, "--choose", "1") as screen:
            screen.until(ASKED)
            screen.say("no")
            assert screen.end() == 1
            assert "no plan was confirmed, and nothing was written" in screen.text
        assert not (analysed / PLAN).exists()

    @pytest.mark.slow
    def test_no_leaves_the_plan_that_was_there(self, terminal: Open, confirmed_file: Path) -> None:
        before = confirmed_file.read_bytes()
        with terminal(*SETTLED, "--choose", "3") as screen:
            screen.until(ASKED)
            screen.say("n")
            assert screen.end() == 1
        assert confirmed_file.read_bytes() == before

    @pytest.mark.parametrize("moment", ["Budget", ASKED])
    def test_the_end_of_the_input_writes_nothing(self, moment: str, terminal: Open, analysed: Path) -> None:
        flags = {"Budget": ON, ASKED: (*SETTLED, "--choose", "1")}[moment]
        with terminal(*flags) as screen:
            screen.until(moment)
            screen.press(b"\x04")
            assert screen.end() == 1
            assert "Traceback" not in screen.text
        assert not (analysed / PLAN).exists()

    @pytest.mark.parametrize("moment", ["Budget", "solving", ASKED])
    def test_an_interrupt_ends_with_1_and_writes_nothing(self, moment: str, terminal: Open, analysed: Path) -> None:
        flags = {"Budget": ON, ASKED: (*SETTLED, "--choose", "1")}.get(moment, SETTLED)
        with terminal(*flags) as screen:
            screen.until(moment)
            screen.press(b"\x03")
            code, shown = screen.end(), screen.text
        assert not (analysed / PLAN).exists()
        assert "Traceback" not in shown
        assert code == 1, f"ended with {code}:\n{shown}"


class TestConfirm:
    def test_asks_once_and_takes_yes(self, terminal: Open, draft_file: Path) -> None:
        with terminal("confirm") as screen:
            assert "global_scheme" in screen.until("Confirm this plan?")
            screen.say("y")
            assert screen.end() == 0
        assert not read_plan(draft_file).requires_confirmation

    def test_asks_once_and_takes_no(self, terminal: Open, draft_file: Path) -> None:
        before = draft_file.read_bytes()
        with terminal("confirm", "--choose", "2") as screen:
            screen.until("Confirm this plan?")
            screen.say("n")
            assert screen.end() == 1
            assert "stays a draft" in screen.text
        assert draft_file.read_bytes() == before

    def test_does_not_call_a_confirmed_plan_a_draft(self, terminal: Open, confirmed_file: Path) -> None:
        before = confirmed_file.read_bytes()
        with terminal("confirm", "--choose", "2") as screen:
            screen.until("Confirm this plan?")
            screen.say("n")
            assert screen.end() == 1
            assert "stays a draft" not in screen.text
        assert confirmed_file.read_bytes() == before

    def test_does_not_ask_with_yes(self, terminal: Open, draft_file: Path) -> None:
        with terminal("confirm", "--yes") as screen:
            assert screen.end() == 0
            assert "[y/N]" not in screen.text
        assert not read_plan(draft_file).requires_confirmation


class TestAppearance:
    COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-7]|38|9[0-7])(?:;[0-9;]*)?m")

    def shown(self, terminal: Open, **changes: str) -> str:
        with terminal(*ON, "--budget", "1.8GB", "--goal", "size", "--choose", "1", **changes) as screen:
            screen.until(ASKED)
            screen.say("no")
            screen.end()
            return screen.raw

    def test_a_terminal_gets_colours(self, terminal: Open) -> None:
        assert self.COLOUR.search(self.shown(terminal))

    def test_no_color_is_honoured(self, terminal: Open) -> None:
        assert not self.COLOUR.search(self.shown(terminal, NO_COLOR="1"))

    @pytest.mark.slow
    def test_a_dumb_terminal_gets_no_escape_codes(self, terminal: Open) -> None:
        assert "\x1b" not in self.shown(terminal, TERM="dumb")

    def test_answers_in_a_file_hold_no_questions_and_no_colours(self, terminal: Open, analysed: Path) -> None:
        kept = analysed / "answers.txt"
        with terminal(*ON, stdout=kept) as screen:
            for question in ("Budget", "Goal", "Plan ["):
                screen.until(question)
                screen.say("")
            screen.until(CONFIRM)
            screen.say("yes")
            assert screen.end() == 0
        text = kept.read_text(encoding="utf-8")
        assert text.startswith("Qwen/Qwen3-0.6B"), repr(text[:40])
        assert "evaluation_intent" in text
        assert not re.search("\x1b|Budget of|Goal:|Confirm", text)
        assert [line for line in text.splitlines() if len(line.rstrip()) > 80] == []
