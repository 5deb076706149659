"""The largest problem in a fresh process: builds it from an analysis and solves one budget, as JSON.

`python -m bench.optimizer_pass ANALYSIS PERCENT` prints whether the answer is proven, its seconds and the peak of
resident memory in MB.
"""

import json
import resource
import sys

from bench.instances import LARGEST, build, drawn, limits
from bench.optimizer_case import solve_ours
from solver import api


def main(analysis: str, percent: int) -> None:
    """Solve once, and print what it took."""
    problem = drawn(build(LARGEST, api.analyze(analysis)))
    run = solve_ours(problem, limits(problem, (percent,))[percent], 0.0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(json.dumps({"proven": run.claims_optimum, "seconds": run.seconds, "peak_mb": peak}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
