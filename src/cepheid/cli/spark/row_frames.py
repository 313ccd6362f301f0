"""``--spark`` for ``MATCH_RECOGNIZE``: the rows of a DataFrame as they are."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from cepheid import RowPatternQuery
from cepheid.cli.formats import Format, Output
from cepheid.cli.inputs import Source
from cepheid.cli.reporting import busy, say, took
from cepheid.cli.results import MOST_TABLE_ROWS, write_rows
from cepheid.cli.spark import spark_run
from cepheid.cli.spark.frames import read_frame
from cepheid.errors import plural
from cepheid.files.output import open_output

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def match_rows_on_spark(
    master: str, query: RowPatternQuery, source: Source, output: Output, keywords: Mapping[str, Any]
) -> None:
    """Run a clause over the files of a path, and write the rows of the result."""
    if isinstance(source, dict):
        raise typer.BadParameter("MATCH_RECOGNIZE reads one table", param_hint="EVENTS")
    moments = [item.column.text for item in query.tree.order_by[:1]]

    def found(spark: SparkSession) -> DataFrame:
        frame = read_frame(spark, source, moments)
        return query.match(frame, **keywords)  # type: ignore[return-value]

    write_found(master, found, output)


def sql_on_spark(
    master: str, text: str, tables: Mapping[str, str], output: Output, keywords: Mapping[str, Any]
) -> None:
    """Run a statement over files, and write the rows of the result."""

    def found(spark: SparkSession) -> DataFrame:
        from cepheid.spark import sql

        for name, path in tables.items():
            read_frame(spark, path, ()).createOrReplaceTempView(name)
        return sql(spark, text, **keywords)

    write_found(master, found, output)


def write_found(
    master: str,
    found: Callable[[SparkSession], DataFrame],
    output: Output,
    write: Callable[[pa.Table, Output, BinaryIO], None] = write_rows,
) -> None:
    """Write the rows of a DataFrame: to a folder, or to stdout with ``write``."""
    spark_run.check_places([output.file], output.format)
    with busy("Starting Spark"):
        spark = spark_run.start_spark(master)
    try:
        started = time.perf_counter()
        with busy("Matching"):
            frame = found(spark)
            limit = output.limit
            if limit is None and output.format is Format.TABLE:
                limit = MOST_TABLE_ROWS
            frame = frame if limit is None else frame.limit(limit)
            if output.file is not None and output.format is not Format.TABLE:
                count = spark_run.write_folder(frame, output.encoding, output.file)
            else:
                table = frame.toArrow()
                count = table.num_rows
                with open_output(output.file) as sink:
                    write(table, output, sink)
        done = "shown" if output.format is Format.TABLE else "written"
        say(f"{plural(count, 'row')} {done} in {took(time.perf_counter() - started)}")
    finally:
        spark.stop()
