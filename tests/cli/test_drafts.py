"""From a draft to a confirmed plan without a terminal, and the drafts that can never be confirmed."""

import json
from pathlib import Path
from typing import Any

import pytest

from solver.plan.document import QuantPlan
from solver.plan.files import read_plan
from tests.cli.conftest import MODEL, PLAN, Run, refused

ON = ("--hardware", "mi300x")


def from_quark(folder: Path, *, model_path: str = "/absent/model", model_type: str = "llama") -> None:
    """Write the least that Quark's schema of `model_analysis.json` asks for."""
    document = {
        "analysis_status": "complete",
        "model": {"model_path": model_path, "model_type": model_type},
        "quantization_targets": {"linear_layer_count": 15, "exclude_defaults": ["lm_head"]},
        "risks": [],
    }
    (folder / "model_analysis.json").write_text(json.dumps(document), encoding="utf-8")


def choice(plan: QuantPlan) -> dict[str, Any]:
    """Return what a plan says that an alternative says too."""
    document = plan.model_dump()
    return {name: document[name] for name in document["alternatives"][0] if name in document}


class TestDrafting:
    def test_without_a_terminal_the_plan_waits_for_a_confirmation(self, analysed: Path, run: Run) -> None:
        done = run(*ON)
        plan = read_plan(analysed / PLAN)
        assert plan.requires_confirmation
        assert not plan.rejected
        assert "a draft. Next: solve confirm" in done.said

    def test_the_recommended_alternative_is_drafted(self, analysed: Path, run: Run) -> None:
        for goal, name in (("accuracy", "lowest risk"), ("size", "smallest"), ("speed", "fastest")):
            assert run(*ON, "--goal", goal).code == 0
            plan = read_plan(analysed / PLAN)
            chosen = next(item for item in plan.alternatives if item.id == plan.chosen)
            assert name in chosen.name.split(", ")

    def test_a_draft_replaces_a_draft(self, draft_file: Path, analysed: Path, run: Run) -> None:
        assert run(*ON, "--choose", "3").code == 0
        assert read_plan(draft_file).chosen == 3

    def test_the_plan_may_have_another_name(self, analysed: Path, run: Run) -> None:
        (analysed / "plans").mkdir()
        done = run(*ON, "-o", "plans/mine.json")
        assert "Wrote plans/mine.json, a draft. Next: solve confirm plans/mine.json" in done.said
        assert not (analysed / PLAN).exists()
        assert run("confirm", "plans/mine.json").code == 0
        assert run("export", "plans/mine.json").code == 0

    def test_yes_writes_a_confirmed_plan_of_the_chosen_alternative(self, analysed: Path, run: Run) -> None:
        done = run(*ON, "--choose", "2", "--yes")
        assert done.code == 0
        assert f"Wrote {PLAN}, confirmed. Next: solve export {PLAN}" in done.said
        plan = read_plan(analysed / PLAN)
        assert (plan.chosen, plan.requires_confirmation) == (2, False)
        alternative = next(item for item in plan.alternatives if item.id == 2)
        assert choice(plan) == {name: value for name, value in alternative.model_dump().items() if name in choice(plan)}

    def test_the_analysis_that_it_rests_on_is_named(self, analysed: Path, run: Run) -> None:
        run(*ON)
        assert read_plan(analysed / PLAN).model.analysis_ref == "./model_analysis.json"
        run(MODEL, *ON)
        assert read_plan(analysed / PLAN).model.analysis_ref.startswith("config-sha256:")


