"""Code beside a configuration: never run unless the user says so."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from transformers import dynamic_module_utils

from solver import api
from solver.catalog import Catalog
from solver.errors import BadInputError
from solver.intake.analysis import AnalyzedModel, ModelAnalysis, QuantizationTargets
from solver.intake.read import complete_analysis
from tests.intake.conftest import WriteModel

AUTO_MAP = {
    "AutoConfig": "configuration_marked.MarkedConfig",
    "AutoModelForCausalLM": "modeling_marked.MarkedForCausalLM",
}
CONFIGURATION = """
from pathlib import Path
from transformers import LlamaConfig
Path({marker!r}).touch()
class MarkedConfig(LlamaConfig):
    model_type = "marked"
"""
MODELING = """
from transformers import LlamaForCausalLM
from .configuration_marked import MarkedConfig
class MarkedForCausalLM(LlamaForCausalLM):
    config_class = MarkedConfig
"""


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """Return a file that the code beside the configuration creates when it runs."""
    return tmp_path / "it-ran"


def forget_modules_of_the_hub() -> None:
    for name in [name for name in sys.modules if name.startswith("transformers_modules")]:
        del sys.modules[name]


@pytest.fixture(autouse=True)
def modules_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let transformers copy remote code into this test's folder, and forget it afterwards."""
    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    forget_modules_of_the_hub()
    yield
    forget_modules_of_the_hub()


def with_code(folder: Path, marker: Path) -> Path:
    """Put Python files beside a configuration, under every name that anything might import."""
    code = CONFIGURATION.format(marker=str(marker))
    (folder / "configuration_marked.py").write_text(code, encoding="utf-8")
    (folder / "modeling_marked.py").write_text(MODELING, encoding="utf-8")
    for name in ("__init__.py", "sitecustomize.py", "modeling_llama.py", "setup.py"):
        (folder / name).write_text(f"from pathlib import Path\nPath({str(marker)!r}).touch()\n", encoding="utf-8")
    return folder


class TestUnknownType:
    def test_is_refused_and_its_code_is_not_run(self, write_model: WriteModel, marker: Path, catalog: Catalog) -> None:
        folder = with_code(write_model(model_type="marked", auto_map=AUTO_MAP), marker)
        with pytest.raises(BadInputError) as caught:
            api.analyze(str(folder), catalog=catalog)
        assert not marker.exists()
        assert "--trust-remote-code" in str(caught.value)
        assert "marked" in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_is_refused_when_its_code_is_on_the_hub(
        self, write_model: WriteModel, marker: Path, catalog: Catalog
    ) -> None:
        auto_map = {"AutoConfig": "org/elsewhere--configuration_marked.MarkedConfig"}
        folder = with_code(write_model(model_type="marked", auto_map=auto_map), marker)
        with pytest.raises(BadInputError):
            api.analyze(str(folder), catalog=catalog)
        assert not marker.exists()

    def test_is_analysed_by_its_code_on_demand(self, write_model: WriteModel, marker: Path, catalog: Catalog) -> None:
        fields = {"model_type": "marked", "architectures": ["MarkedForCausalLM"], "auto_map": AUTO_MAP}
        folder = with_code(write_model(**fields), marker)
        analysis = api.analyze(str(folder), catalog=catalog, trust_remote_code=True)
        assert marker.exists()
        assert analysis.model.trust_remote_code
        assert analysis.model.model_type == "marked"
        assert analysis.inventory is not None
        assert analysis.inventory == api.analyze(str(write_model("plain")), catalog=catalog).inventory

    def test_without_its_code_is_refused_even_on_demand(self, write_model: WriteModel, catalog: Catalog) -> None:
        folder = write_model(model_type="marked", auto_map=AUTO_MAP)
        with pytest.raises(BadInputError) as caught:
            api.analyze(str(folder), catalog=catalog, trust_remote_code=True)
        assert "\n" not in str(caught.value)

    def test_with_broken_code_is_refused(self, write_model: WriteModel, marker: Path, catalog: Catalog) -> None:
        folder = with_code(write_model(model_type="marked", auto_map=AUTO_MAP), marker)
        (folder / "configuration_marked.py").write_text("raise RuntimeError('broken\\nin two lines')", encoding="utf-8")
        with pytest.raises(BadInputError) as caught:
            api.analyze(str(folder), catalog=catalog, trust_remote_code=True)
        assert "\n" not in str(caught.value)


class TestKnownType:
    def test_is_built_without_the_code_beside_it(self, write_model: WriteModel, marker: Path, catalog: Catalog) -> None:
        folder = with_code(write_model(auto_map=AUTO_MAP), marker)
        assert api.analyze(str(folder), catalog=catalog).model.architecture == "LlamaForCausalLM"
        assert not marker.exists()


class TestChosenFile:
    def test_is_the_one_that_is_read_on_demand_too(self, write_model: WriteModel, catalog: Catalog) -> None:
        folder = write_model()
        other = folder / "other.json"
        other.write_text((write_model("wide", vocab_size=512) / "config.json").read_text(), encoding="utf-8")
        for trust in (False, True):
            inventory = api.analyze(str(other), catalog=catalog, trust_remote_code=trust).inventory
            assert inventory is not None
            assert inventory.vocab_size == 512, trust

    def test_is_never_exchanged_for_its_neighbour(
        self, write_model: WriteModel, marker: Path, catalog: Catalog
    ) -> None:
        folder = with_code(write_model(model_type="marked", auto_map=AUTO_MAP), marker)
        other = folder / "other.json"
        wide = write_model("wide", model_type="marked", auto_map=AUTO_MAP, vocab_size=512)
        other.write_text((wide / "config.json").read_text(), encoding="utf-8")
        try:
            inventory = api.analyze(str(other), catalog=catalog, trust_remote_code=True).inventory
        except BadInputError:
            return
        assert inventory is not None
        assert inventory.vocab_size == 512

    def test_needs_no_neighbour_called_config(self, write_model: WriteModel, catalog: Catalog) -> None:
        folder = write_model()
        only = (folder / "config.json").rename(folder / "only.json")
        for trust in (False, True):
            analysis = api.analyze(str(only), catalog=catalog, trust_remote_code=trust)
            assert analysis.analysis_status == "complete", trust


class TestAnalysisOfOthers:
    def test_that_trusts_code_does_not_make_us_run_it(
        self, write_model: WriteModel, marker: Path, catalog: Catalog
    ) -> None:
        folder = with_code(write_model(model_type="marked", auto_map=AUTO_MAP), marker)
        analysis = ModelAnalysis(
            analysis_status="complete",
            model=AnalyzedModel(model_path=str(folder), model_type="marked", trust_remote_code=True),
            quantization_targets=QuantizationTargets(linear_layer_count=14, exclude_defaults=("lm_head",)),
            risks=(),
        )
        assert complete_analysis(analysis, catalog).analysis_status == "partial"
        assert not marker.exists()
