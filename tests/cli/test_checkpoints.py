"""Checkpoints on the command line: what is stored is shown, and an unknown architecture is planned end to end."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import PLAN, SOLVE, Run, environment, refused
from tests.cli.terminal import Terminal
from tests.intake.checkpoints import add_tensors, change_config, save_model

ON = ("--hardware", "mi300x", "--budget", "8GB")


@pytest.fixture
def twice(folder: Path) -> Path:
    """Return a checkpoint that stores its tied head again."""
    path = save_model(folder / "twice", "qwen3", tie_word_embeddings=True)
    add_tensors(path, lm_head__weight=((256, 128), "bfloat16"))
    return path


@pytest.fixture
def unknown(folder: Path) -> Path:
    """Return a checkpoint of a type that transformers has no class for."""
    path = save_model(folder / "unknown", "deepseek_v3", shard="500KB")
    return change_config(path, model_type="nobody_knows", architectures=["NobodyForCausalLM"])


class TestAnalyze:
    def test_shows_what_is_stored_and_every_difference(self, twice: Path, run: Run) -> None:
        done = run("analyze", str(twice), "-o", "analysis.json")
        assert (done.code, done.out) == (0, "")
        inventory = json.loads(Path("analysis.json").read_text(encoding="utf-8"))["inventory"]
        assert f"({inventory['checkpoint_bytes']:,} B)" in done.said
        for item in inventory["differences"]:
            assert item["cause"] in done.said
            assert f"{item['elements']:+,}" in done.said
            assert f"{item['bytes']:+,}" in done.said
        # The last line names the file, in full: a command to copy is not wrapped.
        assert max(len(line.rstrip()) for line in done.err.splitlines()[:-1]) <= 80

    def test_into_a_pipe_is_the_document_alone(self, twice: Path, run: Run) -> None:
        done = run("analyze", str(twice))
        assert done.err == ""
        assert done.document["inventory"]["differences"][0]["cause"] == "tied head stored twice"

    def test_with_somebody_at_the_terminal_is_shown_there_too(self, twice: Path, folder: Path) -> None:
        command, document = [str(SOLVE), "analyze", str(twice)], folder / "analysis.json"
        with Terminal(command, cwd=folder, env=environment(), stdout=document, columns=80) as screen:
            assert screen.end() == 0
            assert "tied head stored twice" in screen.text
        assert json.loads(document.read_text(encoding="utf-8"))["inventory"]["stored_elements"] > 0

    def test_refuses_a_checkpoint_that_is_cut_off(self, unknown: Path, run: Run) -> None:
        shard = max(unknown.glob("*.safetensors"))
        shard.write_bytes(shard.read_bytes()[:-10])
        refused(run("analyze", str(unknown)), 2, "no complete safetensors file", "Download the file again")

    def test_asks_for_the_folder_of_a_single_file(self, twice: Path, run: Run) -> None:
        refused(run("analyze", str(twice / "model.safetensors")), 2, "Name the folder")


class TestUnknownArchitecture:
    def test_is_planned_confirmed_and_exported(self, unknown: Path, run: Run) -> None:
        done = run(str(unknown), *ON, "--yes")
        assert done.code == 0, done.err
        assert "read from the checkpoint's headers" in " ".join(done.out.split())
        plan = json.loads(Path(PLAN).read_text(encoding="utf-8"))
        assert plan["requires_confirmation"] is False
        assert plan["alternatives"][0]["footprint"] is not None
        assert any("needs the code" in risk["message"] for risk in plan["alternatives"][0]["risks"])
        assert run("export", PLAN, "--to", "quark-python").code == 0

    def test_without_a_configuration_is_a_draft_that_says_what_is_missing(self, unknown: Path, run: Run) -> None:
        (unknown / "config.json").unlink()
        done = run(str(unknown), *ON)
        assert done.code == 0, done.err
        assert "KV cache" in done.out
        assert json.loads(Path(PLAN).read_text(encoding="utf-8"))["requires_confirmation"] is True

    def test_that_is_analysed_once_is_planned_without_its_files(self, unknown: Path, run: Run) -> None:
        assert run("analyze", str(unknown), "-o", "analysis.json").code == 0
        before = run(str(unknown), *ON, "--json").document
        for path in unknown.iterdir():
            path.unlink()
        after = run("analysis.json", *ON, "--json").document
        assert after["alternatives"] == before["alternatives"]
