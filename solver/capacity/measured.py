"""Throughput that a user measured, in place of estimates: rows of a CSV file."""

import csv
import difflib
from collections.abc import Collection, Iterable, Iterator, Sequence
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
) -> Measured | None:
    """Return the row with the most sequences up to `slots`, whose throughput more of them do not lower; None if none.

    `names` are those that the file may call the model by.
    """
    found = [
        row
        for row in rows
        if row.model in names
        and (row.hardware, row.scheme, row.tensor_parallel) == (hardware, scheme, tensor_parallel)
        and row.concurrency <= slots
    ]
    return max(found, key=lambda row: row.concurrency) if found else None


def check_models(rows: Iterable[Measured], names: Sequence[str]) -> None:
    """Refuse rows of models that are not in the fleet, by its names or those of their checkpoints.

    Raises
    ------
    BadInputError
        If there is one; the nearest name is told.

    """
    for row in rows:
        if row.model not in names:
            near = difflib.get_close_matches(row.model, names, n=1)
            mend = f"Did you mean {near[0]}?" if near else f"The fleet has {', '.join(names)}."
            raise BadInputError(f"no model {row.model!r} is in the fleet.", where="--measured", mend=mend)


def unused_note(rows: Sequence[Measured], used: Collection[Measured]) -> str | None:
    """Return which rows are of no plan that was compared, or None."""
    unused = [row for row in rows if row not in used]
    if not unused:
        return None
    first = unused[0]
    named = f"{first.model} {first.scheme} tp {first.tensor_parallel} at {first.concurrency} on {first.hardware}"
    more = f" and {len(unused) - 1} more" if len(unused) > 1 else ""
    return f"measured throughput that no plan was compared with: {named}{more}"
