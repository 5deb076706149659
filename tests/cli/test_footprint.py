"""`solve footprint`: the whole bill on a terminal and as a document, and what it refuses."""

import json

import jsonschema
import pytest

from solver.catalog.paths import SCHEMAS_DIR
from tests.cli.conftest import MODEL, Run, refused

COMMAND = ("footprint", MODEL, "--hardware", "mi300x")


def test_prints_a_table_that_fits_and_says_what_to_do_next(run: Run) -> None:
    done = run(*COMMAND)
    assert done.code == 0
    assert max(len(line) for line in done.out.splitlines() if not line.startswith("Next:")) <= 80
    assert "unquantized" in done.out
    assert "uint4_wo_128" in done.out
    assert "estimates by roofline" in done.out
    assert f"Next: solve {MODEL} --hardware mi300x --budget 40GB" in done.out


@pytest.mark.parametrize(
    ("model", "devices", "label"),
    [
        ("deepseek-ai/DeepSeek-V3", "8", "as stored (fp8)"),
        ("openai/gpt-oss-20b", "1", "as stored (mxfp4)"),
        (MODEL, "1", "unquantized"),
    ],
)
def test_calls_the_first_line_what_the_checkpoint_is(model: str, devices: str, label: str, run: Run) -> None:
    done = run("footprint", model, "--hardware", "mi355x", "--tp", devices)
    assert max(len(line) for line in done.out.splitlines() if not line.startswith("Next:")) <= 80
    ruled = next(number for number, line in enumerate(done.out.splitlines()) if line.strip(" ─") == "" != line.strip())
    assert done.out.splitlines()[ruled + 1].startswith(f"  {label} ")
    assert ("unquantized" in done.out) == (label == "unquantized")


def test_the_next_command_asks_solve_for_the_same_service(run: Run) -> None:
    flags = ("--context", "4k", "--tp", "2", "--kv", "fp8", "--concurrency", "3", "--budget", "6GB")
    billed = run(*COMMAND, *flags)
    said = billed.out.splitlines()[-1].removeprefix("Next: solve ")
    answer = run(*said.split(), "--json").document
    assert answer["service"] == run(*COMMAND, *flags, "--json").document["service"]
    assert all(plan["kv_cache_scheme"] == "fp8" for plan in answer["alternatives"])


def test_stages_are_told_to_be_for_bills_alone(run: Run) -> None:
    said = run(*COMMAND, "--pp", "2").out.splitlines()[-1]
    assert said == f"`solve` plans without pipeline stages. As one stage: solve {MODEL} --hardware mi300x"


def test_marks_what_does_not_fit(run: Run) -> None:
    document = run(*COMMAND, "--budget", "2GB", "--json").document
    fits = {bill["scheme"]: bill["fits"] for bill in document["bills"]}
    assert fits["native"] is False
    for bill in document["bills"]:
        assert bill["fits"] == (bill["footprint"]["total_bytes"] <= 2 * 10**9)
        assert (bill["longest_context"] >= document["service"]["context"]) == bill["fits"]


def test_prints_one_document_that_its_schema_allows(run: Run) -> None:
    done = run(*COMMAND, "--json", "--kv", "fp8", "--tp", "2", "--pp", "2", "--mtp", "keep", "--context", "4k")
    document = done.document
    jsonschema.validate(document, json.loads((SCHEMAS_DIR / "footprint.schema.json").read_text()))
    assert document["pipeline_stages"] == 2
    assert document["kv_cache_scheme"] == "fp8"
    assert document["service"]["context"] == 4096


def test_lists_emulated_schemes_when_told(run: Run) -> None:
    plain, emulated = (run(*COMMAND, "--json", *more).document for more in ((), ("--allow-emulated",)))
    names = [{bill["scheme"] for bill in document["bills"]} for document in (plain, emulated)]
    assert names[0] < names[1]
    assert "mxfp4" in names[1] - names[0]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--pp", "99"), "28 blocks do not fill 99 stages"),
        (("--budget", "12"), "has no unit"),
        (("--budget", "500GB"), "one AMD Instinct MI300X has"),
        (("--context", "9M"), "no number of tokens"),
        (("--context", "999999"), "the model's own limit is 40960"),
        (("--backend", "nobody"), "unknown backend"),
        (("--kv", "fp8", "--backend", "llama_cpp"), "fp8"),
    ],
)
def test_refuses_what_it_cannot_bill(flags: tuple[str, ...], message: str, run: Run) -> None:
    refused(run(*COMMAND, *flags), 2, message)
