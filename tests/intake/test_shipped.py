"""The analyses that ship are those that a fresh build on the meta device gives."""

import json
from collections.abc import Callable

import pytest

from solver import api
from solver.catalog import Catalog
from solver.intake.analyze import analyze_source
from solver.intake.shipped import analysis_path, shipped_analysis
from solver.intake.source import ModelSource, find_source

NAMES = [model.name for model in Catalog().models]


@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_analysis_is_that_of_a_fresh_build(name: str, catalog: Catalog) -> None:
    fresh = analyze_source(find_source(name, catalog), catalog).document()
    shipped = json.loads(analysis_path(name).read_text(encoding="utf-8"))
    # Another transformers may build it; what it builds has to be the same.
    for document in (fresh, shipped):
        assert document["model"].pop("transformers_version")
    assert shipped == fresh


def test_no_analysis_is_left_over() -> None:
    on_disk = {path.name for path in analysis_path(NAMES[0]).parent.glob("*.analysis.json")}
    assert on_disk == {analysis_path(name).name for name in NAMES}


class TestUse:
    @pytest.fixture
    def source(self, catalog: Catalog) -> ModelSource:
        return find_source("Qwen/Qwen3-8B", catalog)

    def test_a_bundled_model_takes_it(self, source: ModelSource, catalog: Catalog) -> None:
        assert api.analyze("Qwen/Qwen3-8B", catalog=catalog) == shipped_analysis(source)

    @pytest.mark.parametrize(
        "change",
        [
            lambda source: ModelSource(source.name, "hub", source.config),
            lambda source: ModelSource(source.name, "zoo", {**source.config, "num_hidden_layers": 2}),
            lambda source: ModelSource("Qwen/Qwen3-9B", "zoo", source.config),
        ],
        ids=["another kind of source", "another configuration", "another name"],
    )
    def test_nothing_else_does(self, source: ModelSource, change: Callable[[ModelSource], ModelSource]) -> None:
        assert shipped_analysis(change(source)) is None
