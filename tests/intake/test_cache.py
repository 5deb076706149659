"""Analyses kept on disk: found again by content, never in the way."""

import json
from pathlib import Path

import pytest

from solver import api
from solver.catalog import Catalog
from solver.intake.cache import cache_path
from solver.intake.source import find_source
from tests.data.zoo import ZOO, write_checkpoint
from tests.intake.frameworks import frameworks_loaded
from tests.intake.gguf_files import SMOLLM2, smollm2_tensors, write_gguf

NAME = "HuggingFaceTB/SmolLM2-360M-Instruct"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkpoint's folder, with a cache folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return write_checkpoint(ZOO[NAME], tmp_path / "model")


def kept(folder: Path, catalog: Catalog) -> Path:
    return cache_path(find_source(str(folder), catalog), catalog)


def test_an_analysis_is_kept_and_read_again(folder: Path, catalog: Catalog) -> None:
    first = api.analyze(str(folder), catalog=catalog)
    path = kept(folder, catalog)
    document = json.loads(path.read_text())
    document["assumptions"] = ["read from the cache"]
    path.write_text(json.dumps(document))
    assert api.analyze(str(folder), catalog=catalog).assumptions == ("read from the cache",)
    assert api.analyze(str(folder), catalog=catalog, cache=False) == first


def test_no_cache_keeps_nothing(folder: Path, catalog: Catalog) -> None:
    api.analyze(str(folder), catalog=catalog, cache=False)
    assert not kept(folder, catalog).exists()


def test_a_changed_configuration_or_side_file_is_another_analysis(folder: Path, catalog: Catalog) -> None:
    before = kept(folder, catalog)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    changed = kept(folder, catalog)
    (folder / "hf_quant_config.json").write_text(json.dumps({"quantization": {"quant_algo": "FP8"}}))
    assert len({before, changed, kept(folder, catalog)}) == 3


def test_any_changed_part_of_a_gguf_file_is_another_analysis(tmp_path: Path, catalog: Catalog) -> None:
    tensors = list(smollm2_tensors().items())
    parts = [tmp_path / f"model-0000{number}-of-00002.gguf" for number in (1, 2)]
    write_gguf(parts[0], "llama", SMOLLM2, dict(tensors[:100]))
    write_gguf(parts[1], "llama", {"split.no": 1}, dict(tensors[100:]))
    before = kept(parts[0], catalog)
    write_gguf(parts[1], "llama", {"split.no": 1}, dict(tensors[101:]))
    assert kept(parts[0], catalog) != before


def test_other_profiles_are_another_analysis(folder: Path, catalog: Catalog, tmp_path: Path) -> None:
    extra = tmp_path / "profiles"
    extra.mkdir()
    (extra / "mtp.yaml").write_text("source: none\nrules: []\n")
    assert kept(folder, catalog) != kept(folder, Catalog(extra))


@pytest.mark.parametrize("content", ["", "{", "[]", '{"analysis_status": "complete"}'])
def test_what_cannot_be_read_is_built_again(folder: Path, catalog: Catalog, content: str) -> None:
    path = kept(folder, catalog)
    path.parent.mkdir(parents=True)
    path.write_text(content)
    assert api.analyze(str(folder), catalog=catalog).inventory is not None
    assert json.loads(path.read_text())["analysis_status"] == "complete"


def test_a_folder_that_cannot_be_made_is_no_error(
    folder: Path, catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert api.analyze(str(folder), catalog=catalog).inventory is not None


def test_a_second_run_loads_neither_torch_nor_transformers(folder: Path) -> None:
    code = "from solver import api; api.analyze(sys.argv[1])"
    assert frameworks_loaded(code, str(folder)) == {"torch", "transformers"}
    assert frameworks_loaded(code, str(folder)) == set()
