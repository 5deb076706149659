"""Alternatives as tables: one row for each, with typed columns whose units are documented."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from solver.plan.document import Alternative, Answer

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyarrow import Schema, Table

Kind = Literal["string", "int64", "float64", "bool"]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its type in Arrow's words, its unit, and what it says. Any value may be null."""

    name: str
    kind: Kind
    unit: str
    says: str


COLUMNS = (
    Column("alternative", "int64", "-", "number of the plan, as `--choose` takes it"),
    Column("name", "string", "-", "what it is best at"),
    Column("recommended", "bool", "-", "whether the goal recommends it"),
    Column("global_scheme", "string", "-", "scheme of all layers that no pattern names"),
    Column("kv_cache_scheme", "string", "-", "scheme of the KV cache; null: native"),
    Column("algorithm", "string", "-", "calibration algorithms, joined by commas; null: none"),
    Column("overrides", "int64", "patterns", "patterns beside the global scheme"),
    Column("total_bytes", "int64", "B", "on one device in service"),
    Column("weights_bytes", "int64", "B", "of these, weights"),
    Column("kv_cache_bytes", "int64", "B", "of these, KV cache"),
    Column("activation_bytes", "int64", "B", "of these, activations"),
    Column("runtime_bytes", "int64", "B", "of these, runtime"),
    Column("delta_nll", "float64", "nats/token", "predicted loss; exp(delta_nll) - 1 is the rise in perplexity"),
    Column("delta_nll_low", "float64", "nats/token", "lower end of its band"),
    Column("delta_nll_high", "float64", "nats/token", "upper end of its band"),
    Column("decode_seconds", "float64", "s", "of one step of all sequences, by roofline"),
    Column("prefill_seconds", "float64", "s", "of one prompt of full length, by roofline"),
    Column("proof", "string", "-", "`optimal` or `feasible`"),
    Column("gap", "float64", "ratio", "to the bound that nothing can beat; 0 when optimal"),
)
"""The columns of `PlanSet.to_frame()`."""


def _row(item: Alternative, recommended: int) -> Row:
    bill, risk, proof = item.footprint, item.risk, item.proof
    return {
        "alternative": item.id,
        "name": item.name,
        "recommended": item.id == recommended,
        "global_scheme": item.global_scheme,
        "kv_cache_scheme": item.kv_cache_scheme,
        "algorithm": item.algorithm,
        "overrides": item.overrides,
        "total_bytes": bill and bill.total_bytes,
        "weights_bytes": bill and bill.weights_bytes,
        "kv_cache_bytes": bill and bill.kv_cache_bytes,
        "activation_bytes": bill and bill.activation_bytes,
        "runtime_bytes": bill and bill.runtime_bytes,
        "delta_nll": risk and risk.delta_nll,
        "delta_nll_low": risk and risk.low,
        "delta_nll_high": risk and risk.high,
        "decode_seconds": item.decode_seconds_per_token,
        "prefill_seconds": item.prefill_seconds,
        "proof": proof and proof.status,
        "gap": proof and proof.gap,
    }


def rows_of(answer: Answer) -> list[Row]:
    """Return one row for each alternative, with the values of `COLUMNS`."""
    return [_row(item, answer.recommended) for item in answer.alternatives]


@cache
def schema_of(columns: tuple[Column, ...]) -> "Schema":
    """Return the Arrow schema of some columns, with unit and meaning as metadata of each field."""
    import pyarrow as pa

    kinds = {"string": pa.string(), "int64": pa.int64(), "float64": pa.float64(), "bool": pa.bool_()}
    return pa.schema(
        pa.field(column.name, kinds[column.kind], metadata={"unit": column.unit, "says": column.says})
        for column in columns
    )


def table_of(rows: Sequence[Row], columns: tuple[Column, ...] = COLUMNS) -> "Table":
    """Return rows as an Arrow table."""
    import pyarrow as pa

    return pa.Table.from_pylist(list(rows), schema=schema_of(columns))


def frame_of(rows: Sequence[Row], columns: tuple[Column, ...] = COLUMNS) -> "DataFrame":
    """Return rows as a pandas table whose types hold nulls (`Int64`, `Float64`, `string`, `boolean`)."""
    import pandas as pd
    import pyarrow as pa

    kinds = {
        pa.string(): pd.StringDtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.float64(): pd.Float64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    frame: DataFrame = table_of(rows, columns).to_pandas(types_mapper=kinds.get)
    return frame
