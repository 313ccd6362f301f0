"""Row groups of Parquet files as pieces of a stream: their time ranges, and their sorted events."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as fs
import pyarrow.parquet as pq
import pyarrow.types as arrow

from cepheid.engines.base.kernels.event_masks import places_of_types
from cepheid.errors import EventError, OptionError, list_words
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import to_numpy
from cepheid.events.order import stream_order
from cepheid.events.time_axis import TimeAxis

_HADOOP_S3 = re.compile("^s3[an]://")
"""Spark's (Hadoop's) schemes for s3:// URIs."""
_MOMENT = pa.timestamp("us", "UTC")
_OLD_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_INT96 = "INT96"
"""The type in which Spark writes timestamps by default; it has no statistics."""
_BATCH_ROWS = 524_288
"""The number of events in a batch."""


@dataclass(frozen=True)
class RowGroup:
    """A row group: its file, its index in the file, and its number of rows.

    ``place`` is its index among the row groups of all files. ``first`` and ``last`` are its
    earliest and latest time in ticks; None if statistics lack them.
    """

    file: str
    number: int
    place: int
    rows: int
    first: int | None = None
    last: int | None = None

    def reaches(self, low: float, high: float) -> bool:
        """Whether it can have an event with ``low <= time < high``."""
        assert self.first is not None
        assert self.last is not None
        return self.last >= low and self.first < high


