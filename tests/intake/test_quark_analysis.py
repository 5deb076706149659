"""Analyses that come from files: ours, those of Quark's intake, and those that cannot be used."""

import json
from pathlib import Path
from typing import Any

import pytest

from solver import api
from solver.catalog import Catalog
from solver.errors import BadInputError, MissingError, PlannerError
from solver.intake.read import complete_analysis, load_analysis
from tests.intake.conftest import Built, WriteModel


def from_quark(model_path: str, **fields: object) -> dict[str, Any]:
    """Return an analysis as Quark's own intake writes it: names and risks, no layers and no shapes."""
    return {
        "analysis_status": "complete",
        "model": {"model_path": model_path, "model_type": "llama", "trust_remote_code": False},
        "quantization_targets": {
            "linear_layer_count": 15,
            "has_non_linear_experts": False,
            "exclude_defaults": ["lm_head"],
        },
        "risks": [{"severity": "low", "message": "a risk that Quark saw", "recovery_hint": "look at it"}],
        **fields,
    }


def write(folder: Path, document: object, name: str = "model_analysis.json") -> Path:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


class TestOfQuark:
    def test_is_completed_from_the_configuration_it_names(
        self, write_model: WriteModel, tmp_path: Path, catalog: Catalog
    ) -> None:
        folder = write_model()
        analysis = api.analyze(str(write(tmp_path, from_quark(str(folder)))), catalog=catalog)
        assert analysis.analysis_status == "complete"
        assert analysis.missing == ()
        assert analysis.inventory == api.analyze(str(folder), catalog=catalog).inventory

    def test_is_completed_from_a_bundled_model(self, tmp_path: Path, catalog: Catalog) -> None:
        path = write(tmp_path, from_quark("HuggingFaceTB/SmolLM2-135M-Instruct"))
        inventory = api.analyze(str(path), catalog=catalog).inventory
        assert inventory is not None
        assert inventory.elements_total == 134_515_008

    def test_keeps_its_risks(self, write_model: WriteModel, tmp_path: Path, catalog: Catalog) -> None:
        folder = write_model(quantization_config={"quant_method": "fp8"})
        analysis = api.analyze(str(write(tmp_path, from_quark(str(folder)))), catalog=catalog)
        messages = [risk.message for risk in analysis.risks]
        assert "a risk that Quark saw" in messages
        assert any("already quantized" in message for message in messages)

    @pytest.mark.parametrize("model_path", ["/absent/model", "org/never-downloaded-model", "no such model", ""])
    def test_is_partial_where_the_configuration_is_out_of_reach(
        self, model_path: str, tmp_path: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        analysis = api.analyze(str(write(tmp_path, from_quark(model_path))), catalog=catalog)
        assert analysis.inventory is None
        assert analysis.analysis_status == "partial"
        facts = " ".join(analysis.missing)
        assert all(word in facts for word in ("shapes", "bytes", "KV cache", "model_path"))

    def test_is_partial_where_the_configuration_is_broken(
        self, write_model: WriteModel, tmp_path: Path, catalog: Catalog
    ) -> None:
        folder = write_model(hidden_size=-64)
        analysis = api.analyze(str(write(tmp_path, from_quark(str(folder)))), catalog=catalog)
        assert analysis.analysis_status == "partial"
        assert any("cannot build" in fact for fact in analysis.missing)

    def test_keeps_what_it_says_while_it_is_partial(self, tmp_path: Path, catalog: Catalog) -> None:
        document = from_quark("/absent/model", run_id="r1")
        analysis = api.analyze(str(write(tmp_path, document)), catalog=catalog)
        written = analysis.document()
        assert written["run_id"] == "r1"
        assert written["quantization_targets"] == document["quantization_targets"]
        assert written["risks"] == document["risks"]

    def test_needs_only_what_the_contract_requires(self, tmp_path: Path, catalog: Catalog) -> None:
        document = {
            "analysis_status": "partial",
            "model": {"model_path": "/absent", "model_type": "llama"},
            "quantization_targets": {"linear_layer_count": 0, "exclude_defaults": []},
            "risks": [{"severity": "high", "message": "something"}],
        }
        assert load_analysis(write(tmp_path, document)).inventory is None


class TestOfOurs:
    def test_is_read_back_as_it_was(self, built: Built, tmp_path: Path, catalog: Catalog) -> None:
        analysis = built("openai/gpt-oss-20b")
        path = write(tmp_path, analysis.document())
        assert load_analysis(path) == analysis
        assert complete_analysis(load_analysis(path), catalog) == analysis
        assert api.analyze(str(path), catalog=catalog) == analysis

    def test_needs_no_configuration_any_more(self, write_model: WriteModel, tmp_path: Path, catalog: Catalog) -> None:
        folder = write_model()
        path = write(tmp_path, api.analyze(str(folder), catalog=catalog).document())
        (folder / "config.json").unlink()
        assert api.analyze(str(path), catalog=catalog).analysis_status == "complete"

    def test_may_have_another_name(self, built: Built, tmp_path: Path, catalog: Catalog) -> None:
        path = write(tmp_path, built("Qwen/Qwen3-8B").document(), "qwen3.analysis.json")
        assert api.analyze(str(path), catalog=catalog) == built("Qwen/Qwen3-8B")


class TestUnusable:
    def test_for_want_of_a_file(self, tmp_path: Path) -> None:
        with pytest.raises(MissingError) as caught:
            load_analysis(tmp_path / "model_analysis.json")
        assert "solve analyze" in str(caught.value)

    @pytest.mark.parametrize("content", ["", "{", "\ufeff{}", "[" * 20_000])
    def test_for_broken_json(self, content: str, tmp_path: Path) -> None:
        with pytest.raises(BadInputError, match="not valid JSON") as caught:
            load_analysis(write(tmp_path, content))
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("content", ["[]", "null", "7", "{}"])
    def test_for_another_kind_of_document(self, content: str, tmp_path: Path) -> None:
        with pytest.raises(BadInputError, match="no valid model analysis") as caught:
            load_analysis(write(tmp_path, content))
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"analysis_status": "finished"}, "analysis_status"),
            ({"model": {"model_path": "x"}}, "model.model_type"),
            ({"quantization_targets": {"linear_layer_count": -1, "exclude_defaults": []}}, "linear_layer_count"),
            ({"risks": [{"severity": "huge", "message": "m"}]}, "risks.0.severity"),
            ({"inventory": {}}, "inventory.dtype"),
        ],
    )
    def test_for_wrong_fields_names_them(self, change: dict[str, object], field: str, tmp_path: Path) -> None:
        with pytest.raises(BadInputError) as caught:
            load_analysis(write(tmp_path, from_quark("x", **change)))
        assert field in caught.value.what
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            (("dtype",), "bf16"),
            (("elements_total",), -1),
            (("hidden_size",), 0),
            (("blocks",), -1),
            (("layers", 0, "role"), "no_such_role"),
            (("layers", 0, "experts"), -1),
            (("layers", 0, "blocks"), [{"first": 3, "last": 1}]),
            (("layers", 0, "colour"), "red"),
            (("caches", 0, "blocks"), -1),
            (("caches", 0, "kv_heads"), 0),
            (("caches", 0, "window"), -5),
        ],
    )
    def test_for_an_inventory_that_cannot_be(
        self, path: tuple[str | int, ...], value: object, built: Built, tmp_path: Path, catalog: Catalog
    ) -> None:
        document = built("HuggingFaceTB/SmolLM2-135M-Instruct").document()
        part: Any = document["inventory"]
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value
        with pytest.raises(PlannerError) as caught:
            api.analyze(str(write(tmp_path, document)), catalog=catalog)
        assert str(path[-1]) in str(caught.value)
