"""A data source of Spark whose rows are the matches of a query over Parquet files.

It is for places in which only the name of a format and its options can be said, such as a table
definition in SQL. As with ``match_files``, the workers read the files, and Spark only the matches.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import pyarrow as pa
import pyarrow.fs as fs
import pyarrow.parquet as pq
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from cepheid.api import sase_query
from cepheid.errors import OptionError, list_words
from cepheid.spark.batch.arrow_schemas import spark_schema
from cepheid.spark.batch.preparation import Prepared, prepare
from cepheid.spark.batch.slices import Slices, why_not_sliced, with_reach
from cepheid.spark.files.files import event_files, slice_bounds
from cepheid.spark.files.row_groups import EventFiles, RowGroup, opened
from cepheid.spark.worker.own_errors import own_errors
from cepheid.spark.worker.partition_run import run_partition, starts_in
from cepheid.spark.worker.worker_settings import WorkerSettings
from cepheid.tuning import tuning

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KEYWORDS = ("time", "type", "time_unit", "evaluation")
_OPTIONS = ("path", "query", "slices", "match_id", *_KEYWORDS)


def register_source(spark: SparkSession) -> None:
    """Let Spark read matches: ``spark.read.format("cepheid").option("query", …).load(path)``.

    The path is a Parquet file or a folder of them, in time order, and the query needs a window of
    time. The options are ``query``, ``time``, ``type``, ``time_unit``, ``evaluation``, ``match_id``
    (``true``) and ``slices``, the number of tasks; by default one for each core of the driver.

    Example::

        cep.spark.register_source(spark)
        spark.sql("CREATE TABLE thefts USING cepheid OPTIONS (path 'readings/', query 'PATTERN …')")
    """
    spark.dataSource.register(MatchSource)


class MatchSource(DataSource):
    """The data source ``cepheid``."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        self._given = {name.lower(): value for name, value in options.items()}

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "cepheid"

    def schema(self) -> StructType:
        """The columns of the matches."""
        # Spark compares the columns of batches with these: all can be null there.
        return spark_schema(self._read()[0].settings.result_schema)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - it is our own
        """What reads the matches."""
        prepared, paths = self._read()
        refusal = why_not_sliced(prepared)
        if refusal is not None:
            raise OptionError(
                f"files are matched slice by slice, and this query cannot be: {refusal}"
            )
        files = event_files(prepared, _schema_of(paths))
        groups = [
            group if group.first is not None else files.with_times(group)
            for group in files.groups_of((path, _parquet(path)) for path in paths)
        ]
        rows = sum(group.rows for group in groups)
        wanted = min(os.cpu_count() or 1, max(1, rows // tuning().file_rows_least))
        wanted = _number("slices", self._given.get("slices"), wanted)
        bounds = slice_bounds(groups, prepared.window or 0, wanted)
        return MatchReader(prepared.settings, files, groups, with_reach(prepared, bounds))

    def _read(self) -> tuple[Prepared, list[str]]:
        """The query over the columns of the files, and the files."""
        given = self._given
        unknown = [repr(name) for name in given if name not in _OPTIONS]
        if unknown:
            raise OptionError(
                f"the format 'cepheid' has no option {list_words(unknown)}; it has "
                f"{list_words(_OPTIONS)}"
            )
        for name in ("path", "query"):
            if name not in given:
                raise OptionError(f"the format 'cepheid' needs the option {name!r}")
        paths = _files(given["path"])
        keywords = {name: given[name] for name in _KEYWORDS if name in given}
        prepared = prepare(
            sase_query(given["query"]),
            _schema_of(paths),
            match_id=_flag("match_id", given.get("match_id", "false")),
            without=["tie_break"],
            **cast("Any", keywords),
        )
        return prepared, paths


class MatchReader(DataSourceReader):
    """Reads the matches of each slice of time in a worker."""

    def __init__(
        self, settings: WorkerSettings, files: EventFiles, groups: list[RowGroup], slices: Slices
    ) -> None:
        self._settings, self._files, self._groups = settings, files, groups
        self._slices = slices

    def partitions(self) -> list[InputPartition]:
        """One for each slice."""
        return [InputPartition(number) for number in range(len(self._slices.bounds) + 1)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The matches of a slice."""
        slices = self._slices
        low, high = starts_in(slices.bounds, partition.value)
        with own_errors():
            events = self._files.events(self._groups, low - slices.back, high + slices.ahead)
            yield from run_partition(self._settings, events, (low, high))


def _flag(name: str, given: str) -> bool:
    if given.lower() not in ("true", "false"):
        raise OptionError(f"{name} is 'true' or 'false', not {given!r}")
    return given.lower() == "true"


def _number(name: str, given: str | None, default: int) -> int:
    if given is None:
        return default
    if not given.isdecimal() or int(given) < 1:
        raise OptionError(f"{name} is a positive integer, not {given!r}")
    return int(given)


def _files(path: str) -> list[str]:
    """The URIs of the Parquet files of a path, by name."""
    if "://" not in path:
        path = Path(path.removeprefix("file:")).absolute().as_uri()
    try:
        system, place = fs.FileSystem.from_uri(path)
        found = [system.get_file_info(place)]
    except pa.ArrowInvalid as error:
        raise OptionError(f"the format 'cepheid' cannot open {path!r}: {error}") from None
    if found[0].type is fs.FileType.Directory:
        found = system.get_file_info(fs.FileSelector(place, recursive=True))
    begin = path.partition("://")[0] + "://"
    if path.endswith(quote(place)):
        begin = path.removesuffix(quote(place))
    names = [each.path for each in found if each.type is fs.FileType.File]
    # Hidden files, and those in hidden folders below the path, as Spark ignores them.
    shown = [name for name in names if not any(map(_is_hidden, _below(name, place)))]
    if not shown:
        raise OptionError(f"there are no files in {path!r}")
    return [f"{begin}{quote(name)}" for name in sorted(shown)]


def _below(name: str, place: str) -> tuple[str, ...]:
    """The folders of a file below a place, and its own name."""
    return Path(name).parts[len(Path(place).parts) :] or (Path(name).name,)


def _is_hidden(name: str) -> bool:
    # To Spark, a name such as _day=1 is the folder of a partition.
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _schema_of(paths: list[str]) -> StructType:
    return spark_schema(_parquet(paths[0]).schema_arrow)


def _parquet(path: str) -> pq.ParquetFile:
    try:
        return opened(path)
    except pa.ArrowInvalid as error:
        raise OptionError(f"the format 'cepheid' cannot read {path!r}: {error}") from None
