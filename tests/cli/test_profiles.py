"""`solve profiles`, and a folder of a user's own profiles on top of the bundled ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from solver.catalog import Catalog
from tests.cli.conftest import MODEL, Run, refused

SECTIONS = ("schemes", "algorithms", "templates", "hardware", "backends", "stored_formats", "models")


def add(folder: Path, catalog: Catalog, name: str = "mi300x", *, file: str | None = None, **fields: Any) -> Path:
    """Write a hardware profile into a folder of profiles: a bundled one with these fields (JSON is YAML)."""
    content = catalog.hardware.get("mi300x").model_dump(mode="json", exclude_none=True)
    path = folder / "mine" / "hardware" / f"{file or name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**content, "name": name, **fields}), encoding="utf-8")
    return path


class TestList:
    @pytest.mark.parametrize("section", SECTIONS)
    def test_names_every_entry_of_the_section(self, section: str, run: Run, catalog: Catalog) -> None:
        shown = run("profiles", "list", section)
        assert (shown.code, shown.err) == (0, "")
        entries = list(getattr(catalog, section))
        assert len(entries) > 5
        key = "model_type" if section == "templates" else "name"
        assert [getattr(entry, key) for entry in entries if getattr(entry, key) not in shown.out] == []

    @pytest.mark.parametrize("section", SECTIONS)
    def test_takes_the_name_of_one_entry_for_the_section(self, section: str, run: Run) -> None:
        assert run("profiles", "list", section.removesuffix("s")) == run("profiles", "list", section)

    def test_tells_the_sections_in_its_help(self, run: Run) -> None:
        text = run("profiles", "list", "--help").out
        assert [section for section in SECTIONS if section not in text] == []


class TestShow:
    @pytest.mark.parametrize("name", ["mi300x", "MI300X", "AMD Instinct MI300X", "amd instinct mi300x"])
    def test_finds_an_entry_by_name_title_or_alias(self, name: str, run: Run) -> None:
        done = run("profiles", "show", "hardware", name)
        assert (done.code, done.err) == (0, "")
        assert done.document["name"] == "mi300x"

    @pytest.mark.parametrize(
        ("section", "name", "key", "value"),
        [
            ("schemes", "ptpc_fp8", "name", "ptpc_fp8"),
            ("algorithms", "AWQ", "name", "awq"),
            ("templates", "qwen3", "model_type", "qwen3"),
            ("backends", "vLLM", "name", "vllm"),
            ("models", "qwen3-8b", "name", "Qwen/Qwen3-8B"),
            ("model", "Qwen/Qwen3-8B", "name", "Qwen/Qwen3-8B"),
        ],
    )
    def test_works_in_every_section(self, section: str, name: str, key: str, value: str, run: Run) -> None:
        assert run("profiles", "show", section, name).document[key] == value

    def test_gives_every_number_its_unit_and_source(self, run: Run) -> None:
        memory = run("profiles", "show", "hardware", "mi300x").document["memory"]
        assert memory["value"] == 206141652992
        assert memory["unit"] == "B"
        assert memory["source"]


class TestOwnProfiles:
    def test_add_an_entry(self, analysed: Path, catalog: Catalog, run: Run) -> None:
        memory = {"value": 10 * 10**9, "unit": "B", "source": "a made-up device"}
        add(analysed, catalog, "mi999x", title="AMD Instinct MI999X", aliases=["nine"], memory=memory)
        flags = ("--profiles", "mine")
        assert "mi999x" in run("profiles", "list", "hardware", *flags).out
        assert run("profiles", "show", "hardware", "Nine", *flags).document["name"] == "mi999x"
        service = run("--hardware", "nine", *flags, "--json").document["service"]
        assert service["hardware"] == "mi999x"
        assert service["budget_bytes"] < 10 * 10**9
        refused(run("--hardware", "nine"), 2, "unknown hardware 'nine'")

    def test_override_an_entry(self, analysed: Path, catalog: Catalog, run: Run) -> None:
        memory = {"value": 4 * 10**9, "unit": "B", "source": "a slice of the device"}
        add(analysed, catalog, memory=memory)
        bundled, own = (run("--hardware", "mi300x", *flags, "--json") for flags in ((), ("--profiles", "mine")))
        assert own.document["service"]["budget_bytes"] < 4 * 10**9 < bundled.document["service"]["budget_bytes"]
        fingerprints = [done.document["provenance"]["profiles_sha256"] for done in (bundled, own)]
        assert fingerprints[0] != fingerprints[1]

    def test_a_field_that_there_is_not_is_named_with_its_file(self, analysed: Path, catalog: Catalog, run: Run) -> None:
        add(analysed, catalog, colour="red")
        refused(run("--hardware", "mi300x", "--profiles", "mine"), 2, "mine/hardware/mi300x.yaml", "colour")

    @pytest.mark.parametrize(
        ("fields", "field"),
        [
            ({"vendor": "ACME"}, "vendor"),
            ({"memory": {"value": 1.0, "unit": "GB", "source": "nowhere"}}, "memory.unit"),
            ({"memory": {"value": 1.0, "unit": "B"}}, "memory.source"),
            ({"memory": {"value": -1.0, "unit": "B", "source": "nowhere"}}, "memory.value"),
            ({"memory": {"value": "many", "unit": "B", "source": "nowhere"}}, "memory.value"),
            ({"bandwidth": {"value": 0, "unit": "B/s", "source": "nowhere"}}, "bandwidth.value"),
        ],
        ids=str,
    )
    def test_a_value_that_cannot_be_is_named_with_its_file(
        self, fields: dict[str, Any], field: str, analysed: Path, catalog: Catalog, run: Run
    ) -> None:
        add(analysed, catalog, **fields)
        refused(run("--hardware", "mi300x", "--profiles", "mine"), 2, "mine/hardware/mi300x.yaml", field)

    def test_a_key_that_is_there_twice_is_refused(self, analysed: Path, catalog: Catalog, run: Run) -> None:
        path = add(analysed, catalog)
        path.write_text(path.read_text(encoding="utf-8").replace("{", '{"vendor": "AMD", ', 1), encoding="utf-8")
        done = run("--hardware", "mi300x", "--profiles", "mine")
        refused(done, 2, "mine/hardware/mi300x.yaml", "duplicate key", "vendor")
        assert "suppress" not in done.said

    @pytest.mark.parametrize("content", ["a: [", "just text", "", "[1, 2]", "\x00"])
    def test_a_file_that_is_no_profile_is_named(self, content: str, analysed: Path, catalog: Catalog, run: Run) -> None:
        add(analysed, catalog).write_text(content, encoding="utf-8")
        refused(run("--hardware", "mi300x", "--profiles", "mine"), 2, "mine/hardware/mi300x.yaml")

    def test_a_stack_that_there_is_not_is_named(self, analysed: Path, catalog: Catalog, run: Run) -> None:
        add(analysed, catalog, default_backend="vlm")
        refused(run("--hardware", "mi300x", "--profiles", "mine"), 2, "unknown backend 'vlm'", "vllm")

    def test_a_model_of_ones_own_can_be_planned_for(self, folder: Path, run: Run, catalog: Catalog) -> None:
        model = catalog.models.get(MODEL).model_dump(mode="json", exclude_none=True)
        model |= {"name": "me/mine", "aliases": [], "config": {**model["config"], "num_hidden_layers": 4}}
        models = folder / "mine" / "models"
        models.mkdir(parents=True)
        (models / "mine.yaml").write_text(json.dumps(model), encoding="utf-8")
        done = run("me/mine", "--hardware", "mi300x", "--profiles", "mine", "--json")
        assert done.code == 0, done.err
        assert done.document["model"]["model_path"] == "me/mine"
        assert done.document["model"]["elements_total"] < catalog_elements(run)


def catalog_elements(run: Run) -> int:
    """Return the parameters of the bundled model that the own one is cut from."""
    return int(run(MODEL, "--hardware", "mi300x", "--json").document["model"]["elements_total"])
