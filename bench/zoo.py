"""Analysing the whole zoo against what transformers' own construction of the same models costs; writes docs/zoo.md."""

import json
import subprocess
import sys
from typing import Any

from bench.registry import Row, Spec, register
from bench.zoo_table import DOCUMENT, HEAD

LIMIT = 1.3
MEMORY_MB = 450
REPEATS = 2


def _pass(kind: str, *names: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.zoo_pass", kind, *names]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def run() -> list[Row]:
    """Measure both passes over the models that both build, each at its best of some runs, and write the docs' table."""
    whole = _pass("ours")
    DOCUMENT.write_text(HEAD + "\n".join(whole["lines"]) + "\n", encoding="utf-8")
    names = _pass("plain")["built"]
    passes = [(_pass("ours", *names), _pass("plain", *names)) for _ in range(REPEATS)]
    ours, plain = ([pair[index] for pair in passes] for index in (0, 1))
    return [
        Row(
            f"CPU seconds to analyse {len(ours[0]['built'])} models",
            min(item["seconds"] for item in ours),
            f"transformers builds {len(plain[0]['built'])}",
            min(item["seconds"] for item in plain),
            LIMIT,
        ),
        Row("MB of memory at the peak of all", whole["peak_mb"], "limit", MEMORY_MB, 1.0),
    ]


register(Spec("zoo", "What does it cost to analyse the whole zoo?", "see subject", run))
