"""The `env_context.json` of our tests is one that Quark's own schema allows, and what that allows is read."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from solver.intake.environment import read_environment


@pytest.fixture(scope="module")
def contract() -> jsonschema.Draft202012Validator:
    """Return the validator of Quark's contract."""
    spec = find_spec("quark")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "_bundled_skills/_legacy_impl/shared/contracts"
    schema = json.loads((folder / "env_context.schema.json").read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(schema)


def document(**hardware: object) -> dict[str, Any]:
    """Return a document with these facts of the accelerator."""
    return {"environment": {"os": "linux", "python": "3.13", "containerized": False}, "hardware": hardware}


ALLOWED = [
    {"accelerator": "amd-rocm"},
    {"accelerator": "nvidia-cuda", "cuda_version": "12.6", "gpu_count": 1, "gpu_model": "RTX 4090", "memory_gb": 24},
    {"accelerator": "amd-rocm", "gpu_model": "AMD Instinct MI300X", "gpu_arch": "gfx942", "gpu_count": 8},
    {"accelerator": "unknown", "gpu_model": None, "gpu_arch": None, "rocm_version": None, "memory_gb": 0.5},
    {"accelerator": "cpu", "gpu_count": 0, "memory_gb": 0, "cpu_model": "EPYC 9004"},
    {"accelerator": "amd-rocm", "gpu_model": "unknown", "rocm_version": "unknown"},
]


@pytest.mark.parametrize("hardware", ALLOWED)
def test_what_quark_allows_is_read(
    hardware: dict[str, object], contract: jsonschema.Draft202012Validator, tmp_path: Path
) -> None:
    content = document(**hardware)
    assert list(contract.iter_errors(content)) == []
    path = tmp_path / "env_context.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert read_environment(path).accelerator == hardware["accelerator"]


def test_all_accelerators_of_quark_are_read(contract: jsonschema.Draft202012Validator, tmp_path: Path) -> None:
    path = tmp_path / "env_context.json"
    for name in contract.schema["properties"]["hardware"]["properties"]["accelerator"]["enum"]:
        path.write_text(json.dumps(document(accelerator=name)), encoding="utf-8")
        assert read_environment(path).accelerator == name