class TestAConfirmedPlan:
    @pytest.mark.parametrize("flags", [(), ("--choose", "2"), ("--json", "--choose", "2"), ("-o", PLAN)], ids=str)
    def test_is_not_replaced_by_a_draft(
        self, flags: tuple[str, ...], confirmed_file: Path, analysed: Path, run: Run
    ) -> None:
        before = confirmed_file.read_bytes()
        done = run(*ON, *flags)
        assert done.code == 2
        assert "which a draft does not replace" in done.said + done.out
        assert confirmed_file.read_bytes() == before

    def test_does_not_stand_in_the_way_of_another_file(self, confirmed_file: Path, analysed: Path, run: Run) -> None:
        before = confirmed_file.read_bytes()
        assert run(*ON, "-o", "other.json").code == 0
        assert confirmed_file.read_bytes() == before

    def test_does_not_stand_in_the_way_of_an_answer_alone(self, confirmed_file: Path, analysed: Path, run: Run) -> None:
        assert run(*ON, "--json").code == 0

    def test_is_replaced_by_a_confirmed_one(self, confirmed_file: Path, analysed: Path, run: Run) -> None:
        assert run(*ON, "--choose", "3", "--yes").code == 0
        assert read_plan(confirmed_file).chosen == 3


class TestConfirm:
    @pytest.mark.parametrize("flags", [(), ("--yes",), ("-y",), (PLAN,)], ids=str)
    def test_a_draft_becomes_a_plan_and_nothing_else_changes(
        self, flags: tuple[str, ...], draft_file: Path, drafted: QuantPlan, run: Run
    ) -> None:
        assert run("confirm", *flags).code == 0
        assert read_plan(draft_file) == drafted.model_copy(update={"requires_confirmation": False})

    def test_the_plan_is_shown_before(self, draft_file: Path, drafted: QuantPlan, run: Run) -> None:
        shown = run("confirm").out
        assert drafted.global_scheme in shown
        assert "evaluation_intent" in shown

    def test_another_alternative_can_be_taken(self, draft_file: Path, run: Run) -> None:
        for number in (3, 2):
            done = run("confirm", "--choose", str(number))
            assert done.code == 0
            plan = read_plan(draft_file)
            assert (plan.chosen, plan.requires_confirmation) == (number, False)
            alternative = next(item for item in plan.alternatives if item.id == number).model_dump()
            assert choice(plan).items() <= alternative.items()
            assert plan.global_scheme in done.out

    def test_an_alternative_that_there_is_not_is_refused(self, draft_file: Path, run: Run) -> None:
        before = draft_file.read_bytes()
        refused(run("confirm", "--choose", "9"), 2, "--choose", "no alternative 9", "There are 1, 2, 3")
        assert draft_file.read_bytes() == before

    def test_a_rejection_is_recorded_and_ends_with_1(self, draft_file: Path, drafted: QuantPlan, run: Run) -> None:
        refused(run("confirm", "--reject"), 1, PLAN, "recorded as rejected")
        assert read_plan(draft_file) == drafted.model_copy(update={"rejected": True})

    def test_a_confirmed_plan_can_still_be_rejected(self, confirmed_file: Path, run: Run) -> None:
        assert run("confirm", "--reject").code == 1
        plan = read_plan(confirmed_file)
        assert plan.rejected
        assert plan.requires_confirmation

    def test_a_rejected_plan_can_still_be_confirmed(self, draft_file: Path, drafted: QuantPlan, run: Run) -> None:
        run("confirm", "--reject")
        assert run("confirm").code == 0
        assert read_plan(draft_file) == drafted.model_copy(update={"requires_confirmation": False})

    @pytest.mark.parametrize("flags", [("--yes",), ("--choose", "2")], ids=" ".join)
    def test_both_at_once_are_refused(self, flags: tuple[str, ...], draft_file: Path, run: Run) -> None:
        before = draft_file.read_bytes()
        refused(run("confirm", "--reject", *flags), 2, "--reject", "not both")
        assert draft_file.read_bytes() == before


