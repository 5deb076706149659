"""Answers groups on workers that may end before their time: killed, or out of memory."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace

from solver.sweep.cells import Group
from solver.sweep.pool import processes
from solver.sweep.rows import error_row
from solver.sweep.schedule import WorkerDiedError, carry_out
from solver.sweep.work import Answers, Means, died

Left = Callable[[Sequence[Group]], list[Group]]
"""Gives the groups with the cells of them that have no rows yet."""
Record = Callable[[Answers], None]


def by_executor(groups: Sequence[Group], executor: Executor, width: int, means: Means, record: Record) -> None:
    """Answer groups on workers that are not ours to replace.

    Raises
    ------
    MissingError
        If one of them ended.

    """
    try:
        carry_out(groups, executor, width, means, record)
    except WorkerDiedError as error:
        raise died() from error


def by_processes(left: Left, groups: Sequence[Group], workers: int, means: Means, record: Record) -> None:
    """Answer what is left of groups in fresh processes.

    When one of them ends, the calls in flight are made again, each alone; one that ends its process again is divided
    into its cells, and a cell that does so by itself is a row with that error.
    """
    while rest := left(groups):
        try:
            with processes(workers) as pool:
                # A worker always finds a next call.
                carry_out(rest, pool, 2 * workers, means, record)
        except WorkerDiedError as error:
            for about in error.in_flight:
                if not _lives(left(about), means, record):
                    _by_cells(left(about), means, record)


def _by_cells(groups: Sequence[Group], means: Means, record: Record) -> None:
    for group in groups:
        for cell in group.cells:
            if not _lives([replace(group, cells=(cell,))], means, record):
                record([(cell.number, [error_row(cell, died(" twice"))])])


def _lives(groups: Sequence[Group], means: Means, record: Record) -> bool:
    """Answer groups in a process of their own, and return whether it lived."""
    try:
        with processes(1) as pool:
            carry_out(groups, pool, 1, means, record)
    except WorkerDiedError:
        return False
    return True
