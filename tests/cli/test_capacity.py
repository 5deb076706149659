"""`solve capacity` from the file to the placement, with models that are bundled."""

import io
import json
import re
import shlex
from pathlib import Path

import jsonschema
import pytest
from rich.console import Console

import solver
from solver.capacity.document import CapacityPlan
from solver.capacity.fleet_file import read_fleet
from solver.capacity.tables import print_capacity
from solver.catalog.paths import SCHEMAS_DIR
from solver.plan.files import read_plan
from tests.cli.conftest import MODEL, Run, refused

FLEET = f"""\
models:
  - name: chat
    model: {MODEL}
    concurrency: 16
    prompt_tokens: 1000
    output_tokens: 200
    max_risk: 2%
    min_tokens_per_second: 20
nodes:
  - hardware: mi300x
    devices: 1
    count: 2
"""
SCHEMA = json.loads((SCHEMAS_DIR / "capacity.schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def fleet(folder: Path) -> Path:
    """Return a fleet of one small model, in the current folder."""
    path = folder / "fleet.yaml"
    path.write_text(FLEET, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> CapacityPlan:
    """Return the plan of the same fleet, which no node may leave."""
    path = tmp_path_factory.mktemp("fleet") / "fleet.yaml"
    path.write_text(FLEET, encoding="utf-8")
    plan = solver.capacity(path)
    assert isinstance(plan, CapacityPlan)
    return plan


def test_a_placement_is_written_whole(fleet: Path, run: Run, planned: CapacityPlan) -> None:
    done = run("capacity", "fleet.yaml", "--survive", "1", "--json", "-o", "placement.json", "--no-headroom")
    assert done.code == 0, done.err
    assert (fleet.parent / "placement.json").read_text(encoding="utf-8") == done.out
    jsonschema.validate(done.document, SCHEMA)
    plan = CapacityPlan.model_validate(done.document)
    (model,) = plan.models
    assert (model.replicas, model.replicas_needed, plan.devices_used, plan.survives) == (2, 1, 2, 1)
    assert {device.used_bytes for node in plan.nodes for device in node.in_use} == {model.plan.footprint.total_bytes}
    assert model.plan == planned.models[0].plan


def test_the_command_of_a_plan_gives_it(folder: Path, run: Run, planned: CapacityPlan) -> None:
    (model,) = planned.models
    assert run(*shlex.split(model.plan.command)[1:]).code == 0
    confirmed = read_plan(folder / "chat.json")
    assert not confirmed.requires_confirmation
    assert (confirmed.footprint, confirmed.risk) == (model.plan.footprint, model.plan.risk)
    assert confirmed.global_scheme == model.plan.global_scheme
    assert confirmed.decode_seconds_per_token == model.step_seconds


def test_tables_are_as_wide_as_a_plain_terminal_and_name_what_is_estimated(planned: CapacityPlan) -> None:
    written = io.StringIO()
    print_capacity(planned, Console(file=written, width=80))
    lines = written.getvalue().splitlines()
    assert max(len(line) for line in lines if not line.startswith("Next: ")) <= 80
    said = " ".join(written.getvalue().split())
    words = ("It fits: 1 of 2 devices", "est.", "roofline", "Traffic that still fits", "Next: solve", "--survive 1")
    assert [word for word in words if word not in said] == []
    assert planned.headroom[0].percent > 1000


COLUMNS = "model,hardware,scheme,tensor_parallel,concurrency,tokens_per_second"


def test_what_was_measured_of_another_model_is_refused(fleet: Path, run: Run) -> None:
    (fleet.parent / "t.csv").write_text(f"{COLUMNS}\nchta,mi300x,ptpc_fp8,1,1,400\n", encoding="utf-8")
    refused(run("capacity", "fleet.yaml", "--measured", "t.csv"), 2, "'chta'", "Did you mean chat?")


@pytest.mark.slow
def test_what_was_measured_replaces_the_estimate(fleet: Path, run: Run) -> None:
    rows = f"{COLUMNS}\nchat,mi300x,ptpc_fp8,1,1,400\nchat,mi300x,ptpc_pf8,1,1,400\n"
    (fleet.parent / "t.csv").write_text(rows, encoding="utf-8")
    done = run("capacity", "fleet.yaml", "--measured", "t.csv", "--json", "--no-headroom")
    (model,) = CapacityPlan.model_validate(done.document).models
    assert model.speed_source == "measured"
    assert model.tokens_per_second == 400 / model.concurrency
    assert any("no plan was compared with: chat ptpc_pf8 tp 1" in note for note in done.document["assumptions"])


@pytest.mark.slow
def test_a_fleet_that_does_not_fit_says_what_clashes_and_what_helps(fleet: Path, run: Run) -> None:
    fleet.write_text(FLEET.replace("concurrency: 16", "concurrency: 7000"), encoding="utf-8")
    done = run("capacity", "fleet.yaml")
    refused(done, 1, "chat.traffic", "nodes", "what helps", "mi300x.count", "chat.concurrency", "chat.prompt_tokens")


@pytest.mark.slow
def test_a_floor_that_no_plan_keeps_is_told_and_each_change_that_helps_does(fleet: Path, run: Run) -> None:
    asked = {"concurrency": "64", "min_tokens_per_second": "6000"}

    def text(changes: dict[str, str]) -> str:
        found = FLEET.replace("    max_risk: 2%\n", "")
        for field, value in ({"count": "2"} | asked | changes).items():
            found = re.sub(rf"{field}: .*", f"{field}: {value}", found)
        return found

    fleet.write_text(text({}), encoding="utf-8")
    error = run("capacity", "fleet.yaml", "--json").document["error"]
    assert [rule["id"] for rule in error["rules"]] == ["chat.min_tokens_per_second", "chat.traffic", "nodes"]
    changes = [(repair["flag"].rpartition(".")[2], repair["value"]) for repair in error["repairs"]]
    assert "min_tokens_per_second" in dict(changes)
    for field, value in changes:
        fleet.write_text(text({field: value}), encoding="utf-8")
        assert run("capacity", "fleet.yaml", "--no-headroom").code == 0, (field, value)


def test_more_nodes_than_there_are_cannot_be_lost(fleet: Path, run: Run) -> None:
    done = run("capacity", "fleet.yaml", "--survive", "2")
    refused(done, 1, "do not carry all traffic when some are lost", "--survive 1")


def test_a_model_that_fits_no_node_is_refused_as_solve_does(fleet: Path, run: Run) -> None:
    fleet.write_text(FLEET.replace("count: 2", "memory: 1GB"), encoding="utf-8")
    done = run("capacity", "fleet.yaml", "--json")
    assert done.code == 1
    jsonschema.validate(done.document, SCHEMA)
    error = done.document["error"]
    assert error["where"] == "chat on 1 x mi300x"
    assert error["least_footprint_bytes"] > 10**9
    assert error["repairs"]


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        ("mi300x", "mi9000", 2, ["unknown hardware 'mi9000'"]),
        ("max_risk: 2%", "max_risk: 2", 2, ["line 7", "max_risk"]),
        ("prompt_tokens: 1000", "prompt_tokens: 10000000", 2, ["limit is"]),
    ],
)
def test_mistakes_end_as_elsewhere(fleet: Path, run: Run, old: str, new: str, code: int, words: list[str]) -> None:
    fleet.write_text(FLEET.replace(old, new), encoding="utf-8")
    refused(run("capacity", "fleet.yaml"), code, *words)


def test_no_file_ends_with_4_and_a_price_that_nobody_gave_with_2(fleet: Path, run: Run) -> None:
    refused(run("capacity", "none.yaml"), 4, "none.yaml")
    refused(run("capacity", "fleet.yaml", "--minimize", "price"), 2, "price_per_hour")


@pytest.mark.slow
@pytest.mark.parametrize("hardware", ["mi300x", "h100"])
def test_three_models_share_nodes(hardware: str, folder: Path) -> None:
    """What the planner bills for each is what lies on the devices, and the traffic is carried with a node lost."""
    text = f"""\
models:
  - {{model: Qwen/Qwen3-8B, requests_per_second: 4, prompt_tokens: 1024, output_tokens: 256, max_risk: 2%,
     min_tokens_per_second: 20}}
  - {{model: Qwen/Qwen3-30B-A3B, concurrency: 24, prompt_tokens: 2048, output_tokens: 512, max_risk: 3%,
     min_tokens_per_second: 30}}
  - {{model: Qwen/Qwen3-0.6B, requests_per_second: 10, prompt_tokens: 512, output_tokens: 64}}
nodes:
  - {{hardware: {hardware}, count: 3, devices: 4, price_per_hour: 12.5}}
"""
    path = folder / "fleet.yaml"
    path.write_text(text, encoding="utf-8")
    plan = solver.capacity(read_fleet(path), survive=1, headroom=False)
    assert plan.status == "optimal"
    assert plan.price_per_hour == 12.5 * plan.nodes_used
    bills = {model.name: model.plan.footprint.total_bytes for model in plan.models}
    for node in plan.nodes:
        for device in node.in_use:
            assert device.used_bytes == sum(bills[shard.model] for shard in device.shards) <= device.usable_bytes
            assert device.busy <= 1
    for model in plan.models:
        replicas = {
            (node.number, shard.replica)
            for node in plan.nodes
            for device in node.in_use
            for shard in device.shards
            if shard.model == model.name
        }
        assert len(replicas) == model.replicas
        for lost in range(1, 4):
            assert sum(number != lost for number, _ in replicas) >= model.replicas_needed
