"""A query over Parquet files that workers read directly: Spark shuffles and sorts nothing.

Event files are usually written in time order, and a match lies within one window. So the files are
divided into slices of time at row group boundaries, and a worker reads the row groups of its slice
and of one more window. Spark moves only the matches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Unpack
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as arrow
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from cepheid.analysis.needs import relevant_types
from cepheid.api import CompiledQuery
from cepheid.errors import OptionError, warn
from cepheid.sessions.run_settings import MatchKeywords
from cepheid.spark.batch.arrow_schemas import arrow_schema
from cepheid.spark.batch.frames import map_in_arrow
from cepheid.spark.batch.preparation import Prepared, prepare
from cepheid.spark.batch.slices import why_not_sliced, with_reach
from cepheid.spark.files.plain_files import plain_files
from cepheid.spark.files.row_groups import EventFiles, RowGroup, clusters, may_have_nulls, opened
from cepheid.spark.worker.partition_run import run_partition, starts_in
from cepheid.spark.worker.worker_settings import WorkerSettings
from cepheid.tuning import tuning

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def match_files(
    query: CompiledQuery,
    spark: SparkSession,
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    match_id: bool = False,
    **keywords: Unpack[MatchKeywords],
) -> DataFrame:
    """The matches of a query over Parquet files, as a DataFrame; the workers read the files.

    This is several times as fast as letting Spark read the files, partition the events by key and
    sort them. ``query.match(spark.read.parquet(paths))`` does it too if it is sure of the same
    answer and of a gain. The files should be in time order: one or two workers then read each row
    group. Events of equal time are in the order of the files, by name, and of their rows, as for
    ``query.match`` over the files without Spark.

    Only plain files are supported, which the workers can open by the URIs that Spark lists.
    Access rights to tables, columns in the names of folders and deleted rows of a lake are
    ignored.

    Args:
        query: the query, which must have a window of time.
        spark: the session, which lists the files and runs the job.
        paths: a file, a folder or a pattern, or several.
        match_id: whether the result has a column ``match_id``, which is the same for the same
            match in every run.
        keywords: as for ``query.match``, without ``tie_break``. The output is ``all``, because
            others depend on more than a slice.

    Raises:
        OptionError: an option cannot be used, the query cannot be run slice by slice, or the
            files are not in time order.
    """
    given = [paths] if isinstance(paths, str | PathLike) else paths
    frame = spark.read.parquet(*map(str, given))
    prepared = prepare(query, frame.schema, match_id=match_id, without=["tie_break"], **keywords)
    refusal = why_not_sliced(prepared)
    if refusal is not None:
        raise OptionError(
            f"files are matched slice by slice, and this query cannot be: {refusal}. Let Spark "
            "read them: query.match(spark.read.parquet(...))"
        )
    files = event_files(prepared, frame.schema)
    in_order = sorted(frame.inputFiles(), key=unquote)
    sources = ((file, opened(file)) for file in in_order)
    groups = _with_times(spark, files, list(files.groups_of(sources)))
    wanted = _wanted_slices(spark, groups)
    bounds = slice_bounds(groups, prepared.window or 0, wanted)
    if wanted > 1 and not bounds:
        _explain_one_slice(groups)
    return _by_slice(spark, prepared, files, groups, bounds)


def match_plain_files(prepared: Prepared, frame: DataFrame) -> DataFrame | None:
    """The matches over a DataFrame, if the workers can read its files directly.

    The matches are the same as if Spark read the files: events of equal time are in the order in
    which Spark would sort them. None if that is not certain, or if there is no gain because the
    files are not in time order, or have fewer slices than there are parallel tasks. If statistics
    lack the times, as in files that Spark wrote, the times are read once, immediately.
    """
    ties, paths = prepared.settings.ties, plain_files(frame)
    if paths is None or len(paths) > tuning().files_most or why_not_sliced(prepared) is not None:
        return None
    spark, files = frame.sparkSession, event_files(prepared, frame.schema, ties)
    if not all(_can_rank(files.types[name], name in prepared.plain) for name in ties):
        return None
    try:
        sources = _as_spark_reads_them(files, paths, prepared.settings.run.read.tie_break)
        groups = list(files.groups_of(sources))
    except (OptionError, OSError, pa.ArrowException):  # Spark may be able to read them.
        return None
    if any(group.first is None for group in groups):
        if _is_hopeless(files, groups):
            return None
        groups = _with_times(spark, files, groups)
    if _most_together(groups) > tuning().file_rows_together:
        return None
    bounds = slice_bounds(groups, prepared.window or 0, _wanted_slices(spark, groups))
    if len(bounds) + 1 < _parallel_tasks(spark):
        return None
    return _by_slice(spark, prepared, files, groups, bounds)


def _can_rank(kind: pa.DataType, is_plain: bool) -> bool:
    """Whether workers sort values of a type in the same order as Spark.

    ``is_plain`` means that Spark compares them without a collation.

    >>> _can_rank(pa.string(), True), _can_rank(pa.list_(pa.string()), False)
    (True, False)
    """
    return is_plain or not (arrow.is_nested(kind) or arrow.is_string(kind))


def _is_hopeless(files: EventFiles, groups: Sequence[RowGroup]) -> bool:
    """Whether reading all times would be of no use, judging by the first two row groups."""
    rows = sum(group.rows for group in groups)
    if len(groups) < 2 or rows > tuning().file_rows_untimed:
        return True
    return len(list(clusters(map(files.with_times, groups[:2])))) < 2


def _as_spark_reads_them(
    files: EventFiles, paths: Sequence[str], tie_break: Sequence[str]
) -> Iterator[tuple[str, pq.ParquetFile]]:
    """The files, opened one after another.

    Raises:
        OptionError: Spark would read other values from a file than the workers.
    """
    named = (*tie_break, files.axis.column)
    for path in paths:
        source = opened(path)
        if not files.are_as_declared(source) or may_have_nulls(source, named):
            raise OptionError(f"only Spark can read {path}")
        yield path, source


def event_files(prepared: Prepared, schema: StructType, ties: tuple[str, ...] = ()) -> EventFiles:
    """How the events of files with these columns are read."""
    whole = arrow_schema(schema)
    settings, relevant = prepared.settings, relevant_types(prepared.query)
    types = {name: whole.field(name).type for name in settings.columns}
    return EventFiles(types, prepared.axis, settings.type, ties, relevant)


def _with_times(
    spark: SparkSession, files: EventFiles, groups: Sequence[RowGroup]
) -> list[RowGroup]:
    """The row groups with their times; if statistics lack them, a Spark job reads them."""
    unknown = [group for group in groups if group.first is None]
    if not unknown:
        return list(groups)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for ix in batch.column(0).to_pylist():
                found = files.with_times(unknown[ix])
                times = {"ix": [ix], "first": [found.first], "last": [found.last]}
                yield pa.RecordBatch.from_pydict(times)

    numbers = spark.range(0, len(unknown), 1, min(len(unknown), _parallel_tasks(spark)))
    rows = map_in_arrow(numbers, read, "ix long, first long, last long").collect()
    told = {unknown[row["ix"]].place: row for row in rows}
    return [
        replace(group, first=told[group.place]["first"], last=told[group.place]["last"])
        if group.place in told
        else group
        for group in groups
    ]


def _by_slice(
    spark: SparkSession,
    prepared: Prepared,
    files: EventFiles,
    groups: Sequence[RowGroup],
    bounds: Sequence[int],
) -> DataFrame:
    slices = with_reach(prepared, bounds)

    def run(
        settings: WorkerSettings, batches: Iterable[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                starts = starts_in(slices.bounds, number)
                events = files.events(groups, starts[0] - slices.back, starts[1] + slices.ahead)
                yield from run_partition(settings, events, starts)

    count = len(slices.bounds) + 1
    return prepared.found_by(run, spark.range(0, count, 1, count))


def _parallel_tasks(spark: SparkSession) -> int:
    context = getattr(spark, "sparkContext", None)  # Spark Connect has no context.
    if context is None:
        return int(str(spark.conf.get("spark.sql.shuffle.partitions")))
    return int(context.defaultParallelism)


def _wanted_slices(spark: SparkSession, groups: Sequence[RowGroup]) -> int:
    """One slice per parallel task, or a multiple of that, or fewer if there are few rows."""
    rows, tasks = sum(group.rows for group in groups), _parallel_tasks(spark)
    rounds = math.ceil(rows / (tasks * tuning().file_rows_most))
    return max(1, min(tasks * rounds, rows // tuning().file_rows_least))


def slice_bounds(groups: Sequence[RowGroup], window: int, wanted: int) -> list[int]:
    """The ticks at which slices end: at row group boundaries, at least a window apart.

    >>> from cepheid.spark.files.row_groups import RowGroup
    >>> parts = [RowGroup("f", n, n, 1_000, 10 * n, 10 * n + 9) for n in range(6)]
    >>> slice_bounds(parts, 5, wanted=3), slice_bounds(parts, 25, wanted=3)
    ([20, 40], [30])
    """
    rows = sum(group.rows for group in groups)
    bounds: list[int] = []
    read, begun = 0, min((_first(group) for group in groups), default=0)
    for together in clusters(groups):
        first = _first(together[0])
        is_full = read >= rows * (len(bounds) + 1) / wanted
        if is_full and first - begun > window:
            bounds.append(first)
            begun = first
        read += sum(group.rows for group in together)
    return bounds


def _explain_one_slice(groups: Sequence[RowGroup]) -> None:
    """Warn why there is only one slice.

    Raises:
        OptionError: the files are not in time order.
    """
    meetings = len(list(clusters(groups))) - 1
    if not meetings and len(groups) > 1:
        raise OptionError(
            "the files are in no order of time: every row group overlaps with others. Write "
            "them sorted by time, or let Spark read them: query.match(spark.read.parquet(...))"
        )
    reason = "the window is as long as all the events" if meetings else "it is one row group"
    warn(f"one worker reads all events: {reason}")


def _most_together(groups: Sequence[RowGroup]) -> int:
    """The greatest number of rows that have to be sorted together."""
    return max((sum(group.rows for group in each) for each in clusters(groups)), default=0)


def _first(group: RowGroup) -> int:
    assert group.first is not None
    return group.first
