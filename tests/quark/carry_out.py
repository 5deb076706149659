"""Runs exported scripts one after another, each as `python SCRIPT` would: importing Quark takes longer than most.

    python carry_out.py SCRIPT... > answers.json

The folder that it runs in stands for the hub: Quark finds the data set that a plan calibrates on there. An answer is
the seconds that a script took, and the error that it ended in.
"""

import json
import os
import runpy
import sys
import time
from contextlib import redirect_stdout

import torch


def answer(script: str) -> dict[str, object]:
    """Return how a script ended."""
    started = time.perf_counter()
    error = None
    try:
        # Compiling Quark's kernels for each shape takes longer than running them.
        with redirect_stdout(sys.stderr), torch.compiler.set_stance("force_eager"):
            runpy.run_path(script, run_name="__main__")
    except Exception as raised:
        error = f"{type(raised).__name__}: {' '.join(str(raised).split())}"
    return {"seconds": round(time.perf_counter() - started, 1), "error": error}


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    json.dump({script: answer(script) for script in sys.argv[1:]}, sys.stdout)