@dataclass(frozen=True)
class EventFiles:
    """How the events of files are read: the types of the columns, and the time column.

    ``ties`` are columns that order events of equal time; without them, file and row order do.
    ``relevant`` are the event types that matter, or None for all; other events are dropped.
    """

    types: Mapping[str, pa.DataType]
    axis: TimeAxis
    type: str
    ties: tuple[str, ...] = ()
    relevant: frozenset[str] | None = None

    def groups_of(self, sources: Iterable[tuple[str, pq.ParquetFile]]) -> Iterator[RowGroup]:
        """The row groups of files, with their times if the statistics have them."""
        place = 0
        for file, source in sources:
            metadata, column = source.metadata, self._place_of_time(file, source)
            for number in range(metadata.num_row_groups):
                group = metadata.row_group(number)
                if group.num_rows:
                    read = RowGroup(file, number, place, group.num_rows)
                    yield self._with_known_times(read, group.column(column).statistics)
                    place += 1

    def are_as_declared(self, source: pq.ParquetFile) -> bool:
        """Whether a file has all columns with the values that Spark would read.

        It does not if a type differs, or if the file has dates in the old hybrid calendar.
        """
        has = {field.name: field.type for field in source.schema_arrow}
        leaves = map(source.schema.column, range(source.metadata.num_columns))
        has |= {leaf.path: _MOMENT for leaf in leaves if leaf.physical_type == _INT96}
        is_old = any(name in _OLD_CALENDAR for name in source.metadata.metadata or ())
        return not is_old and all(
            name in has and _is_compatible(has[name], kind) for name, kind in self.types.items()
        )

    def _place_of_time(self, file: str, source: pq.ParquetFile) -> int:
        """The index of the time column, in a file that has all columns."""
        missing = self.types.keys() - set(source.schema_arrow.names)
        if missing:
            raise OptionError(
                f"{file} has no column {list_words([repr(name) for name in sorted(missing)])}; "
                "what only the names of folders or other files have, Spark has to read: "
                "query.match(spark.read.parquet(...))"
            )
        leaves = [source.schema.column(ix).path for ix in range(source.metadata.num_columns)]
        return leaves.index(self.axis.column)

    def _with_known_times(self, group: RowGroup, known: Any) -> RowGroup:
        """The row group with its times, if statistics have them.

        Rows without a time are detected when the row group is read.
        """
        if known is None or not known.has_min_max:
            return group
        times = pa.array([known.min, known.max]).cast(self.types[self.axis.column])
        first, last = self.axis.encode(times).tolist()
        return replace(group, first=first, last=last)

    def with_times(self, group: RowGroup) -> RowGroup:
        """The row group with its times, read from the file."""
        times = opened(group.file).read_row_group(group.number, [self.axis.column])
        ticks = self._ticks(self._as_declared(times), [group])
        return replace(group, first=int(ticks.min()), last=int(ticks.max()))

    def events(
        self, groups: Iterable[RowGroup], low: float, high: float
    ) -> Iterator[pa.RecordBatch]:
        """The events with ``low <= time < high``, ordered by time and ties."""
        wanted = list(clusters(group for group in groups if group.reaches(low, high)))
        sources: dict[str, pq.ParquetFile] = {}
        kept: list[pa.Table] = []
        for together, following in zip_longest(wanted, wanted[1:]):
            # The next row groups are usually in the same files.
            sources = {
                group.file: sources.get(group.file) or opened(group.file, [self.type])
                for group in together
            }
            table = self._joined([*kept, *self._tables(together, sources)])
            ticks = self._ticks(table, together)
            _check_unchanged(together, ticks, sum(map(len, kept)))
            table, ticks = self._in_order(*self._relevant_rows(table, ticks))
            if not len(ticks):
                kept = []
                continue
            begins = int(np.searchsorted(ticks, low)) if low > ticks[0] else 0
            ends = int(np.searchsorted(ticks, high)) if high <= ticks[-1] else len(ticks)
            kept = []
            if self.ties and following and following[0].first == ticks[-1] < high:
                # The next event in order can be in the next row group.
                ends = int(np.searchsorted(ticks, ticks[-1]))
                begins, kept = min(begins, ends), [table.slice(ends)]
            yield from table.slice(begins, ends - begins).to_batches(_BATCH_ROWS)

    def _in_order(self, table: pa.Table, ticks: Int64s) -> tuple[pa.Table, Int64s]:
        """The rows in order, and their times."""
        order = stream_order(ticks, [table.column(name) for name in self.ties])
        if order is None:
            return table, ticks
        return table.take(pa.array(order)), ticks[order]

    def _relevant_rows(self, table: pa.Table, ticks: Int64s) -> tuple[pa.Table, Int64s]:
        """The rows of relevant types, and rows without a type, which will be refused."""
        if self.relevant is None or not arrow.is_dictionary(table.schema.field(self.type).type):
            return table, ticks
        pieces, times, begins = [], [], 0
        for piece in table.to_batches():
            places = _places_of(piece.column(self.type), self.relevant)
            pieces.append(piece.take(pa.array(places)))
            times.append(ticks[begins : begins + len(piece)][places])
            begins += len(piece)
        return pa.Table.from_batches(pieces, table.schema), np.concatenate([ticks[:0], *times])

    def _tables(
        self, groups: Sequence[RowGroup], sources: Mapping[str, pq.ParquetFile]
    ) -> Iterator[pa.Table]:
        """The rows of the groups, in the order of the files."""
        in_order = sorted(groups, key=lambda group: group.place)
        for file, parts in groupby(in_order, key=lambda group: group.file):
            yield self._as_declared(
                sources[file].read_row_groups(
                    [group.number for group in parts], list(self.types), use_threads=False
                )
            )

    def _joined(self, tables: Sequence[pa.Table]) -> pa.Table:
        if any(table.schema != tables[0].schema for table in tables):
            tables = [table.cast(pa.schema(self.types)) for table in tables]
        return pa.concat_tables(tables)

    def _as_declared(self, table: pa.Table) -> pa.Table:
        """The columns with the types that Spark has for them; strings may be dictionary-encoded."""
        for ix, field in enumerate(table.schema):
            wanted, is_coded = self.types[field.name], arrow.is_dictionary(field.type)
            if (field.type.value_type if is_coded else field.type) != wanted:
                table = table.set_column(ix, field.name, table.column(ix).cast(wanted))
        return table.select([name for name in self.types if name in table.column_names])

    def _ticks(self, table: pa.Table, groups: Sequence[RowGroup]) -> Int64s:
        """The times of the rows of one row group, or of several that overlap."""
        named = f"row group {groups[0].number} of {groups[0].file}"
        if len(groups) > 1:
            named = f"row groups that overlap, beginning with {named}"
        return self.axis.encode(table.column(self.axis.column), lambda row: f"row {row} of {named}")


