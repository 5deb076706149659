"""Ray as a `concurrent.futures.Executor`: the cluster that `RAY_ADDRESS` names, else one on this machine."""

import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from solver.errors import MissingError

P = ParamSpec("P")
T = TypeVar("T")


class RayExecutor(Executor):
    """Runs each call as a task of one CPU."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Return the future of a call."""
        future: Future[T] = self._ray.remote(num_cpus=1)(fn).remote(*args, **kwargs).future()
        return future


@contextmanager
def cluster(workers: int) -> Iterator[tuple[Executor, int]]:
    """Give an executor and how many calls it runs at once; a cluster that this begins, it ends.

    `workers` are those of a cluster on this machine.

    Raises
    ------
    MissingError
        If Ray is not installed, or the cluster cannot be reached.

    """
    try:
        import ray
    except ImportError as error:
        raise MissingError(
            "Ray is not installed.", where="--engine ray", mend="`pip install 'quant-plan-solver[ray]'` installs it."
        ) from error
    began = not ray.is_initialized()
    if began:
        local: dict[str, Any] = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": workers}
        try:
            ray.init(log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False, **local)
        except (ConnectionError, RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split())[:200]
            raise MissingError(f"the cluster cannot be reached: {reason}.", where="--engine ray") from error
    try:
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        yield RayExecutor(ray), int(resources.get("CPU", workers))
    finally:
        if began:
            ray.shutdown()
