"""Throughput that a user measured, in place of estimates: rows of a CSV file."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from solver.catalog import Catalog
from solver.errors import BadInputError, MissingError

COLUMNS = ("model", "hardware", "scheme", "tensor_parallel", "concurrency", "tokens_per_second")
"""`tokens_per_second` are output tokens of all sequences of one replica, with prompts computed meanwhile."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One row: what one replica put out."""

    model: str
    hardware: str
    scheme: str
    tensor_parallel: int
    concurrency: int
    tokens_per_second: Fraction


def _number(text: str | None, column: str, where: str) -> Fraction:
    try:
        found = Fraction((text or "").strip())
    except (ValueError, ZeroDivisionError):
        found = Fraction(0)
    if found <= 0 or (column != "tokens_per_second" and found.denominator != 1):
        kind = "number" if column == "tokens_per_second" else "whole number"
        raise BadInputError(f"{column} is {text!r}, not a positive {kind}.", where=where)
    return found


def _rows(path: Path, catalog: Catalog) -> Iterator[Measured]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        names = reader.fieldnames or ()
        lacking = [name for name in COLUMNS if name not in names]
        if lacking:
            raise BadInputError(
                f"lacks the column{'s' * (len(lacking) > 1)} {', '.join(lacking)}.",
                where=f"{path}, line 1",
                mend=f"The first line names {', '.join(COLUMNS)}.",
            )
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            numbers = {name: _number(row[name], name, where) for name in COLUMNS[3:]}
            yield Measured(
                model=(row["model"] or "").strip(),
                hardware=catalog.hardware.get((row["hardware"] or "").strip()).name,
                scheme=(row["scheme"] or "").strip(),
                tensor_parallel=int(numbers["tensor_parallel"]),
                concurrency=int(numbers["concurrency"]),
                tokens_per_second=numbers["tokens_per_second"],
            )


def read_measured(path: Path, catalog: Catalog) -> tuple[Measured, ...]:
    """Return the rows of a CSV file.

    Raises
    ------
    MissingError
        If there is no such file.
    BadInputError
        If a column is missing, a number is none, or it is no text; lines are named.

    """
    if not path.is_file():
        raise MissingError("there is no such file.", where=str(path), mend=f"It has the columns {', '.join(COLUMNS)}.")
    try:
        return tuple(_rows(path, catalog))
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInputError(f"is no CSV file: {error}.", where=str(path)) from error


def throughput(
    rows: Sequence[Measured], names: Sequence[str], hardware: str, scheme: str, tensor_parallel: int, slots: int
) -> Fraction | None:
    """Return what was measured with the most sequences up to `slots`, which more of them do not lower; None if nothing.

    `names` are those that the file may call the model by.
    """
    found = [
        row
        for row in rows
        if row.model in names
        and (row.hardware, row.scheme, row.tensor_parallel) == (hardware, scheme, tensor_parallel)
        and row.concurrency <= slots
    ]
    return max(found, key=lambda row: row.concurrency).tokens_per_second if found else None
