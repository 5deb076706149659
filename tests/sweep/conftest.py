"""Small sweeps, run in this process."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from solver.sweep import Sweep, SweepResult, sweep
from tests.conftest import small_sweep as spec

__all__ = ["SMALL", "spec"]

SMALL = "Qwen/Qwen3-0.6B"
ZOO = Path(__file__).parent.parent / "data" / "zoo.jsonl"
Run = Callable[..., SweepResult]


def smallest(count: int) -> list[str]:
    """Return the names of the zoo's smallest models, by published elements."""
    records = [json.loads(line) for line in ZOO.read_text(encoding="utf-8").splitlines()]
    sized = sorted(
        (record["published_elements"], record["name"]) for record in records if record.get("published_elements")
    )
    return [name for _, name in sized[:count]]


def write_configs(folder: Path, names: list[str] | None = None) -> list[str]:
    """Write configurations of the zoo that lies with the tests, and return their names."""
    folder.mkdir(exist_ok=True)
    written = []
    for line in ZOO.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if names is None or record["name"] in names:
            (folder / f"{record['name'].replace('/', '__')}.json").write_text(json.dumps(record["config"]))
            written.append(record["name"])
    return written


@pytest.fixture(scope="session")
def run() -> Run:
    """Return a runner of sweeps in a thread of this process."""

    def here(asked: Sweep, **options: Any) -> SweepResult:
        with ThreadPoolExecutor(1) as pool:
            return sweep(asked, executor=pool, workers=1, **options)

    return here
