"""The largest problem in a fresh process: builds it from an analysis and solves one budget, as JSON.

`python -m bench.optimizer_pass ANALYSIS PERCENT` prints whether the answer is proven, its seconds, and the peak of
resident memory in MB when the problem is built and in the end.
"""

import json
import resource
import sys
from pathlib import Path

from bench.instances import LARGEST, build, drawn, limits
from bench.optimizer_case import solve_ours
from solver import api


def _peak_mb() -> float:
    """Return the peak of this program's resident memory.

    On Linux `getrusage` also counts what the process held before it became this program: the memory of the bench that
    started it.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 10**6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def main(analysis: str, percent: int) -> None:
    """Solve once, and print what it took."""
    problem = drawn(build(LARGEST, api.analyze(analysis)))
    built = _peak_mb()
    run = solve_ours(problem, limits(problem, (percent,))[percent], 0.0)
    print(json.dumps({"proven": run.claims_optimum, "seconds": run.seconds, "built_mb": built, "peak_mb": _peak_mb()}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
