"""Worker processes that end with the sweep, however that ends: one for each core by default."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from threading import Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Hold an interrupt back: a process that begins meanwhile never sees one."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Pool(ProcessPoolExecutor):
    """A pool whose processes leave interrupts of the terminal, which reach all of them, to the sweep."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin processes as they are needed, and return the future of a call."""
        with _interrupts_wait():
            return super().submit(fn, *args, **kwargs)


def _end_with(lifeline: Connection) -> None:
    """End this process when the other end of the lifeline is closed, by the sweep or because it was killed."""
    try:
        lifeline.recv_bytes()
    except (EOFError, OSError):
        os._exit(1)


def _begin(lifeline: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with, args=(lifeline,), daemon=True).start()


@contextmanager
def processes(workers: int) -> Iterator[Executor]:
    """Give a pool of fresh processes; what they still do when this is left is given up."""
    spawn = multiprocessing.get_context("spawn")
    theirs, ours = spawn.Pipe(duplex=False)
    pool = _Pool(workers, mp_context=spawn, initializer=_begin, initargs=(theirs,))
    try:
        yield pool
    except BaseException:
        ours.close()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    else:
        pool.shutdown()
    finally:
        ours.close()
        theirs.close()
