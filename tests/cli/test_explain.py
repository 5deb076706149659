"""`solve explain`: in 80 columns and as a document, of models and written plans, and what it refuses."""

import json
from pathlib import Path

import jsonschema
import pytest

from solver.catalog.paths import SCHEMAS_DIR
from tests.cli.conftest import MODEL, Run, refused

DOWN = "model.layers.3.mlp.down_proj"
ON = ("--hardware", "mi300x")
SCHEMA = json.loads((SCHEMAS_DIR / "explanation.schema.json").read_text(encoding="utf-8"))

QUESTIONS = [
    (MODEL, "--layer", DOWN, "--scheme", "mxfp4"),
    (MODEL, "--layer", "k"),
    (MODEL, "--layer", "*", "--scheme", "mx6"),
    (MODEL, "--algorithm", "awq", "--kv", "fp8"),
    ("Qwen/Qwen3-30B-A3B", "--budget", "24GB", "--layer", "*experts*"),
    ("deepseek-ai/DeepSeek-V2-Lite", "--budget", "20GB", "--layer", "mla_kv_a", "--scheme", "fp8"),
    (MODEL, "--budget", "100MB", "--layer", DOWN, "--scheme", "fp8"),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
class TestEveryAnswer:
    def test_fits_a_terminal(self, run: Run, question: tuple[str, ...]) -> None:
        done = run("explain", *question, *ON)
        assert done.code == 0, done.err
        assert max(map(len, done.out.splitlines())) <= 80
        assert "optimum" in done.out

    def test_is_one_document_that_its_schema_allows(self, run: Run, question: tuple[str, ...]) -> None:
        done = run("explain", *question, *ON, "--json")
        assert done.code == 0
        jsonschema.validate(done.document, SCHEMA)
        assert "error" not in done.document


def test_says_rule_source_and_price(run: Run) -> None:
    said = " ".join(
        run("explain", "Qwen/Qwen3-8B", *ON, "--budget", "12GB", "--layer", DOWN, "--scheme", "mxfp4").out.split()
    )
    for words in (
        "refused by 1 rule",
        "kernel-is-native",
        "yields to naming it",
        "source: vLLM 0.33.0",
        "insisted mxfp4",
    ):
        assert words in said


def test_a_written_plan_brings_its_request_and_its_choice(run: Run, draft_file: Path) -> None:
    done = run("explain", draft_file.name, "--layer", DOWN, "--json")
    written = json.loads(draft_file.read_text(encoding="utf-8"))
    assert done.document["request"] == written["request"]
    assert sum(done.document["written"].values()) == 1
    assert done.document["model"] == MODEL
    assert "the plan that was read gives them" in run("explain", draft_file.name, "--layer", DOWN).out


def test_flags_go_before_the_request_of_a_plan(run: Run, draft_file: Path) -> None:
    done = run("explain", draft_file.name, "--layer", DOWN, "--tp", "2", "--budget", "1GB", "--json")
    assert (done.document["request"]["tensor_parallel"], done.document["request"]["budget_bytes"]) == (2, 10**9)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((MODEL, *ON, "--layer", "nonsense", "--scheme", "fp8"), 2, ("no layer is called 'nonsense'", "role")),
        ((MODEL, *ON, "--layer", DOWN, "--scheme", "fp9"), 2, ("unknown scheme 'fp9'", "fp8")),
        ((MODEL, *ON, "--scheme", "fp8"), 2, ("no layer", "--layer")),
        ((MODEL, *ON), 2, ("nothing is asked about",)),
        ((MODEL, "--layer", DOWN, "--hardware", "mi3000"), 2, ("unknown hardware",)),
        ((MODEL, "--layer", DOWN), 4, ("no hardware is named",)),
        ((MODEL, *ON, "--layer", DOWN, "--budget", "12"), 2, ("no unit",)),
        ((MODEL, *ON, "--algorithm", "magic"), 2, ("unknown algorithm 'magic'",)),
        ((MODEL, *ON, "--layer", "[", "--scheme", "fp8"), 2, ("no layer is called '['",)),
        ((MODEL, *ON, "--layer", "", "--scheme", "fp8"), 2, ("no layer is called ''",)),
    ],
)
def test_nonsense_is_refused_in_words(
    run: Run, folder: Path, arguments: tuple[str, ...], code: int, words: tuple[str, ...]
) -> None:
    refused(run("explain", *arguments), code, *words)
    document = run("explain", *arguments, "--json").document
    jsonschema.validate(document, SCHEMA)
    assert document["error"]["exit_code"] == code
