"""The schemas on disk are those of the types, and the profiles keep them."""

import json
from pathlib import Path

import jsonschema
import pytest

from solver.catalog.paths import PROFILES_DIR, SCHEMAS_DIR
from solver.catalog.section import read_yaml
from solver.schemas import TYPES, schema_text

SECTIONS = {
    "schemes": "scheme",
    "algorithms": "algorithm",
    "templates": "template",
    "hardware": "hardware",
    "goals": "goal",
    "backends": "backend",
    "sensitivity": "sensitivity",
    "stored_formats": "stored_format",
    "models": "model",
}


@pytest.mark.parametrize("name", TYPES)
def test_the_schema_on_disk_is_that_of_the_type(name: str) -> None:
    assert (SCHEMAS_DIR / f"{name}.schema.json").read_text(encoding="utf-8") == schema_text(name)


def test_no_schema_on_disk_is_left_over() -> None:
    on_disk = {path.relative_to(SCHEMAS_DIR).as_posix() for path in SCHEMAS_DIR.rglob("*.json")}
    assert on_disk == {f"{name}.schema.json" for name in TYPES}


@pytest.mark.parametrize(("section", "schema"), SECTIONS.items())
def test_every_profile_keeps_its_schema(section: str, schema: str) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(schema_text(f"profiles/{schema}")))
    files = sorted(Path(PROFILES_DIR / section).glob("*.yaml"))
    assert files
    for path in files:
        validator.validate(json.loads(json.dumps(read_yaml(path))))
