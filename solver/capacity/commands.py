"""The command that gives a chosen plan, so that its user can confirm it."""

import shlex

from solver.plan.request import PlanRequest


def command(request: PlanRequest, choice: int, output: str) -> str:
    """Return the `solve` command line of a request that capacity planning makes, with its choice confirmed."""
    words = ["solve", request.model, "--hardware", str(request.hardware)]
    if request.budget_bytes is not None:
        words += ["--budget", f"{request.budget_bytes}B"]
    if request.backend is not None:
        words += ["--backend", request.backend]
    words += ["--context", str(request.context), "--concurrency", str(request.concurrency)]
    words += ["--tp", str(request.tensor_parallel), "--alternatives", str(request.alternatives)]
    if request.seed:
        words += ["--seed", str(request.seed)]
    if request.time_limit != PlanRequest.model_fields["time_limit"].default:
        words += ["--time-limit", f"{request.time_limit:.17g}"]
    return shlex.join([*words, "--choose", str(choice), "--yes", "--output", output])
