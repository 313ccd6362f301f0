"""Matches as JSON lines, CSV or Parquet, written a batch at a time."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
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
    ROWS = "rows"


@dataclass(frozen=True, slots=True)
class Output:
    """How matches are written: the format, how many, and the attributes that a table hides.

    ``spreadsheet``: CSV in which no cell is a formula. ``file``: where they are written.
    """

    format: Format
    limit: int | None
    hidden: Sequence[str] = ()
    spreadsheet: bool = False
    file: Path | None = None

    @property
    def encoding(self) -> Format:
        """How rows are written: the long form by the suffix of the file, otherwise as CSV."""
        if self.format is not Format.ROWS:
            return self.format
        suffix = "" if self.file is None else self.file.suffix.lower()
        found = FORMAT_OF_SUFFIX.get(suffix, Format.CSV)
        return Format.CSV if found is Format.TABLE else found

    def __post_init__(self) -> None:
        if self.spreadsheet and self.format not in (Format.CSV, Format.ROWS):
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
    tables = _tables(matches, output.limit)
    if output.format is Format.ROWS:
        tables = matches.row_tables(limit=output.limit)
    write_tables(tables, output, sink)


def write_tables(
    tables: Iterator[pa.Table], output: Output, sink: BinaryIO, *, has_header: bool = True
) -> None:
    """Write tables as JSON Lines, Parquet or CSV; the first is empty and has the columns."""
    from cepheid.matches.shapes.flat import dicts, flat, plain

    encoding = output.encoding
    if encoding is Format.JSONL:
        for table in tables:
            for row in dicts(table):
                line = json.dumps(plain(row), ensure_ascii=False)
                sink.write(line.encode("utf-8", "backslashreplace") + b"\n")
        return
    if encoding is Format.CSV:
        tables = map(flat, tables)
    if output.spreadsheet:
        tables = map(_without_formulas, tables)
    with _writer_of(encoding, has_header)(sink, next(tables).schema) as writer:
        for table in tables:
            writer.write_table(table)


def _writer_of(chosen: Format, has_header: bool) -> Any:
    """What opens a writer of tables in this format."""
    if chosen is Format.CSV:
        import pyarrow.csv

        options = pyarrow.csv.WriteOptions(include_header=has_header)
        return partial(pyarrow.csv.CSVWriter, write_options=options)
    import pyarrow.parquet

    return pyarrow.parquet.ParquetWriter


def _json_object(match: Match, items: list[str] | None, name: str | None) -> dict[str, Any]:
    """A match, with the name of its query in a script and the items of RETURN, if any."""
    from cepheid.matches.shapes.flat import plain

    shown: dict[str, Any] = {} if name is None else {"query": name}
    shown |= {"start": plain(match.start), "end": plain(match.end)}
    if match.confidence is not None:
        shown["confidence"] = match.confidence
    if match.timed_out is not None:
        shown["timed_out"] = match.timed_out
    shown["bindings"] = match.bindings
    if items is not None:
        shown["return"] = {name: plain(match[name]) for name in items}
    return shown


def _tables(matches: Matches | MatchStream, limit: int | None) -> Iterator[pa.Table]:
    """The result table in parts; the first is empty and has the columns."""
    import pyarrow as pa

    # `empty_table` would load pandas, if it is installed.
    yield pa.Table.from_batches([], matches.arrow_schema)
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