def _check_unchanged(groups: Sequence[RowGroup], ticks: Int64s, kept: int) -> None:
    """Refuse rows that do not agree with the statistics, which the slices depend on.

    ``kept`` is the number of times from other row groups, none before the start of these.
    """
    first = min(group.first for group in groups if group.first is not None)
    last = max(group.last for group in groups if group.last is not None)
    rows = sum(group.rows for group in groups) + kept
    if len(ticks) != rows or ticks.min() < first or ticks.max() > last:
        raise EventError(
            f"row group {groups[0].number} of {groups[0].file} has other events than when the "
            "query was planned; the file has changed since, so plan it again"
        )


def _places_of(types: pa.DictionaryArray, relevant: frozenset[str]) -> Int64s:
    """The places of the rows with one of these types, or without a type."""
    names = types.dictionary.to_pylist()
    wanted = np.array([name is None or name in relevant for name in names], np.int64)
    codes = types.indices.cast(pa.int32())
    if types.null_count:
        codes, wanted = codes.fill_null(len(wanted)), np.append(wanted, 1)
    places = np.empty(len(types), np.int64)
    return places[: places_of_types(to_numpy(codes), wanted, places)]


def may_have_nulls(source: pq.ParquetFile, columns: Iterable[str]) -> bool:
    """Whether one of these columns can be null in a row of the file, by its statistics."""
    groups = [source.metadata.row_group(number) for number in range(source.num_row_groups)]
    leaves = [source.schema.column(ix).path for ix in range(source.metadata.num_columns)]
    told = [group.column(leaves.index(name)).statistics for name in columns for group in groups]
    return any(known is None or not known.has_null_count or known.null_count for known in told)


def _is_compatible(own: pa.DataType, declared: pa.DataType) -> bool:
    """Whether values of the type in a file equal those of the type that Spark declares."""
    if arrow.is_dictionary(own):
        own = own.value_type
    if arrow.is_string(declared):
        return bool(arrow.is_string(own) or arrow.is_large_string(own))
    if arrow.is_timestamp(declared) and arrow.is_timestamp(own):
        return own.unit in ("ms", "us") and (own.tz is None) == (declared.tz is None)
    return bool(own.equals(declared))


def opened(file: str, in_dictionary: Sequence[str] = ()) -> pq.ParquetFile:
    """Open a file by its URI, as Spark lists it.

    Raises:
        OptionError: pyarrow does not support the file system.
    """
    try:
        system, path = fs.FileSystem.from_uri(_HADOOP_S3.sub("s3://", file))
    except pa.ArrowInvalid as error:
        raise OptionError(
            f"workers cannot open {file}: {error}. Let Spark read it: "
            "query.match(spark.read.parquet(...))"
        ) from None
    source = path if isinstance(system, fs.LocalFileSystem) else system.open_input_file(path)
    return pq.ParquetFile(
        source,
        read_dictionary=list(in_dictionary),
        pre_buffer=True,
        coerce_int96_timestamp_unit="us",
    )


def clusters(groups: Iterable[RowGroup]) -> Iterator[list[RowGroup]]:
    """The row groups in time order; overlapping ones are grouped.

    >>> parts = [RowGroup("f", n, n, 1, *times) for n, times in enumerate([(4, 6), (0, 2), (1, 3)])]
    >>> [[group.number for group in together] for together in clusters(parts)]
    [[1, 2], [0]]
    """
    together: list[RowGroup] = []
    for group in sorted(groups, key=lambda group: (group.first, group.place)):
        if together and _is_after(group, together):
            yield together
            together = []
        together.append(group)
    if together:
        yield together


def _is_after(group: RowGroup, others: Sequence[RowGroup]) -> bool:
    """Whether all events of a group that begins no earlier are after the events of the others."""
    assert group.first is not None
    latest = max(other.last for other in others if other.last is not None)
    is_last = group.place > max(other.place for other in others)
    return group.first > latest or (group.first == latest and is_last)
