"""Files of fleets and of measurements: what is read, and how mistakes are told."""

import math
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest

from solver.capacity.fleet_file import read_fleet
from solver.capacity.measured import COLUMNS, read_measured, throughput
from solver.catalog import Catalog
from solver.catalog.paths import SCHEMAS_DIR
from solver.catalog.section import read_yaml
from solver.errors import BadInputError, MissingError
from solver.intake.json_file import read_json

GOOD = """\
models:
  - model: Qwen/Qwen3-8B
    requests_per_second: 4
    prompt_tokens: 1024
    output_tokens: 256
    max_risk: 2%
nodes:
  - hardware: mi300x
    count: 2
"""
ROOT = Path(__file__).resolve().parents[2]


def write(folder: Path, text: str, name: str = "fleet.yaml") -> Path:
    """Return a file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_fleet_is_read_with_its_defaults(tmp_path: Path) -> None:
    fleet = read_fleet(write(tmp_path, GOOD))
    (load,), (group,) = fleet.models, fleet.nodes
    assert (load.name, load.context, group.name, group.count) == ("Qwen3-8B", 1280, "mi300x", 2)
    assert load.most_loss == pytest.approx(math.log(1.02))
    assert not fleet.priced


def test_a_loss_may_be_given_in_nats(tmp_path: Path) -> None:
    fleet = read_fleet(write(tmp_path, GOOD.replace("2%", "0.02 nats")))
    assert fleet.models[0].most_loss == 0.02


def test_the_example_is_a_fleet_and_keeps_the_schema() -> None:
    path = ROOT / "docs" / "fleet.yaml"
    assert read_fleet(path).models
    jsonschema.validate(read_yaml(path), read_json(SCHEMAS_DIR / "fleet.schema.json"))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("    max_risk: 2%", "    max_loss: 2%", ["line 6", "models.0.max_loss", "no such key"]),
        ("    max_risk: 2%", "    max_risk: 0.02", ["line 6", "models.0.max_risk", "'2%'", "nats"]),
        ("    max_risk: 2%", "    max_risk: much", ["line 6", "'much' is no loss"]),
        ("requests_per_second: 4", "requests_per_second: none", ["line 3", "models.0.requests_per_second"]),
        ("requests_per_second: 4", "requests_per_second: .inf", ["line 3", "finite"]),
        ("requests_per_second: 4", "requests_per_second: 0", ["line 3", "greater than 0"]),
        ("    requests_per_second: 4\n", "", ["line 2", "no traffic", "concurrency"]),
        ("prompt_tokens: 1024", "prompt_tokens: 1.5", ["line 4", "integer"]),
        ("    prompt_tokens: 1024\n", "", ["line 2", "models.0.prompt_tokens", "required"]),
        ("    count: 2", "    count: -1", ["line 9", "nodes.0.count"]),
        ("    count: 2", "    memory: '100'", ["line 9", "no unit"]),
        ("nodes:", "node:", ["line 7", "node: there is no such key"]),
        ("    count: 2", "    count: 2\n  - hardware: mi300x", ["'mi300x' stands twice", "name"]),
        ("    count: 2", "    count: 2\n    count: 3", ["not valid YAML", "line 10"]),
        ("models:", "models: [", ["not valid YAML"]),
        (GOOD, "[]", ["document"]),
        (GOOD, "", ["document"]),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, old: str, new: str, words: list[str]) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(BadInputError) as caught:
        read_fleet(path)
    said = str(caught.value)
    assert str(path) in said
    assert [word for word in words if word not in said] == [], said


def test_no_file_is_a_missing_one(tmp_path: Path) -> None:
    with pytest.raises(MissingError):
        read_fleet(tmp_path / "fleet.yaml")
    with pytest.raises(MissingError):
        read_measured(tmp_path / "throughput.csv", Catalog())


def test_measured_rows_count_up_to_their_concurrency(tmp_path: Path, catalog: Catalog) -> None:
    lines = ["chat,MI300X,ptpc_fp8,1,8,500.5", "chat,mi300x,ptpc_fp8,1,32,1200", "chat,mi300x,mxfp4,2,8,1"]
    rows = read_measured(write(tmp_path, "\n".join([",".join(COLUMNS), *lines])), catalog)
    rates = {slots: throughput(rows, ("chat",), "mi300x", "ptpc_fp8", 1, slots) for slots in (4, 8, 31, 32, 64)}
    found = {slots: row and row.tokens_per_second for slots, row in rates.items()}
    assert found == {4: None, 8: Fraction(1001, 2), 31: Fraction(1001, 2), 32: 1200, 64: 1200}
    assert throughput(rows, ("other",), "mi300x", "ptpc_fp8", 1, 64) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model,hardware\n", ["line 1", "lacks the columns scheme, tensor_parallel"]),
        (",".join(COLUMNS) + "\nm,mi300x,fp8,1,8,fast\n", ["line 2", "tokens_per_second", "'fast'"]),
        (",".join(COLUMNS) + "\nm,mi300x,fp8,1,8,-3\n", ["line 2", "positive"]),
        (",".join(COLUMNS) + "\nm,mi300x,fp8,1.5,8,3\n", ["line 2", "tensor_parallel", "whole"]),
        (",".join(COLUMNS) + "\nm,mi300x,fp8\n", ["line 2", "tensor_parallel", "None"]),
        (",".join(COLUMNS) + "\nm,mi9,fp8,1,8,3\n", ["unknown hardware 'mi9'"]),
    ],
)
def test_a_mistake_in_measurements_is_told_with_its_line(
    tmp_path: Path, text: str, words: list[str], catalog: Catalog
) -> None:
    with pytest.raises(BadInputError) as caught:
        read_measured(write(tmp_path, text, "t.csv"), catalog)
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)
