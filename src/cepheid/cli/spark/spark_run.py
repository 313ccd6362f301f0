"""``--spark``: runs a query with Spark, and writes or shows the matches.

Durations in text are in seconds, as everywhere on the command line.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cepheid import CompiledQuery, CompiledScript
from cepheid.cli.formats import Format
from cepheid.cli.inputs import Source
from cepheid.cli.reporting import busy, say, took
from cepheid.cli.results import MOST_TABLE_ROWS, write_table
from cepheid.cli.spark.frames import absolute, cannot_read, may_be_parquet, read_frames
from cepheid.errors import OptionError, plural
from cepheid.files.output import open_output
from cepheid.language import syntax as ast
from cepheid.matches.matches import Match
from cepheid.matches.shapes.flat import plain, python_values
from cepheid.visible import visible

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

_SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # A time without a zone in a file is read as it is written.
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    # Spark would compute the size of a batch after each row; the limit of 10,000 rows is enough.
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
}


def start_spark(master: str, settings: Mapping[str, str] = _SETTINGS) -> SparkSession:
    """A Spark session with this master, such as local[*] or spark://host:7077."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise OptionError("Spark is not installed: pip install 'cepheid[spark]'") from None
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise OptionError(
            "Spark needs Java, which was not found: install Java 17 or later, or set JAVA_HOME"
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    _silence_start()
    builder = SparkSession.builder.appName("cepheid").master(master)
    if master.startswith("local"):
        settings = {"spark.ui.enabled": "false", **settings}
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    _silence(session)
    return session


def _silence_start() -> None:
    """Let a JVM that starts now log nothing, also before it can be told so."""
    settings = Path(__file__).with_name("log4j2.properties")
    given = os.environ.get("SPARK_SUBMIT_OPTS", "")
    if "log4j2.configurationFile" not in given:
        quiet = f"-Dlog4j2.configurationFile={settings.as_uri()}"
        os.environ["SPARK_SUBMIT_OPTS"] = f"{given} {quiet}".strip()


def _silence(session: SparkSession) -> None:
    """Turn off Spark's log: a failure is raised as an error, and one line of it is shown."""
    session.sparkContext.setLogLevel("OFF")
    # It would log a traceback of each call that a signal interrupts.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    # pandas only has to be installed; nothing here uses it.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        return
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)


def match_on_spark(
    master: str,
    query: CompiledQuery | CompiledScript,
    source: Source,
    chosen: Format,
    folder: Path | None,
    limit: int | None,
    keywords: Mapping[str, Any],
    in_place: bool = False,
) -> None:
    """Run a query or a script on Spark, and write the matches of each query into its own folder.

    ``in_place``: the workers read the files directly.
    """
    # A query is a script of one, without a name.
    trees: dict[Any, ast.Query] = (
        {**query.queries} if isinstance(query, CompiledScript) else {None: query.tree}
    )
    places = _places(trees, chosen, folder)
    with busy("Starting Spark"):
        spark = start_spark(master)
    try:
        started = time.perf_counter()
        done = "written" if chosen is not Format.TABLE else "shown"
        counts = []
        with busy("Matching") if folder is not None else nullcontext():
            found: Any = matched(spark, query, source, keywords, in_place)
            for name, tree in trees.items():
                frame = found if name is None else found[name]
                count = plural(
                    write_frame(frame, tree, chosen, places[name], limit, name), "match", "matches"
                )
                counts.append(f"{count} {done}" if name is None else f"{name}: {count} {done}")
        say(f"{'; '.join(counts)} in {took(time.perf_counter() - started)}")
    finally:
        spark.stop()


def matched(
    spark: SparkSession,
    query: CompiledQuery | CompiledScript,
    source: Source,
    keywords: Mapping[str, Any],
    in_place: bool,
) -> DataFrame | dict[str, DataFrame]:
    """The matches over the files; of a script, those of each query by its name."""
    from cepheid.spark import match

    moments = keywords["time"]
    moments = (moments,) if isinstance(moments, str) else moments
    others = {name: value for name, value in keywords.items() if name != "sep"}
    if in_place and isinstance(query, CompiledQuery):
        return _match_in_place(spark, query, source, others)
    return match(query, read_frames(spark, source, moments, keywords.get("sep")), **others)


def _places(
    names: Iterable[str | None], chosen: Format, folder: Path | None
) -> dict[str | None, Path | None]:
    """The folder of each query."""
    places = {name: folder and folder / (name or "") for name in names}
    check_places(places.values(), chosen)
    return places


def check_places(places: Iterable[Path | None], chosen: Format) -> None:
    """Refuse a missing or an existing folder before Spark starts."""
    for place in places:
        if place is None and chosen not in (Format.JSONL, Format.TABLE, Format.ROWS):
            raise typer.BadParameter(
                f"Spark writes {chosen.value} to a folder; name it with -o", param_hint="--format"
            )
        if place is not None and place.exists() and chosen is not Format.TABLE:
            raise OptionError(f"{str(place)!r} already exists; Spark writes to a new folder")


