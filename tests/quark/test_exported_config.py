"""The configuration that loaders are asked about is the one that a real export of Quark holds."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.loaders.exported import quantization_config
from bench.loaders.plans import Plan, plans
from tests.quark.conftest import Tiny
from tests.quark.exports import export
from tests.quark.real import config_of_patterns

pytestmark = pytest.mark.usefixtures("quark")


@pytest.mark.parametrize(("name", "kind"), [("qwen3", "fp8 cache"), ("qwen3_moe", "excludes")])
def test_equals_what_an_export_holds(name: str, kind: str, tiny: Tiny, tmp_path: Path) -> None:
    small, asked = tiny(name), plans(name).get(kind)
    assert isinstance(asked, Plan)
    settings: dict[str, Any] = {"kv_cache_scheme": "fp8" if asked.kv_fp8 else None}
    export(small.model, config_of_patterns(asked.patterns, small.analysis.model.model_type, **settings), tmp_path)
    written = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["quantization_config"]
    made = json.loads(json.dumps(quantization_config(asked, small.model)))
    assert {key: written.get(key) for key in made} == made
