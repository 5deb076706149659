"""The order of work: each model is analysed once, then its groups; what is done is told at once."""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from typing import Any

from solver.intake.analysis import ModelAnalysis
from solver.sweep.cells import Group, Model
from solver.sweep.work import Answers, Means, analysed, answered


@dataclass(frozen=True, slots=True)
class _Job:
    """A call to make for some groups: it analyses the model of all of them, or answers one."""

    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    about: tuple[Group, ...]


class WorkerDiedError(Exception):
    """A worker process ended; `in_flight` are the groups of each call that had no answer then."""

    def __init__(self, in_flight: Sequence[tuple[Group, ...]]) -> None:
        super().__init__("a worker ended before its cells were done")
        self.in_flight = tuple(in_flight)


def carry_out(
    groups: Sequence[Group], executor: Executor, width: int, means: Means, record: Callable[[Answers], None]
) -> None:
    """Answer all groups; `record` gets the rows of cells as soon as they are there.

    At most `width` calls are handed to the executor at once: what it holds in memory stays small, and an interrupt
    finds little to give up. A model's groups come before the next model.

    Raises
    ------
    WorkerDiedError
        If a worker process ended.

    """
    by_model: dict[Model, list[Group]] = defaultdict(list)
    for group in groups:
        by_model[group.model].append(group)
    jobs = deque(_Job(analysed, (tuple(of_one), means), tuple(of_one)) for of_one in by_model.values())
    running: dict[Future[Any], _Job] = {}
    try:
        while jobs or running:
            while jobs and len(running) < width:
                job = jobs.popleft()
                running[executor.submit(job.call, *job.arguments)] = job
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                job, result = running[future], future.result()
                del running[future]
                if isinstance(result, ModelAnalysis):
                    jobs.extendleft(_Job(answered, (group, result, means), (group,)) for group in reversed(job.about))
                else:
                    record(result)
    except BrokenExecutor as error:
        raise WorkerDiedError([job.about for job in running.values()]) from error
    finally:
        for future in running:
            future.cancel()
