"""Analysing the whole zoo against what transformers' own construction of the same models costs; writes docs/zoo.md."""

import json
import subprocess
import sys
from typing import Any

from bench.registry import Row, Spec, register
from bench.zoo_table import DOCUMENT, document

LIMIT = 1.3
MEMORY_MB = 450
REPEATS = 3


def _start(kind: str, *names: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "bench.zoo_pass", kind, *names], stdout=subprocess.PIPE, text=True)


def _result(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, _ = process.communicate()
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, process.args, output)
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return result


def _both(*names: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run both passes at once: whatever else the machine does slows one as it slows the other."""
    started = _start("ours", *names), _start("plain", *names)
    return _result(started[0]), _result(started[1])


def run() -> list[Row]:
    """Measure both passes over the models that both build, side by side, and write the docs' table."""
    whole, plain = _both()
    common = [name for name in whole["built"] if name in set(plain["built"])]
    pairs = [_both(*common) for _ in range(REPEATS)]
    ours, theirs = sorted(pairs, key=lambda pair: pair[0]["seconds"] / pair[1]["seconds"])[REPEATS // 2]
    rows = [
        Row(
            f"CPU seconds to analyse {len(common)} models",
            ours["seconds"],
            f"transformers builds {len(common)}",
            theirs["seconds"],
            LIMIT,
        ),
        Row("MB of memory at the peak of all", whole["peak_mb"], "limit", MEMORY_MB, 1.0),
    ]
    page = document(whole["lines"], rows, limit=LIMIT, memory_mb=MEMORY_MB)
    DOCUMENT.write_text(page, encoding="utf-8")
    return rows


register(Spec("zoo", "What does it cost to analyse the whole zoo?", "see subject", run))
