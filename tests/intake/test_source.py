"""Finding a configuration: paths, bundled names, the hub's cache, and everything that is none of them."""

import json
import os
from pathlib import Path

import pytest
from huggingface_hub import constants

from solver import api
from solver.catalog import Catalog
from solver.errors import BadInputError, MissingError, PlannerError, UnknownNameError
from solver.intake.source import find_source
from tests.intake.conftest import LLAMA, WriteModel

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cut the network off, and return an empty folder as the hub's cache."""
    cache = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    return cache


def cached_model(cache: Path, name: str) -> Path:
    """Lay out a model as huggingface_hub caches it, and return its snapshot."""
    root = cache / f"models--{name.replace('/', '--')}"
    snapshot = root / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text(COMMIT, encoding="utf-8")
    (snapshot / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    return snapshot


def failure(model: str, catalog: Catalog) -> PlannerError:
    """Return the error that analysing `model` ends in; it fits on one line."""
    with pytest.raises(PlannerError) as caught:
        api.analyze(model, catalog=catalog)
    assert "\n" not in str(caught.value)
    return caught.value


class TestPaths:
    def test_of_a_folder_and_of_its_file_mean_the_same(self, write_model: WriteModel, catalog: Catalog) -> None:
        folder = write_model()
        by_folder = api.analyze(str(folder), catalog=catalog)
        by_file = api.analyze(str(folder / "config.json"), catalog=catalog)
        assert by_folder.inventory == by_file.inventory
        assert by_folder.model.config_sha256 == by_file.model.config_sha256

    def test_are_recorded_in_full(
        self, write_model: WriteModel, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write_model()
        monkeypatch.chdir(folder.parent)
        assert api.analyze("model", catalog=catalog).model.model_path == str(folder.resolve())

    def test_win_over_bundled_models_of_the_same_name(
        self, write_model: WriteModel, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(write_model("Qwen3-8B").parent)
        assert find_source("Qwen3-8B", catalog).kind == "folder"

    def test_may_begin_at_home(
        self, write_model: WriteModel, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write_model()
        monkeypatch.setenv("HOME", str(folder.parent))
        assert find_source("~/model", catalog).config == LLAMA

    def test_of_files_with_another_name_are_configurations_too(self, write_model: WriteModel, catalog: Catalog) -> None:
        folder = write_model()
        renamed = (folder / "config.json").rename(folder / "tiny-llama.json")
        assert find_source(str(renamed), catalog).config == LLAMA

    def test_hash_the_content_and_not_its_order(self, write_model: WriteModel, catalog: Catalog) -> None:
        one = find_source(str(write_model("a")), catalog)
        other = find_source(str(write_model("b", base=dict(reversed(LLAMA.items())))), catalog)
        changed = find_source(str(write_model("c", vocab_size=512)), catalog)
        assert one.config_sha256 == other.config_sha256 != changed.config_sha256


class TestMissing:
    def test_configuration_of_a_folder_is_named(self, tmp_path: Path, catalog: Catalog) -> None:
        error = failure(str(tmp_path), catalog)
        assert isinstance(error, BadInputError)
        assert "config.json" in error.what
        assert error.where == str(tmp_path)

    def test_configuration_that_is_a_folder_is_named(self, tmp_path: Path, catalog: Catalog) -> None:
        (tmp_path / "config.json").mkdir()
        assert isinstance(failure(str(tmp_path), catalog), BadInputError)

    @pytest.mark.parametrize("model", ["./absent", "../absent/config.json", "absent.json", "/absent/model", "~/absent"])
    def test_path_is_not_looked_for_on_the_hub(
        self, model: str, tmp_path: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        error = failure(model, catalog)
        assert isinstance(error, BadInputError)
        assert "no such file or folder" in error.what

    @pytest.mark.parametrize(
        "content", ["", "{", '{"model_type": "llama",\n "hidden', "{'a': 1}", "\ufeff{}", "[" * 20_000]
    )
    def test_json_is_named(self, content: str, tmp_path: Path, catalog: Catalog) -> None:
        path = tmp_path / "config.json"
        path.write_text(content, encoding="utf-8")
        error = failure(str(tmp_path), catalog)
        assert isinstance(error, BadInputError)
        assert "not valid JSON" in error.what
        assert error.where == str(path)

    def test_integers_without_end_are_named(self, tmp_path: Path, catalog: Catalog) -> None:
        (tmp_path / "config.json").write_text('{"vocab_size": ' + "9" * 5000 + "}", encoding="utf-8")
        assert isinstance(failure(str(tmp_path), catalog), BadInputError)

    @pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x80\x02}q\x00.", b"GGUF\x03\x00\x00\x00\xff"])
    def test_text_is_named(self, content: bytes, tmp_path: Path, catalog: Catalog) -> None:
        (tmp_path / "config.json").write_bytes(content)
        error = failure(str(tmp_path), catalog)
        assert isinstance(error, BadInputError)
        assert "not valid JSON" in error.what

    @pytest.mark.parametrize("content", ["[]", '[{"model_type": "llama"}]', "null", "7", '"llama"', "true"])
    def test_json_object_is_named(self, content: str, tmp_path: Path, catalog: Catalog) -> None:
        (tmp_path / "config.json").write_text(content, encoding="utf-8")
        error = failure(str(tmp_path), catalog)
        assert isinstance(error, BadInputError)
        assert "no JSON object" in error.what

    @pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads everything")
    def test_permission_is_named(self, write_model: WriteModel, catalog: Catalog) -> None:
        folder = write_model()
        (folder / "config.json").chmod(0)
        assert "cannot be read" in failure(str(folder), catalog).what


class TestNames:
    @pytest.mark.parametrize("model", ["Qwen/Qwen3-8B", "qwen3-8b", "Qwen3 8B"])
    def test_of_bundled_models_need_no_network(self, model: str, hub: Path, catalog: Catalog) -> None:
        source = find_source(model, catalog)
        assert (source.kind, source.name) == ("zoo", "Qwen/Qwen3-8B")

    @pytest.mark.parametrize("model", ["Qwen3-80B", "lama", "模型"])
    def test_without_an_owner_are_bundled_or_unknown(self, model: str, hub: Path, catalog: Catalog) -> None:
        assert isinstance(failure(model, catalog), UnknownNameError)

    def test_that_are_nearly_bundled_name_the_bundled_one(self, hub: Path, catalog: Catalog) -> None:
        assert "Qwen/Qwen3-8B" in str(failure("Qwen3-8", catalog))
        assert "Qwen/Qwen3-8B" in str(failure("Qwen/Qwen3-8", catalog))

    @pytest.mark.parametrize("model", ["http://hub/model", "a/b/c", "org/na me", "org/.."])
    def test_that_can_be_no_hub_id_are_bad_input(self, model: str, hub: Path, catalog: Catalog) -> None:
        assert isinstance(failure(model, catalog), BadInputError)

    @pytest.mark.parametrize("model", ["x" * 300, "org/" + "x" * 300, "~nobody-of-this-name/model", "a\0b"])
    def test_that_the_file_system_refuses_are_bad_input(self, model: str, hub: Path, catalog: Catalog) -> None:
        assert isinstance(failure(model, catalog), BadInputError)

    def test_out_of_reach_are_missing(self, hub: Path, catalog: Catalog) -> None:
        error = failure("org/model", catalog)
        assert isinstance(error, MissingError)
        assert "org/model" in str(error)


class TestHub:
    def test_cache_is_read_without_network(self, hub: Path, catalog: Catalog) -> None:
        snapshot = cached_model(hub, "org/model")
        source = find_source("org/model", catalog)
        assert source.config == LLAMA
        assert source.revision == COMMIT
        assert source.folder == snapshot

    def test_revision_is_recorded(self, hub: Path, catalog: Catalog) -> None:
        cached_model(hub, "org/model")
        for revision in (None, "main", COMMIT):
            analysis = api.analyze("org/model", catalog=catalog, revision=revision)
            assert analysis.model.revision == COMMIT

    def test_revision_of_a_bundled_model_is_asked_for_at_the_hub(self, hub: Path, catalog: Catalog) -> None:
        with pytest.raises(MissingError):
            find_source("Qwen/Qwen3-8B", catalog, revision="refs/pr/1")
        cached_model(hub, "Qwen/Qwen3-8B")
        assert find_source("Qwen/Qwen3-8B", catalog, revision="main").config == LLAMA

    def test_can_be_left_out(self, hub: Path, catalog: Catalog) -> None:
        with pytest.raises(MissingError):
            find_source("org/model", catalog, local_only=True)


class TestProfilesOfTheUser:
    def test_model_that_overrides_a_bundled_one_is_analysed(self, tmp_path: Path) -> None:
        (tmp_path / "models").mkdir()
        text = json.dumps({"name": "Qwen/Qwen3-8B", "source": "made up here", "config": LLAMA})
        (tmp_path / "models" / "Qwen__Qwen3-8B.yaml").write_text(text, encoding="utf-8")
        inventory = api.analyze("Qwen/Qwen3-8B", catalog=Catalog(tmp_path)).inventory
        assert inventory is not None
        assert inventory.hidden_size == 64

    def test_roles_hold_for_bundled_models_too(self, tmp_path: Path) -> None:
        role = {"name": "all", "kind": "dense", "parallel": "column", "patterns": ["*"]}
        text = json.dumps({"source": "made up here", "roles": [role]})
        (tmp_path / "roles.yaml").write_text(text, encoding="utf-8")
        inventory = api.analyze("Qwen/Qwen3-8B", catalog=Catalog(tmp_path)).inventory
        assert inventory is not None
        assert {family.role for family in inventory.layers} == {"all"}
