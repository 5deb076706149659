"""`solve verify`: in 80 columns and as a document, of plans that hold and of plans that do not."""

import json
from pathlib import Path

import jsonschema
import pytest

from solver.catalog.paths import SCHEMAS_DIR
from tests.cli.conftest import MODEL, PLAN, Run, refused

SCHEMA = json.loads((SCHEMAS_DIR / "verification.schema.json").read_text(encoding="utf-8"))
ALONE = ("verify", PLAN, "--quark", "no")


@pytest.fixture
def changed_file(confirmed_file: Path) -> Path:
    """Return a confirmed plan with a byte too many."""
    document = json.loads(confirmed_file.read_text(encoding="utf-8"))
    document["footprint"]["weights_bytes"] += 1
    confirmed_file.write_text(json.dumps(document), encoding="utf-8")
    return confirmed_file


class TestAPlanThatHolds:
    def test_ends_with_0_and_says_what_was_compared(self, confirmed_file: Path, run: Run) -> None:
        done = run(*ALONE)
        assert done.code == 0, done.out
        assert max(map(len, done.out.splitlines())) <= 80
        lines = [line.split() for line in done.out.splitlines()]
        held = {words[0] for words in lines if words[1:2] == ["holds"]}
        assert held == {
            "schema",
            "hashes",
            "model",
            "service",
            "choice",
            "patterns",
            "rules",
            "bytes",
            "risk",
            "time",
            "notes",
            "alternatives",
        }
        assert "197 layers" in done.out
        assert done.out.splitlines()[-1].startswith("The plan holds: 12 checks")

    def test_is_one_document(self, confirmed_file: Path, run: Run) -> None:
        done = run(*ALONE, "--json")
        assert (done.code, done.err) == (0, "")
        jsonschema.validate(done.document, SCHEMA)
        assert done.document["holds"]

    def test_may_be_a_draft_that_was_rejected(self, draft_file: Path, run: Run) -> None:
        run("confirm", "--reject")
        done = run(*ALONE)
        assert done.code == 0
        assert "not confirmed" in done.out


class TestAPlanThatDoesNotHold:
    def test_ends_with_1_and_says_where(self, changed_file: Path, run: Run) -> None:
        right = json.loads(changed_file.read_text(encoding="utf-8"))["footprint"]["weights_bytes"] - 1
        done = run(*ALONE)
        assert done.code == 1
        assert max(map(len, done.out.splitlines())) <= 80
        said = " ".join(done.out.split())
        assert f"footprint.weights_bytes expected {right:,} found {right + 1:,}" in said
        assert said.endswith("The plan does not hold: 2 differences in choice, bytes.")

    def test_is_one_document(self, changed_file: Path, run: Run) -> None:
        done = run(*ALONE, "--json")
        assert (done.code, done.err) == (1, "")
        jsonschema.validate(done.document, SCHEMA)
        assert not done.document["holds"]
        assert [check["name"] for check in done.document["checks"] if check["verdict"] == "differs"] == [
            "choice",
            "bytes",
        ]

    def test_of_another_model_says_so(self, confirmed_file: Path, run: Run) -> None:
        done = run(*ALONE, "--model", "Qwen/Qwen3-4B")
        assert done.code == 1
        assert "analysed anew: Qwen/Qwen3-4B" in done.out
        assert "model.config_sha256" in done.out


class TestWhatIsNoPlan:
    def test_is_missing(self, folder: Path, run: Run) -> None:
        refused(run(*ALONE), 4, PLAN, "there is no plan")

    @pytest.mark.parametrize("text", ["{}", "[]", "nothing", '{"requires_confirmation": true}', "\x00"])
    def test_is_refused(self, text: str, folder: Path, run: Run) -> None:
        (folder / PLAN).write_text(text, encoding="utf-8")
        refused(run(*ALONE), 2, PLAN, "is no plan of this tool")

    def test_is_a_document_where_one_is_asked_for(self, folder: Path, run: Run) -> None:
        done = run(*ALONE, "--json")
        assert (done.code, done.err) == (4, "")
        jsonschema.validate(done.document, SCHEMA)
        assert done.document["error"]["kind"] == "missing"

    @pytest.mark.parametrize(
        ("field", "value", "words"),
        [
            ("hardware", "mi999", ("mi999",)),
            ("concurrency", "many", ("concurrency",)),
            ("nonsense", 1, ("nonsense",)),
            ("calibration", {"dataset": "none"}, ("'none'",)),
        ],
    )
    def test_has_a_request_that_cannot_be_used(
        self, field: str, value: object, words: tuple[str, ...], confirmed_file: Path, run: Run
    ) -> None:
        document = json.loads(confirmed_file.read_text(encoding="utf-8"))
        document["request"][field] = value
        confirmed_file.write_text(json.dumps(document), encoding="utf-8")
        refused(run(*ALONE), 2, *words)

    def test_is_a_draft_without_numbers(self, folder: Path, run: Run) -> None:
        partial = {
            "analysis_status": "partial",
            "model": {"model_path": "/nowhere", "model_type": "llama"},
            "quantization_targets": {"linear_layer_count": 7, "exclude_defaults": ["lm_head"]},
            "risks": [],
        }
        (folder / "model_analysis.json").write_text(json.dumps(partial), encoding="utf-8")
        assert run("--hardware", "mi300x").code == 0
        refused(run(*ALONE, "--model", MODEL), 2, "draft without numbers")
