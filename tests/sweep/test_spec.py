"""What a sweep is over: files, flags and globs."""

from pathlib import Path
from typing import Any

import pytest

from solver.catalog import Catalog
from solver.errors import BadInputError, UnknownNameError
from solver.sweep import read_sweep
from solver.sweep.cells import find_groups, find_models, fingerprint
from tests.sweep.conftest import SMALL, spec

ZOO = """
models: [Qwen/Qwen3-0.6B, "configs/*.json"]
hardware: [mi300x, h100]
budgets: [24GB, 24GiB, null]
contexts: [8k, 1000]
request: {concurrency: 4, kv_cache_scheme: fp8}
"""


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    (tmp_path / "configs").mkdir()
    for name in ("b.json", "a.json"):
        (tmp_path / "configs" / name).write_text("{}")
    path = tmp_path / "zoo.yaml"
    path.write_text(ZOO)
    return path


class TestFile:
    def test_is_read_with_its_units_and_its_own_paths(self, zoo: Path, catalog: Catalog) -> None:
        asked = read_sweep(zoo)
        assert asked.budgets == (24 * 10**9, 24 * 2**30, None)
        assert asked.contexts == (8192, 1000)
        groups = find_groups(asked, catalog)
        labels = list(dict.fromkeys(group.model.label for group in groups))
        assert labels == [SMALL, str(zoo.parent / "configs" / "a.json"), str(zoo.parent / "configs" / "b.json")]
        cells = [cell for group in groups for cell in group.cells]
        assert [cell.number for cell in cells] == list(range(3 * 2 * 2 * 3))
        assert {(cell.request.concurrency, cell.request.kv_cache_scheme) for cell in cells} == {(4, "fp8")}
        assert len({cell.request.model_dump_json() for cell in cells}) == len(cells)

    def test_flags_win(self, zoo: Path) -> None:
        asked = read_sweep(zoo, models=[SMALL], budgets=["1GB"], contexts=[], request={"concurrency": 2})
        assert (asked.models, asked.budgets, asked.contexts) == ((SMALL,), (10**9,), (8192, 1000))
        assert asked.request == {"concurrency": 2, "kv_cache_scheme": "fp8"}

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("[1, 2]", "holds no fields"),
            ("models: [x]", "no hardware is named"),
            ("hardware: [mi300x]", "no models are named"),
            ("models: x\nhardware: [mi300x]", "is no list"),
            ("models: [x]\nhardware: [mi300x]\nbudgets: [12]\nspeed: 3", "There are models"),
            ("models: [x]\nhardware: [mi300x]\nbudgets: ['12']", "has no unit"),
            ("models: [x]\nhardware: [mi300x]\nbudgets: [-1]", "budgets"),
            ("models: [x]\nhardware: [mi300x]\nrequest: {speed: 1}", "no request has speed"),
            ("models: [x]\nhardware: [mi300x]\nrequest: {concurrency: none}", "concurrency"),
            ("models: [x]\nhardware: [mi300x]\nrequest: [1]", "request"),
            ("models: [x\n", "not valid YAML"),
        ],
    )
    def test_another_form_is_refused(self, content: str, words: str, tmp_path: Path) -> None:
        (tmp_path / "zoo.yaml").write_text(content)
        with pytest.raises(BadInputError) as caught:
            read_sweep(tmp_path / "zoo.yaml")
        assert words in str(caught.value)


class TestModels:
    def test_globs_match_bundled_models_whatever_their_case(self, catalog: Catalog) -> None:
        found = find_models(("qwen/qwen3-*b",), catalog)
        names = {model.name for model in catalog.models}
        assert len(found) > 3
        assert all(model.label in names and model.label.startswith("Qwen/Qwen3-") for model in found)

    def test_are_taken_once(self, zoo: Path, catalog: Catalog) -> None:
        folder = zoo.parent / "configs"
        found = find_models((str(folder / "a.json"), str(folder / "*.json"), f"{folder}/../configs/a.json"), catalog)
        assert [Path(model.label).name for model in found] == ["a.json", "b.json"]

    def test_a_glob_that_matches_nothing_is_refused(self, catalog: Catalog) -> None:
        with pytest.raises(BadInputError, match="matches no file"):
            find_models(("nothing-*",), catalog)


@pytest.mark.parametrize(
    "fields", [{"hardware": ("mi999",)}, {"request": {"goal": "x"}}, {"request": {"backend": "x"}}]
)
def test_names_that_are_not_known_are_refused_at_once(fields: dict[str, Any], catalog: Catalog) -> None:
    with pytest.raises(UnknownNameError):
        find_groups(spec(**fields), catalog)


def test_the_fingerprint_is_that_of_all_that_rows_depend_on(zoo: Path, catalog: Catalog) -> None:
    def of(**flags: Any) -> str:
        return fingerprint(find_groups(read_sweep(zoo, **flags), catalog), catalog)

    first = of()
    assert of() == first
    assert len({first, of(budgets=["1GB"]), of(request={"seed": 1}), of(hardware=["h100"]), of(models=[SMALL])}) == 5
    (zoo.parent / "configs" / "a.json").write_text('{"model_type": "llama"}')
    assert of() != first
