"""The table of a sweep on disk: Parquet or CSV by the file's ending, with one documented schema."""

from collections.abc import Sequence
from pathlib import Path

from solver.api.frames import Row, schema_of, table_of
from solver.errors import BadInputError, MissingError
from solver.files import written_whole
from solver.sweep.rows import COLUMNS

ENDINGS = (".parquet", ".csv")


def check_ending(path: Path) -> None:
    """Refuse a file whose ending says neither Parquet nor CSV.

    Raises
    ------
    BadInputError
        If it does not.

    """
    if path.suffix not in ENDINGS:
        raise BadInputError(
            "a sweep is written as .parquet or .csv.", where=str(path), mend=f"Write for example {path.stem}.parquet."
        )


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows under a temporary name and rename it.

    Raises
    ------
    BadInputError
        If the ending is another than Parquet's or CSV's, or the file cannot be written.

    """
    from pyarrow import csv, parquet

    check_ending(path)
    table = table_of(rows, COLUMNS)
    with written_whole(path) as temporary:
        if path.suffix == ".csv":
            csv.write_csv(table, temporary)
        else:
            parquet.write_table(table, temporary)


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a table that `write_rows` wrote.

    Raises
    ------
    MissingError
        If there is no such file.
    BadInputError
        If it is none of a sweep.

    """
    import pyarrow as pa
    from pyarrow import csv, parquet

    check_ending(path)
    if not path.is_file():
        raise MissingError("there is no result.", where=str(path), mend="`solve sweep ... -o FILE` writes one.")
    schema = schema_of(COLUMNS)
    try:
        if path.suffix == ".csv":
            options = csv.ConvertOptions(
                column_types=schema, strings_can_be_null=True, quoted_strings_can_be_null=False
            )
            table = csv.read_csv(path, parse_options=csv.ParseOptions(newlines_in_values=True), convert_options=options)
        else:
            table = parquet.read_table(path)
        rows: list[Row] = table.select(schema.names).cast(schema).to_pylist()
    except (pa.ArrowException, KeyError, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise BadInputError(f"is no table of a sweep: {reason}.", where=str(path)) from error
    return rows
