"""A whole `solve` in a fresh process, against what importing torch and transformers alone costs."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ruamel.yaml import YAML

from bench.registry import Row, Spec, register
from solver.catalog.paths import PROFILES_DIR

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
IMPORTS = "import torch, transformers"
FROM_CONFIG = "Qwen__Qwen3-8B"


def best_of(command: list[str], folder: str) -> float:
    """Return the shortest wall time of some runs of a command, in seconds.

    What is installed has its bytecode, and so has what is measured: the first run may write it.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run(command, check=True, cwd=folder, capture_output=True, env=environment)
        times.append(time.perf_counter() - start)
    return min(times)


def solve_command(model: str, budget: str, hardware: str, tp: str) -> list[str]:
    """Return a `solve` that prints JSON and writes nothing."""
    program = str(Path(sys.executable).with_name("solve"))
    return [program, "--model", model, "--budget", budget, "--hardware", hardware, "--tp", tp, "--json"]


def run() -> list[Row]:
    """Measure every model that must be plannable, and one from its bare configuration."""
    import json

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        imports = best_of([sys.executable, "-c", IMPORTS], folder)
        for model, service in SERVICE.items():
            seconds = best_of(solve_command(model, *service), folder)
            rows.append(Row(model, seconds, IMPORTS, imports, LIMIT))
        # From a configuration the model's own class has to be imported too, which is most of the time.
        config = YAML(typ="safe", pure=True).load((PROFILES_DIR / "models" / f"{FROM_CONFIG}.yaml").read_text())[
            "config"
        ]
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(config))
        with_class = f"{IMPORTS}; transformers.{config['architectures'][0]}"
        class_imports = best_of([sys.executable, "-c", with_class], folder)
        seconds = best_of(solve_command(str(path), "12GB", "mi300x", "1"), folder)
        rows.append(Row(f"{FROM_CONFIG} from config.json", seconds, with_class, class_imports, LIMIT))
    return rows


register(Spec("cold-start", "What does one answer cost in a fresh process?", "seconds", run))
