"""Matches as JSON lines, CSV or Parquet, written a batch at a time."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from cepheid.errors import list_words
from cepheid.language import syntax as ast
from cepheid.language.printer import item_names
from cepheid.tuning import tuning

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.matches.match_stream import MatchStream
    from cepheid.matches.matches import Match, Matches


# What a spreadsheet would take for a formula; a number is none.
_FORMULA = r"^[\t\r\n]|^\s*[=+\-@＝＋－＠]"
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


class Format(StrEnum):
    """The format of written matches."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Output:
    """How matches are written: the format, how many, and the attributes that a table hides.

    ``spreadsheet``: CSV in which no cell is a formula.
    """

    format: Format
    limit: int | None
    hidden: Sequence[str] = ()
    spreadsheet: bool = False

    def __post_init__(self) -> None:
        if self.spreadsheet and self.format is not Format.CSV:
            raise typer.BadParameter(
                "only CSV has it: add --format csv", param_hint="--spreadsheet"
            )


FORMAT_OF_SUFFIX = {
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".json": Format.JSONL,
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
    ".txt": Format.TABLE,
}


def choose_format(wanted: Format | None, file: Path | None) -> Format:
    """The format that was asked for, or the default one for the file or terminal."""
    if wanted is None and file is not None:
        if file.suffix.lower() not in FORMAT_OF_SUFFIX:
            raise typer.BadParameter(
                f"the suffix of {str(file)!r} names no format; use "
                f"{list_words(list(FORMAT_OF_SUFFIX), 'or')}, or --format",
                param_hint="-o",
            )
        return FORMAT_OF_SUFFIX[file.suffix.lower()]
    if wanted is Format.PARQUET and file is None and sys.stdout.isatty():
        raise typer.BadParameter(
            "Parquet cannot be shown on a terminal; name a file with -o", param_hint="--format"
        )
    return wanted or (Format.TABLE if sys.stdout.isatty() else Format.JSONL)


def write_matches(
    matches: Matches | MatchStream,
    query: ast.Query,
    output: Output,
    sink: BinaryIO,
    name: str | None = None,
) -> None:
    """Write all matches, or the first ones, as JSON lines, CSV or Parquet.

    ``name`` is the name of the query, if the matches of several go to the same place.
    """
    if output.format is Format.JSONL:
        names = item_names(query) if query.returns is not None else None
        for match in islice(matches, output.limit):
            line = json.dumps(_json_object(match, names, name), ensure_ascii=False)
            sink.write(line.encode("utf-8", "backslashreplace") + b"\n")
        return
    tables, writer_of = _tables(matches, output.limit), _writer_of(output.format)
    if output.format is Format.CSV:
        tables = map(_flat, tables)
    if output.spreadsheet:
        tables = map(_without_formulas, tables)
    with writer_of(sink, next(tables).schema) as writer:
        for table in tables:
            writer.write_table(table)


def _writer_of(chosen: Format) -> Any:
    """The class of Arrow that writes tables to a file in this format."""
    if chosen is Format.CSV:
        import pyarrow.csv

        return pyarrow.csv.CSVWriter
    import pyarrow.parquet

    return pyarrow.parquet.ParquetWriter


def _json_object(match: Match, items: list[str] | None, name: str | None) -> dict[str, Any]:
    """A match, with the name of its query in a script and the items of RETURN, if any."""
    shown: dict[str, Any] = {} if name is None else {"query": name}
    shown |= {"start": plain(match.start), "end": plain(match.end)}
    if match.confidence is not None:
        shown["confidence"] = match.confidence
    shown["bindings"] = match.bindings
    if items is not None:
        shown["return"] = {name: plain(match[name]) for name in items}
    return shown


def plain(value: Any) -> Any:
    """A value in JSON: times in ISO 8601, durations in seconds, NaN as null.

    >>> plain({"at": datetime(2024, 5, 1, 9, 30), "after": timedelta(minutes=2), "x": [1.5, None]})
    {'at': '2024-05-01T09:30:00', 'after': 120.0, 'x': [1.5, None]}
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return float(value)
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case dict():
            return {str(name): plain(item) for name, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case bytes():
            return value.hex()
    return str(value)


def _tables(matches: Matches | MatchStream, limit: int | None) -> Iterator[pa.Table]:
    """The result table in parts; the first is empty and has the columns."""
    import pyarrow as pa

    yield matches.arrow_schema.empty_table()
    if limit == 0:
        return
    left = limit
    for batch in matches.to_batches(None if limit is None else min(limit, tuning().batch_matches)):
        if left is not None:
            batch = batch.slice(0, left)
            left -= batch.num_rows
        yield pa.Table.from_batches([batch])
        if left == 0:
            break


def _flat(table: pa.Table) -> pa.Table:
    """The table with column types that CSV supports; nested values become JSON."""
    import pyarrow as pa
    import pyarrow.types as arrow

    from cepheid.matches.matches import python_values

    for index, field in enumerate(table.schema):
        column, kind = table.column(index), field.type
        if arrow.is_nested(kind):
            values = map(plain, python_values(column))
            texts = [None if value is None else json.dumps(value) for value in values]
            column = pa.array(texts, pa.string())
        elif arrow.is_duration(kind):
            column = pa.array(map(plain, python_values(column)), pa.float64())
        elif arrow.is_binary(kind) or arrow.is_large_binary(kind) or arrow.is_null(kind):
            column = pa.array(map(plain, column.to_pylist()), pa.string())
        elif arrow.is_dictionary(kind):
            column = column.cast(kind.value_type)
        table = table.set_column(index, field.name, column)
    return table


def _without_formulas(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before each string, and each name, that would be a formula.

    >>> import pyarrow as pa
    >>> _without_formulas(pa.table({"-a.x": ["=1+1", "-5", "a"], "y": [-1, 2, 3]})).to_pydict()
    {"'-a.x": ["'=1+1", '-5', 'a'], 'y': [-1, 2, 3]}
    """
    import pyarrow.compute as pc
    import pyarrow.types as arrow

    for index, field in enumerate(table.schema):
        column, name = table.column(index), field.name
        if arrow.is_string(field.type) or arrow.is_large_string(field.type):
            is_formula = pc.and_not(
                pc.match_substring_regex(column, _FORMULA),
                pc.match_substring_regex(column, _NUMBER),
            )
            quoted = pc.binary_join_element_wise("'", column, "")
            column = pc.if_else(is_formula, quoted, column)
        name = f"'{name}" if re.match(_FORMULA, name) and not re.match(_NUMBER, name) else name
        table = table.set_column(index, name, column)
    return table
