"""`solve doctor` without Quark: what is installed and what the profiles know."""

import json
from importlib.metadata import version
from pathlib import Path

import jsonschema

from solver.catalog import Catalog
from solver.catalog.paths import SCHEMAS_DIR
from solver.quark.installed import quark_version
from tests.cli.conftest import Run, refused

SCHEMA = json.loads((SCHEMAS_DIR / "drift.schema.json").read_text(encoding="utf-8"))


def test_says_what_is_installed_in_80_columns(folder: Path, run: Run) -> None:
    done = run("doctor", "--quark", "no")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    said = " ".join(done.out.split())
    for package in ("ortools", "torch", "transformers"):
        assert f"{package} {version(package)}" in said
    assert "not compared with the profiles: not asked" in said


def test_is_one_document_that_counts_the_profiles(folder: Path, run: Run, catalog: Catalog) -> None:
    done = run("doctor", "--quark", "no", "--json")
    assert (done.code, done.err) == (0, "")
    jsonschema.validate(done.document, SCHEMA)
    sections = {part["section"]: part["entries"] for part in done.document["profiles"]}
    assert sections["schemes"] == len(catalog.schemes) > 20
    assert done.document["profiles_sha256"] == catalog.fingerprint
    assert (done.document["quark_version"], done.document["items"]) == (None, [])


def test_counts_a_users_profiles_too(folder: Path, run: Run) -> None:
    (folder / "more" / "algorithms").mkdir(parents=True)
    text = "{name: mine, summary: s, offered: false, fits: [], gain_confidence: judgement, source: here}"
    (folder / "more" / "algorithms" / "mine.yaml").write_text(text, encoding="utf-8")
    counts = [
        {
            part["section"]: part["entries"]
            for part in run("doctor", "--quark", "no", "--json", *more).document["profiles"]
        }
        for more in ((), ("--profiles", "more"))
    ]
    assert counts[1]["algorithms"] == counts[0]["algorithms"] + 1


def test_refuses_profiles_that_are_no_folder(folder: Path, run: Run) -> None:
    refused(run("doctor", "--quark", "no", "--profiles", "nowhere"), 2, "--profiles nowhere", "is no folder")


def test_tells_the_known_defects_of_the_quark_that_is_installed(folder: Path, run: Run, catalog: Catalog) -> None:
    done = run("doctor", "--quark", "no", "--json")
    installed = quark_version()
    known = {item.name for item in catalog.defects if installed is not None and item.affects(installed)}
    assert {item["name"] for item in done.document["defects"]} == known
    said = run("doctor", "--quark", "no").out
    assert [name for name in known if name not in said] == []


def test_leaves_out_defects_of_other_versions(folder: Path, run: Run) -> None:
    (folder / "more" / "defects").mkdir(parents=True)
    text = "{name: mine, quark: '<0.1', sentence: It fails., instead: wait, source: here}"
    (folder / "more" / "defects" / "mine.yaml").write_text(text, encoding="utf-8")
    counted = run("doctor", "--quark", "no", "--json", "--profiles", "more").document
    assert "mine" not in {item["name"] for item in counted["defects"]}
    assert {part["section"]: part["entries"] for part in counted["profiles"]}["defects"] > len(counted["defects"])
