"""The gist of an analysis: where its numbers come from, and what a checkpoint holds or may hold besides."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from solver.catalog import Catalog
from solver.intake.analysis import ModelAnalysis
from solver.intake.analyze import analyze_source
from solver.intake.source import find_source
from solver.report.analysis import summary
from tests.conftest import Analyse
from tests.data.zoo import ZOO
from tests.intake.checkpoints import add_tensors, save_model


def printed(analysis: ModelAnalysis) -> str:
    console = Console(width=80, record=True, file=StringIO())
    console.print(summary(analysis))
    text = console.export_text()
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    return " ".join(text.split())


def of_configuration(name: str, folder: Path, catalog: Catalog) -> ModelAnalysis:
    path = folder / "model.json"
    path.write_text(json.dumps(ZOO[name]["config"]), encoding="utf-8")
    return analyze_source(find_source(str(path), catalog), catalog)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        # The hub counts these elements in the files.
        ("Qwen/Qwen3-0.6B", "published 751,632,384 elements: tied head stored twice +155,582,464"),
        ("deepseek-ai/DeepSeek-V3", "published 684,531,386,000 elements: the same"),
        ("openai/gpt-oss-20b", "published 20,914,757,184 elements: those of the built model"),
    ],
)
def test_bundled_models_have_their_published_count(model: str, told: str, analyse: Analyse) -> None:
    text = printed(analyse(model))
    assert told in text
    assert "elements, by the configuration" in text
    assert "may also hold" not in text


def test_a_configuration_alone_tells_what_a_checkpoint_may_hold(tmp_path: Path, catalog: Catalog) -> None:
    # Of both is published what their checkpoints hold beside the model: exactly these.
    for name, elements, cause in (
        ("Qwen/Qwen3-1.7B", 151_936 * 2048, "tied head stored twice"),
        ("openai-community/gpt2", 12 * 1024**2, "causal masks of old checkpoints"),
        ("meta-llama/Llama-2-13b-hf", 40 * 64, "rotary buffers of old checkpoints"),
    ):
        analysis = of_configuration(name, tmp_path, catalog)
        assert f"may also hold {cause} +{elements:,}" in printed(analysis)
        assert analysis.inventory is not None
        assert analysis.inventory.elements_total + elements == ZOO[name]["published_elements"]
        possible = {item["cause"]: item["elements"] for item in analysis.document()["possible_differences"]}
        assert possible[cause] == elements


def test_an_untied_head_is_nowhere_twice(tmp_path: Path, catalog: Catalog) -> None:
    analysis = of_configuration("Qwen/Qwen3-14B", tmp_path, catalog)
    assert analysis.possible_differences == ()
    assert "may also hold" not in printed(analysis)


def test_headers_leave_nothing_open(tmp_path: Path, catalog: Catalog) -> None:
    folder = save_model(tmp_path, "qwen3", tie_word_embeddings=True)
    stored = analyze_source(find_source(str(folder), catalog), catalog)
    text = printed(stored)
    assert "stored" in text
    assert "by the configuration" not in text
    assert "may also hold" not in text
    (folder / "model.safetensors").unlink()
    alone = analyze_source(find_source(str(folder), catalog), catalog)
    assert "by the configuration" in printed(alone)
    assert [item.cause for item in alone.possible_differences] == ["tied head stored twice"]


def test_what_a_checkpoint_may_hold_is_what_one_does(tmp_path: Path, catalog: Catalog) -> None:
    folder = save_model(tmp_path, "qwen3", tie_word_embeddings=True)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    add_tensors(folder, lm_head__weight=((config["vocab_size"], config["hidden_size"]), "bfloat16"))
    (held,) = analyze_source(find_source(str(folder), catalog), catalog).inventory.differences  # type: ignore[union-attr]
    (folder / "model.safetensors").unlink()
    (possible,) = analyze_source(find_source(str(folder), catalog), catalog).possible_differences
    assert (held.cause, held.elements, held.bytes) == (possible.cause, possible.elements, possible.bytes)