class TestHandingOver:
    def test_a_draft_is_not_exported(self, draft_file: Path, run: Run) -> None:
        refused(run("export"), 1, "the plan is not confirmed", f"`solve confirm {PLAN}`", "--draft")

    def test_a_rejected_plan_is_not_exported(self, draft_file: Path, run: Run) -> None:
        run("confirm", "--reject")
        refused(run("export"), 1, "the plan was rejected")

    def test_a_draft_can_be_looked_at(self, draft_file: Path, run: Run) -> None:
        looked = run("export", "--draft")
        assert (looked.code, looked.err) == (0, "")
        run("confirm")
        assert run("export").out == looked.out

    def test_the_command_that_confirms_is_for_the_plan_at_hand(self, draft_file: Path, run: Run) -> None:
        draft_file.rename(draft_file.with_name("mine.json"))
        refused(run("export", "mine.json"), 1, "`solve confirm mine.json`")


class TestWithoutAnInventory:
    def test_a_draft_says_what_is_missing(self, folder: Path, run: Run) -> None:
        from_quark(folder)
        done = run(*ON)
        assert done.code == 0
        plan = read_plan(folder / PLAN)
        assert plan.requires_confirmation
        assert (plan.footprint, plan.risk, plan.proof, plan.service) == (None, None, None, None)
        assert plan.exclude_layers == ("lm_head",)
        facts = " ".join(plan.missing)
        assert all(fact in facts for fact in ("names and shapes", "bytes of the parameters", "KV cache", "model_path"))
        assert [line for line in plan.missing if line not in " ".join(done.out.split())] == []

    def test_it_cannot_be_confirmed(self, folder: Path, run: Run) -> None:
        from_quark(folder)
        run(*ON)
        before = (folder / PLAN).read_bytes()
        for flags in ((), ("--yes",), ("--choose", "1")):
            refused(run("confirm", *flags), 2, "cannot be confirmed", "names and shapes", "solve analyze MODEL")
        assert (folder / PLAN).read_bytes() == before
        assert run("export").code == 1

    def test_yes_does_not_confirm_it(self, folder: Path, run: Run) -> None:
        from_quark(folder)
        run(*ON, "--yes")
        assert read_plan(folder / PLAN).requires_confirmation

    @pytest.mark.parametrize("flags", [(), ("--yes",)], ids=str)
    def test_nobody_is_sent_to_confirm_it(self, flags: tuple[str, ...], folder: Path, run: Run) -> None:
        from_quark(folder)
        said = run(*ON, *flags).said
        assert "Next: solve confirm" not in said
        assert "solve analyze" in said

    def test_its_document_says_what_is_missing(self, folder: Path, run: Run) -> None:
        from_quark(folder)
        document = run(*ON, "--json").document
        assert document["service"] is None
        assert len(document["missing"]) == 4
        assert document["alternatives"][0]["footprint"] is None

    def test_what_was_insisted_on_is_kept(self, folder: Path, run: Run) -> None:
        from_quark(folder)
        assert run(*ON, "--kv", "fp8", "--exclude", "*q_proj", "--layer", "*down_proj=fp8").code == 0
        plan = read_plan(folder / PLAN)
        assert plan.kv_cache_scheme == "fp8"
        assert "*q_proj" in plan.exclude_layers
        assert plan.layer_quant_config == {"*down_proj": "fp8"}

    def test_a_scheme_that_there_is_not_is_refused_all_the_same(self, folder: Path, run: Run) -> None:
        from_quark(folder)
        refused(run(*ON, "--layer", "*down_proj=fp88"), 2, "'fp88'", "Did you mean fp8")

    def test_a_model_type_without_a_template_is_not_handed_to_quark_cli(self, folder: Path, run: Run) -> None:
        from_quark(folder, model_type="nonesuch")
        assert run(*ON).code == 0
        refused(run("export", "--draft"), 2, "no template", "'nonesuch'", "quark-python")

    def test_it_is_completed_where_its_model_is_bundled(self, folder: Path, run: Run) -> None:
        from_quark(folder, model_path=MODEL, model_type="qwen3")
        done = run(*ON, "--yes")
        assert done.code == 0
        plan = read_plan(folder / PLAN)
        assert not plan.requires_confirmation
        assert plan.missing == ()
        assert plan.footprint is not None
        assert plan.model.analysis_ref == "./model_analysis.json"
