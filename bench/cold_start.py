"""A whole `solve` in a fresh process, against what importing its dependencies takes; writes `docs/cold_start.md`."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ruamel.yaml import YAML

from bench.environment import environment, installed
from bench.registry import Row, Spec, register
from solver.catalog.paths import PROFILES_DIR

NAME = "cold-start"
DOCUMENT = Path(__file__).parent.parent / "docs" / "cold_start.md"
REPEATS = 3
LIMIT = 1.5
SERVICE = {
    "meta-llama/Llama-3.1-70B": ("48GB", "mi300x", "1"),
    "Qwen/Qwen3-8B": ("12GB", "mi300x", "1"),
    "Qwen/Qwen3-30B-A3B": ("24GB", "mi300x", "1"),
    "openai/gpt-oss-20b": ("24GB", "mi300x", "1"),
    "google/gemma-3-27b-it": ("24GB", "mi300x", "1"),
    "deepseek-ai/DeepSeek-V3": ("80GB", "mi355x", "8"),
}
IMPORTS = "import constraint, ortools.sat.python.cp_model, numpy, pydantic, torch, transformers"
"""What the package is built on."""
LOADED = "import ortools.sat.python.cp_model, numpy, pydantic, rich.table, ruamel.yaml, typer"
"""What planning from an analysis loads of it, and what reads its arguments and profiles."""
FROM_CONFIG = "Qwen__Qwen3-8B"


def best_of(command: list[str], folder: str) -> float:
    """Return the shortest wall time of some runs of a command, in seconds; the first may write bytecode."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run(command, check=True, cwd=folder, capture_output=True, env=installed())
        times.append(time.perf_counter() - start)
    return min(times)


def _solve() -> str:
    return str(Path(sys.executable).with_name("solve"))


def solve_command(model: str, budget: str, hardware: str, tp: str) -> list[str]:
    """Return a `solve` that prints JSON and writes nothing."""
    return [_solve(), "--model", model, "--budget", budget, "--hardware", hardware, "--tp", tp, "--json"]


def analysis_file(model: str, folder: str) -> str:
    """Return the path of a model's analysis, written by the command."""
    path = f"{folder}/{model.replace('/', '__')}.json"
    subprocess.run([_solve(), "analyze", model, "-o", path], check=True, cwd=folder, capture_output=True)
    return path


def _document(rows: list[Row], loaded: float) -> str:
    where = environment()
    lines = [
        f"| {row.subject} | {row.value:.2f} | {row.baseline_value:.2f} | {row.ratio:.2f} | {row.value / loaded:.2f} |"
        for row in rows
    ]
    return f"""# A whole `solve` in a fresh process

Written by `python -m bench {NAME}` on {where["cpus"]} processors ({where["machine"]}), the best of {REPEATS} runs each.

The first rows begin with the model's analysis on the disk, the last with a `config.json` alone, so that torch and
transformers are loaded and the model is built. *Imports* is what the packages take that this one is built on:
`{IMPORTS}`; from a `config.json`, transformers' module of the model too. The last column
compares with what planning loads of them, {loaded:.2f} s: `{LOADED}`.

| model | solve s | imports s | ratio, at most {LIMIT} | to what is loaded |
|---|--:|--:|--:|--:|
""" + "".join(f"{line}\n" for line in lines)


def run() -> list[Row]:
    """Measure every model that must be plannable, and one from its bare configuration; write the document."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        imports = best_of([sys.executable, "-c", IMPORTS], folder)
        loaded = best_of([sys.executable, "-c", LOADED], folder)
        for model, service in SERVICE.items():
            seconds = best_of(solve_command(analysis_file(model, folder), *service), folder)
            rows.append(Row(model, seconds, "imports", imports, LIMIT))
        # From a configuration the model's own class has to be imported too, which is most of the time.
        config = YAML(typ="safe", pure=True).load((PROFILES_DIR / "models" / f"{FROM_CONFIG}.yaml").read_text())[
            "config"
        ]
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(config))
        with_class = f"{IMPORTS}; transformers.{config['architectures'][0]}"
        class_imports = best_of([sys.executable, "-c", with_class], folder)
        seconds = best_of([*solve_command(str(path), "12GB", "mi300x", "1"), "--no-cache"], folder)
        rows.append(Row(f"{FROM_CONFIG.replace('__', '/')}, config.json", seconds, "imports", class_imports, LIMIT))
    DOCUMENT.write_text(_document(rows, loaded), encoding="utf-8")
    return rows


register(Spec(NAME, "What does one answer cost in a fresh process?", "seconds", run))
