"""A Quark that has moved on: what is new, gone or otherwise is seen, and what is new becomes profiles that load."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from solver import api
from solver.catalog import Catalog
from solver.catalog.paths import SCHEMAS_DIR
from solver.catalog.section import read_yaml
from solver.errors import BadInputError
from solver.plan.request import PlanRequest
from solver.quark.doctor import Drift
from solver.quark.drift import DriftItem
from solver.schemas import schema_text
from tests.cli.conftest import Run, run  # noqa: F401
from tests.conftest import Analyse

pytestmark = pytest.mark.usefixtures("quark")

MODEL = "Qwen/Qwen3-0.6B"


@pytest.fixture
def templates(llm_template: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return Quark's class of templates; templates and schemes that a test changes in it are restored afterwards."""
    collection = llm_template._SCHEME_COLLECTION
    monkeypatch.setattr(collection, "_schemes", dict(collection._schemes))
    monkeypatch.setattr(collection, "_custom_registered_schemes", [])
    monkeypatch.setattr(llm_template, "_SUPPORTED_SCHEMES", list(llm_template._SUPPORTED_SCHEMES))
    return llm_template


@pytest.fixture
def newer(templates: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return Quark with a scheme, a template and an algorithm that the profiles do not have."""
    from quark.torch.quantization.config import algo_configs
    from quark.torch.quantization.config.config import Int8PerTensorSpec, QLayerConfig

    spec = Int8PerTensorSpec(
        observer_method="min_max", symmetric=True, scale_type="float", round_method="half_even", is_dynamic=False
    ).to_quantization_spec()
    templates.register_scheme("int8_wo", config=QLayerConfig(weight=spec))
    templates.register_template(
        templates(
            model_type="olmo2",
            kv_layers_name=["*k_proj", "*v_proj"],
            q_layer_name="*q_proj",
            exclude_layers_name=["lm_head", "*layers.0.*"],
        )
    )
    monkeypatch.setitem(algo_configs.ALGORITHM_CONFIG_MAPS, "newround", {})
    return templates


def doctor(*, write: Path | None = None, catalog: Catalog | None = None) -> Drift:
    return api.doctor(quark="yes", write=write, catalog=catalog)


def changes(drift: Drift) -> set[tuple[str, str, str]]:
    """Return what changed, by kind, name and how."""
    return {(item.kind, item.name, item.change) for item in drift.items}


NEW = {("scheme", "int8_wo", "new"), ("template", "olmo2", "new"), ("algorithm", "newround", "new")}


class TestTheInstalledQuark:
    def test_is_that_of_the_profiles(self) -> None:
        drift = doctor()
        assert (drift.items, drift.not_compared) == ((), None)
        assert drift.quark_version is not None
        assert {package.name: package.version for package in drift.packages}["amd-quark"] == drift.quark_version


@pytest.mark.usefixtures("newer")
class TestWhatIsNew:
    def test_is_seen(self) -> None:
        assert changes(doctor()) == NEW

    def test_is_written_as_profiles_that_keep_their_schemas_and_load(self, tmp_path: Path) -> None:
        folder = tmp_path / "more"
        drift = doctor(write=folder)
        assert set(drift.written) == {
            str(folder / name) for name in ("schemes/int8_wo.yaml", "templates/olmo2.yaml", "algorithms/newround.yaml")
        }
        for path in map(Path, drift.written):
            schema = json.loads(schema_text(f"profiles/{path.parent.name.removesuffix('s')}"))
            jsonschema.validate(json.loads(json.dumps(read_yaml(path))), schema)
        catalog = Catalog(folder)
        scheme, template = catalog.schemes.get("int8_wo"), catalog.templates.get("olmo2")
        assert (scheme.weight.format, scheme.weight.granularity, scheme.activation) == ("int8", "per_tensor", None)
        assert template.exclude_layers == ("lm_head", "*layers.0.*")
        assert template.builtin
        version = drift.quark_version
        for source in (scheme.noise.source, template.source, catalog.algorithms.get("newround").source):
            assert f"amd-quark {version}, read from the installed package" in source
        # Of these profiles, Quark has not moved on.
        assert doctor(catalog=catalog).items == ()

    def test_is_written_twice_alike_and_replaces_no_other_profile(self, tmp_path: Path) -> None:
        first = {path: Path(path).read_bytes() for path in doctor(write=tmp_path).written}
        assert {path: Path(path).read_bytes() for path in doctor(write=tmp_path).written} == first
        (tmp_path / "schemes" / "int8_wo.yaml").write_text("name: mine\n", encoding="utf-8")
        (tmp_path / "templates" / "olmo2.yaml").unlink()
        with pytest.raises(BadInputError, match="holds another profile"):
            doctor(write=tmp_path)
        assert not (tmp_path / "templates" / "olmo2.yaml").exists()

    def test_cannot_be_planned_with_until_it_is_measured(self, tmp_path: Path, analyse: Analyse) -> None:
        doctor(write=tmp_path)
        catalog = Catalog(tmp_path)
        analysis = analyse(MODEL)
        for asked in ({"scheme": "int8_wo", "force": True}, {"layers": {"*down_proj": "int8_wo"}, "force": True}):
            request = PlanRequest.model_validate({"model": MODEL, "hardware": "mi300x", "backend": "none", **asked})
            with pytest.raises(BadInputError, match=r"rule scheme-is-measured"):
                api.solve(request, analysis, catalog=catalog)
        unasked = PlanRequest(model=MODEL, hardware="mi300x", backend="none", budget_bytes=2 * 10**9)
        answer = api.solve(unasked, analysis, catalog=catalog)
        assert "int8_wo" not in {name for item in answer.alternatives for name in item.scheme_shares}
        assert "newround" not in {item.algorithm for item in answer.alternatives}

    def test_is_named_by_the_command_which_ends_with_1(self, run: Run, tmp_path: Path) -> None:  # noqa: F811
        done = run("doctor", "--quark", "yes", "--write", str(tmp_path / "more"))
        assert (done.code, done.err) == (1, "")
        said = " ".join(done.out.split())
        assert "3 differences" in said
        assert "scheme int8_wo new" in said
        assert max(len(line) for line in done.out.splitlines() if not line.startswith("Wrote")) <= 80
        assert run("doctor", "--quark", "yes", "--profiles", str(tmp_path / "more")).code == 0

    def test_is_one_document(self, run: Run) -> None:  # noqa: F811
        done = run("doctor", "--quark", "yes", "--json")
        assert (done.code, done.err) == (1, "")
        jsonschema.validate(done.document, json.loads((SCHEMAS_DIR / "drift.schema.json").read_text(encoding="utf-8")))
        assert len(done.document["items"]) == 3


class TestWhatIsGone:
    def test_is_seen_and_not_written(self, templates: Any, tmp_path: Path) -> None:
        del templates._SCHEME_COLLECTION._schemes["mx9"]
        templates._SUPPORTED_SCHEMES.remove("mx9")
        del templates._templates["opt"]
        drift = doctor(write=tmp_path)
        assert changes(drift) == {("scheme", "mx9", "gone"), ("template", "opt", "gone")}
        assert drift.written == ()
        assert drift.left == drift.items


class TestWhatIsOtherwise:
    def test_in_a_template_is_named_by_field_and_overrides(self, templates: Any, tmp_path: Path) -> None:
        templates.register_template(
            templates(
                model_type="qwen3",
                kv_layers_name=["*qkv_proj"],
                q_layer_name="*q_proj",
                exclude_layers_name=["lm_head"],
            )
        )
        drift = doctor(write=tmp_path)
        assert {item.field: (item.profiles, item.quark) for item in drift.items} == {
            "algorithms": ('["twobitscalar"]', "[]"),
            "kv_layers": ('["*k_proj", "*v_proj"]', '["*qkv_proj"]'),
        }
        assert Catalog(tmp_path).templates.get("qwen3").kv_layers == ("*qkv_proj",)
        assert doctor(catalog=Catalog(tmp_path)).items == ()

    def test_in_the_settings_of_an_algorithm_is_named_by_field_and_not_written(
        self, templates: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        from quark.torch.quantization.config import algo_configs
        from quark.torch.quantization.config.config import AWQConfig

        @dataclass
        class NewerAWQConfig(AWQConfig):
            clip: float | None = None
            model_decoder_layers: list[str] = field(default_factory=list)  # type: ignore[assignment]

        llama = algo_configs.AWQ_MAP["llama"]
        newer = NewerAWQConfig(scaling_layers=llama.scaling_layers[:3], model_decoder_layers=["model.layers"])
        gptq = replace(algo_configs.GPTQ_MAP["llama"], block_size=64)
        maps = {"awq": {"llama": newer}, "gptq": {"llama": gptq}}
        for name, by_type in maps.items():
            monkeypatch.setitem(algo_configs.ALGORITHM_CONFIG_MAPS, name, by_type)
        drift = doctor(write=tmp_path)
        assert {(item.kind, item.change) for item in drift.items} == {("algorithm", "changed")}
        found = {(item.name, item.field): (item.profiles, item.quark) for item in drift.items}
        assert found["gptq", "config.standard.block_size"] == ("128", "64")
        assert found["awq", "config.type"] == ("AWQConfig", "NewerAWQConfig")
        assert found["awq", "config.module"][1] == __name__
        assert found["awq", "config.fields.clip"][1] == '["null", "number"]'
        assert found["awq", "config.fields.model_decoder_layers[1]"] == ("string", "array")
        assert any(field.startswith("config.standard.scaling_layers") for name, field in found if name == "awq")
        assert (drift.written, drift.left) == ((), drift.items)

    def test_in_a_scheme_is_named_by_field_and_measured_no_more(self, templates: Any, tmp_path: Path) -> None:
        schemes = templates._SCHEME_COLLECTION._schemes
        schemes["int4_wo_128"] = schemes["int4_wo_32"]
        drift = doctor(write=tmp_path)
        assert drift.items == (
            DriftItem(
                kind="scheme",
                name="int4_wo_128",
                change="changed",
                field="weight.group_size",
                profiles="128",
                quark="32",
            ),
        )
        changed = Catalog(tmp_path).schemes.get("int4_wo_128")
        assert changed.weight.group_size == 32
        assert not changed.usable
