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


def _pass(kind: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-m", "bench.zoo_pass", kind], check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def run() -> list[Row]:
    """Measure both passes, each at its best of some runs, and write the table of the docs."""
    passes = [(_pass("ours"), _pass("plain")) for _ in range(REPEATS)]
    ours, plain = ([pair[index] for pair in passes] for index in (0, 1))
    DOCUMENT.write_text(HEAD + "\n".join(ours[0]["lines"]) + "\n", encoding="utf-8")
    built = f"{ours[0]['built']} models"
    return [
        Row(
            f"seconds of CPU to analyse {built}",
            min(item["seconds"] for item in ours),
            f"transformers builds {plain[0]['built']} of them",
            min(item["seconds"] for item in plain),
            LIMIT,
        ),
        Row("MB of memory at the peak", max(item["peak_mb"] for item in ours), "limit", MEMORY_MB, 1.0),
    ]


register(Spec("zoo", "What does it cost to analyse the whole zoo?", "see subject", run))
