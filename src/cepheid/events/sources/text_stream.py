"""CSV or JSON Lines that arrive bit by bit, such as the output of another program."""

from __future__ import annotations

import codecs
import os
import select
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import BinaryIO

import pyarrow as pa
import pyarrow.types as arrow

from cepheid.errors import EventError
from cepheid.events.sources.reading import quoting, refuse_repeated
from cepheid.events.sources.text_files import mixed_columns, parse_csv, parse_json

_READ_BYTES = 1 << 16
_MOST_BYTES = 4 << 20
"""The size of a batch, if more lines are waiting."""
_CHANGED = "changed from"


def arriving(stream: BinaryIO) -> Iterator[bytes]:
    """What can be read from a stream without waiting for more, and then what comes next."""
    try:
        descriptor = stream.fileno()
    except OSError:
        while data := stream.read(_MOST_BYTES):
            yield data
        return
    while data := os.read(descriptor, _READ_BYTES):
        parts, size = [data], len(data)
        while size < _MOST_BYTES and select.select([descriptor], [], [], 0)[0]:
            more = os.read(descriptor, _READ_BYTES)
            if not more:
                break
            parts.append(more)
            size += len(more)
        yield b"".join(parts)


def whole_lines(parts: Iterator[bytes], has_quotes: bool) -> Iterator[bytes]:
    """The same bytes, divided after lines; with quotes, not at a line break inside of them.

    >>> list(whole_lines(iter([b'1\\n2', b'3\\n"a\\n', b'b"\\n4']), has_quotes=True))
    [b'1\\n', b'23\\n', b'"a\\nb"\\n', b'4']
    """
    rest = b""
    for part in parts:
        data = rest + part
        end = data.rfind(b"\n") + 1
        while has_quotes and data.count(b'"', 0, end) % 2:
            end = data.rfind(b"\n", 0, data.rfind(b'"', 0, end)) + 1
        rest = data[end:]
        if end:
            yield data[:end]
    if rest:
        yield rest


@dataclass
class TextStream:
    """Tables of a stream of CSV or JSON Lines; all have the columns and types of the first.

    ``types`` are the types of columns that are not inferred. ``needed`` are the columns that are
    kept, or None for all. ``named`` are columns that JSON objects may have later if the first
    ones lack them.
    """

    stream: BinaryIO
    sep: str | None = None
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    needed: Collection[str] | None = None
    named: Collection[str] = ()
    never_seen: set[str] = field(default_factory=set)

    def tables(self) -> Iterator[pa.Table]:
        """The tables, each as soon as its lines have arrived."""
        parts, start = arriving(self.stream), b""
        for part in parts:
            start += part
            if start.strip():
                break
        else:
            raise EventError("there are no events on stdin")
        first = start.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
        if first == b"[":
            raise EventError(
                "'stdin.jsonl' holds a JSON array; write one object per line, without the brackets "
                "and commas of the array"
            )
        is_json = first == b"{"
        lines = whole_lines(chain([start], parts), has_quotes=not is_json)
        yield from self._json(lines) if is_json else self._csv(lines)

    def _csv(self, lines: Iterator[bytes]) -> Iterator[pa.Table]:
        header, types = b"", dict(self.types)
        for data in lines:
            if not header:
                cut = data.find(b"\n") + 1 or len(data)
                header, data = data[:cut], data[cut:]
                if not header.endswith(b"\n"):
                    header += b"\n"
            with quoting("'stdin.csv'"):
                table = parse_csv(pa.BufferReader(header + data), self.sep or ",", types)
            refuse_repeated(table.column_names)
            table = self._kept_columns(table)
            types |= _strings(table.schema)
            yield table

    def _json(self, lines: Iterator[bytes]) -> Iterator[pa.Table]:
        columns: dict[str, pa.DataType] = {}
        types = dict(self.types)
        for data in filter(bytes.strip, lines):
            with quoting("'stdin.jsonl'"):
                try:
                    table = parse_json(pa.BufferReader(data), types)
                except pa.ArrowInvalid as error:
                    if _CHANGED not in str(error):
                        raise
                    table = mixed_columns(data, "stdin.jsonl", self._wanted)
            if not columns:
                self.never_seen = {*self.named} - {*table.column_names}
            table = self._kept_columns(table)
            self.never_seen -= {*table.column_names}
            for name in [*columns, *sorted({*self.named} - {*columns})]:
                if name not in table.column_names:
                    missing = pa.nulls(table.num_rows, columns.get(name, pa.null()))
                    table = table.append_column(name, missing)
            columns |= {each.name: each.type for each in table.schema if each.name not in columns}
            types |= _strings(table.schema)
            yield table

    def _wanted(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if self.needed is None or name in self.needed]

    def _kept_columns(self, table: pa.Table) -> pa.Table:
        """The needed columns; times have one unit in all tables."""
        if self.needed is not None:
            table = table.select(self._wanted(table.column_names))
        for index, each in enumerate(table.schema):
            if arrow.is_timestamp(each.type) and each.type.unit != "us":
                column = table.column(index).cast(pa.timestamp("us", each.type.tz))
                table = table.set_column(index, each.name, column)
        return table


def _strings(schema: pa.Schema) -> Mapping[str, pa.DataType]:
    """The columns of strings: later strings that look like times or numbers are strings too."""
    return {each.name: each.type for each in schema if arrow.is_string(each.type)}