def _match_in_place(
    spark: SparkSession,
    query: CompiledQuery,
    source: Source,
    keywords: Mapping[str, Any],
) -> DataFrame:
    from pyspark.errors import AnalysisException

    from cepheid.spark import match_files

    if not isinstance(source, str) or not isinstance(keywords["time"], str):
        raise OptionError("--in-place needs one source with all event types, and one time column")
    if not may_be_parquet(source):
        raise OptionError(f"--in-place reads only Parquet files, not {source!r}")
    kept = {name: keywords[name] for name in keywords if name not in ("slices", "tie_break")}
    try:
        return match_files(query, spark, absolute(source), **kept)
    except AnalysisException as error:
        raise cannot_read(source, error) from None


def write_frame(
    matches: DataFrame,
    query: ast.Query,
    chosen: Format,
    folder: Path | None,
    limit: int | None,
    name: str | None = None,
) -> int:
    """Write the matches to a folder or to stdout, and return their number.

    ``name`` is the name of the query in a script.
    """
    if chosen is Format.TABLE:
        most = MOST_TABLE_ROWS if limit is None else limit
        shown = list(found_matches(matches.limit(most).toArrow()))
        if name is not None:
            typer.echo(visible(name))
        write_table(shown, with_items(query), None, sys.stdout.buffer)
        return len(shown)
    if limit is not None:
        matches = matches.limit(limit)
    if folder is None:
        return _write_lines(matches, query, {} if name is None else {"query": name})
    return write_folder(matches, chosen, folder)


def write_folder(matches: DataFrame, chosen: Format, folder: Path) -> int:
    """Write rows to a new folder, and return their number."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

    folder = folder.absolute()
    counted = Observation()
    writer = _flat(matches, chosen).observe(counted, F.count(F.lit(1)).alias("matches")).write
    if chosen is Format.PARQUET:
        writer.parquet(str(folder))
    elif chosen is Format.CSV:
        writer.csv(str(folder), header=True)
    else:
        writer.json(str(folder))
    return int(counted.get["matches"])


def found_matches(table: pa.Table) -> Iterator[Match]:
    """The rows of a result as matches without row numbers."""
    columns = [python_values(column) for column in table.columns]
    for row in zip(*columns, strict=True):
        values = dict(zip(table.column_names, row, strict=True))
        partial = values.get("timed_out")
        yield Match(values["start"], values["end"], {}, values, timed_out=partial)


def with_items(query: ast.Query) -> ast.Query:
    """The query; without RETURN, one that returns each of its variables."""
    if query.returns is not None:
        return query
    names = ast.positive_variables(query.pattern)
    items = tuple(ast.ReturnItem(ast.EventReference(name), name) for name in names)
    return replace(query, returns=ast.Return(items))


def _write_lines(matches: DataFrame, query: ast.Query, also: Mapping[str, str]) -> int:
    """Write one JSON object per match, as Spark finds them."""
    key = "events" if query.returns is None else "return"
    count = 0
    with open_output(None) as sink:
        for row in matches.toLocalIterator(prefetchPartitions=True):
            values: dict[str, Any] = row.asDict(recursive=True)
            times = {name: plain(values[name]) for name in islice(values, 2)}
            rest = {name: plain(values[name]) for name in islice(values, 2, None)}
            line = json.dumps({**also, **times, key: rest}, ensure_ascii=False)
            sink.write(line.encode("utf-8", "backslashreplace") + b"\n")
            count += 1
    return count


def _flat(matches: DataFrame, chosen: Format) -> DataFrame:
    """The matches with column types that the format supports; in CSV, nested values are JSON."""
    from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
    from pyspark.sql.types import ArrayType, MapType, StructType

    if chosen is Format.PARQUET:
        return matches
    matches = in_seconds(matches)
    nested = {
        field.name: F.to_json(matches[f"`{field.name}`"])
        for field in matches.schema.fields
        if isinstance(field.dataType, StructType | ArrayType | MapType)
    }
    return matches.withColumns(nested) if nested and chosen is Format.CSV else matches


_UNITS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}


def in_seconds(matches: DataFrame) -> DataFrame:
    """The matches with all durations in seconds, including those inside events and lists."""
    columns = [
        _seconds(matches[f"`{field.name}`"], field.dataType).alias(field.name)
        for field in matches.schema.fields
    ]
    return matches.select(*columns)


def _seconds(value: Column, kind: DataType) -> Column:
    from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
    from pyspark.sql.types import ArrayType, DayTimeIntervalType, StructType

    if isinstance(kind, DayTimeIntervalType):
        whole = value.cast("interval day to second")
        parts = [F.extract(F.lit(unit), whole) * count for unit, count in _UNITS.items()]
        return (parts[0] + parts[1] + parts[2] + parts[3]).cast("double")
    if not _has_duration(kind):
        return value
    if isinstance(kind, ArrayType):
        inner = kind.elementType
        return F.transform(value, lambda item: _seconds(item, inner))
    assert isinstance(kind, StructType)
    fields = [
        _seconds(value.getField(field.name), field.dataType).alias(field.name)
        for field in kind.fields
    ]
    return F.when(value.isNotNull(), F.struct(*fields))


def _has_duration(kind: DataType) -> bool:
    from pyspark.sql.types import ArrayType, DayTimeIntervalType, StructType

    if isinstance(kind, ArrayType):
        return _has_duration(kind.elementType)
    if isinstance(kind, StructType):
        return any(_has_duration(field.dataType) for field in kind.fields)
    return isinstance(kind, DayTimeIntervalType)
