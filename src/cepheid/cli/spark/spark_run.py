"""``--spark``: events that Spark reads, and matches that it writes or that are shown."""

from __future__ import annotations

import gzip
import json
import logging
import os
import shutil
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cepheid import CompiledQuery, CompiledScript
from cepheid.cli.formats import Format, open_binary, plain
from cepheid.cli.reporting import busy, plural, say, took
from cepheid.cli.spark.spark_faults import spark_reason
from cepheid.cli.spark.spark_seconds import in_seconds
from cepheid.errors import OptionError, list_words
from cepheid.language import syntax as ast
from cepheid.matches.matches import Match, python_values

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

MOST_TABLE_ROWS = 50
"""How many matches a table shows where no limit is given."""

_SEPARATED = {".csv": ",", ".tsv": "\t"}
_JSON = (".jsonl", ".ndjson", ".json")
_KIND = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv"}
_KIND |= dict.fromkeys(_JSON, "json")
_SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # A time without a zone in a file is taken as it is written.
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    # Not to weigh what is sent to a worker after each row; ten thousand rows are sent at once.
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
}


def start_spark(master: str) -> SparkSession:
    """A session with this master, such as local[*] or spark://host:7077."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise OptionError(
            "Spark is not installed beside cepheid; install both with pip install 'cepheid[spark]'"
        ) from None
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise OptionError(
            "Spark runs on Java, and there is none: install Java 17 or later, or say with "
            "JAVA_HOME where it is"
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("cepheid").master(master)
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    if master.startswith("local"):
        builder = builder.config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    silence(session)
    return session


def silence(session: SparkSession) -> None:
    """Let Spark log nothing: what goes wrong comes as an error, of which one line is shown."""
    session.sparkContext.setLogLevel("OFF")
    # Of pandas nothing is used here but that it is there.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        return
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)


def match_on_spark(
    master: str,
    query: CompiledQuery | CompiledScript,
    source: str | Mapping[str, str],
    chosen: Format,
    folder: Path | None,
    limit: int | None,
    keywords: Mapping[str, Any],
    in_place: bool = False,
) -> None:
    """Run a query or a script on Spark, and write its matches; each query has a folder then.

    ``in_place``: the workers read the files.
    """
    from cepheid.spark import match

    places = _places(query, chosen, folder)
    with busy("Starting Spark"):
        spark = start_spark(master)
    try:
        started = time.perf_counter()
        moments = keywords["time"]
        moments = (moments,) if isinstance(moments, str) else moments
        said = "written" if chosen is not Format.TABLE else "shown"
        with busy("Matching") if folder is not None else nullcontext():
            if isinstance(query, CompiledQuery):
                frame = (
                    _match_in_place(spark, query, source, keywords)
                    if in_place
                    else match(query, read_frames(spark, source, moments), **keywords)
                )
                count = write_frame(frame, query.tree, chosen, folder, limit)
                counts = [f"{plural(count, 'match', 'matches')} {said}"]
            else:
                counts = []
                events = read_frames(spark, source, moments)
                found: Any = match(query, events, **keywords)
                for name, matches in found.items():
                    tree = query.queries[name]
                    count = write_frame(matches, tree, chosen, places[name], limit, name)
                    counts.append(f"{name}: {plural(count, 'match', 'matches')} {said}")
        say(f"{'; '.join(counts)} in {took(time.perf_counter() - started)}")
    finally:
        spark.stop()


def _places(
    query: CompiledQuery | CompiledScript, chosen: Format, folder: Path | None
) -> dict[str, Path | None]:
    """The folder of each query of a script, which are new; refused before Spark starts."""
    if folder is None and chosen not in (Format.JSONL, Format.TABLE):
        raise typer.BadParameter(
            f"Spark writes {chosen.value} into a folder; name it with -o", param_hint="--format"
        )
    names = list(query.queries) if isinstance(query, CompiledScript) else []
    places = {name: None if folder is None else folder / name for name in names}
    if chosen is not Format.TABLE:
        for place in places.values() if names else (folder,):
            if place is not None and place.exists():
                raise OptionError(f"{str(place)!r} exists; Spark writes a new folder of files")
    return places


def _match_in_place(
    spark: SparkSession,
    query: CompiledQuery,
    source: str | Mapping[str, str],
    keywords: Mapping[str, Any],
) -> DataFrame:
    from pyspark.errors import AnalysisException

    from cepheid.spark import match_files

    if not isinstance(source, str) or not isinstance(keywords["time"], str):
        raise OptionError("--in-place takes files of all types together, and one column of times")
    if _suffix(source) in (*_SEPARATED, *_JSON):
        raise OptionError(f"--in-place is for Parquet files, and {source!r} is none")
    kept = {name: keywords[name] for name in keywords if name not in ("slices", "tie_break")}
    try:
        return match_files(query, spark, _absolute(source), **kept)
    except AnalysisException as error:
        raise _cannot_read(source, error) from None


def read_frames(
    spark: SparkSession, source: str | Mapping[str, str], moments: Sequence[str]
) -> DataFrame | dict[str, DataFrame]:
    """The events of a path, or of a path for each type; ``moments`` are the columns of times."""
    if isinstance(source, str):
        return _read_frame(spark, source, moments)
    return {name: _read_frame(spark, path, moments) for name, path in source.items()}


def _absolute(path: str) -> str:
    return path if "://" in path else str(Path(path).absolute())


def _read_frame(spark: SparkSession, path: str, moments: Sequence[str]) -> DataFrame:
    """The events of a file or folder; a row that cannot be read whole is an error."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import AnalysisException

    path = _absolute(path)
    suffix = _suffix(path)
    try:
        if suffix in _SEPARATED:
            _refuse_other_headers(Path(path))
            # Of columns that are not needed Spark would not see that a row has too few.
            reader = spark.read.option("columnPruning", "false")
            return reader.csv(
                path,
                header=True,
                inferSchema=True,
                sep=_SEPARATED[suffix],
                escape='"',
                mode="FAILFAST",
            )
        if suffix in _JSON:
            frame = spark.read.json(path, mode="FAILFAST")
            for moment in moments:
                if dict(frame.dtypes).get(moment) == "string":
                    frame = frame.withColumn(moment, frame[moment].cast("timestamp"))
            return frame
        return spark.read.parquet(path)
    except (AnalysisException, Py4JJavaError) as error:
        raise _cannot_read(path, error) from None


def _suffix(path: str) -> str:
    """How a file, or the files of a folder, say by their names what they hold."""
    folder = Path(path)
    if not folder.is_dir():
        return _suffix_of_name(path)
    names = _names(folder)
    of_suffix = {_suffix_of_name(name): name for name in reversed(names)}
    known = {_KIND.get(suffix): suffix for suffix in of_suffix}
    if not names:
        raise OptionError(f"there is no file in the folder {path!r}")
    if [*known] == [None]:  # Parquet files need not be called so.
        return ".parquet"
    if None in known:
        raise OptionError(
            f"{of_suffix[known[None]]!r} in the folder {path!r} does not say by its name what it "
            f"holds; Spark reads {list_words(list(_KIND))}"
        )
    if len(known) > 1:
        raise OptionError(
            f"the folder {path!r} holds {list_words(sorted(of_suffix.values()))}; Spark reads "
            "files of one kind together"
        )
    return next(iter(of_suffix))


def _names(folder: Path) -> list[str]:
    """The files of a folder and of those in it, but for what Spark does not read either."""
    paths = (each for each in sorted(folder.rglob("*")) if each.is_file())
    names = [each.relative_to(folder) for each in paths]
    return [str(name) for name in names if not any(part[0] in "._" for part in name.parts)]


def _refuse_other_headers(folder: Path) -> None:
    """Spark would take the header of one file for that of all, and the others for rows."""
    headers: dict[bytes, str] = {}
    for name in _names(folder):
        with (gzip.open if name.endswith(".gz") else open)(folder / name, "rb") as file:
            headers.setdefault(file.readline().rstrip(b"\r\n"), name)
    if len(headers) > 1:
        first, second, *_ = headers.values()
        raise OptionError(
            f"{second!r} has another header than {first!r}; CSV files of one folder have the same "
            "columns in the same order"
        )


def _suffix_of_name(name: str) -> str:
    return Path(name.removesuffix(".gz")).suffix.lower()


def _cannot_read(path: str, error: Exception) -> OptionError:
    return OptionError(f"Spark cannot read {path!r}: {spark_reason(str(error))}")


def write_frame(
    matches: DataFrame,
    query: ast.Query,
    chosen: Format,
    folder: Path | None,
    limit: int | None,
    name: str | None = None,
) -> int:
    """Write the matches, and return how many: Spark into a folder, or here onto stdout.

    ``name`` is that of the query where there are several.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

    if chosen is Format.TABLE:
        shown = matches.limit(MOST_TABLE_ROWS if limit is None else limit).toArrow()
        if name is not None:
            typer.echo(name)
        _print_table(shown, query)
        return int(shown.num_rows)
    if limit is not None:
        matches = matches.limit(limit)
    if folder is None:
        return _write_lines(matches, query, {} if name is None else {"query": name})
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
    """The rows of a result as matches, which have no row numbers."""
    columns = [python_values(column) for column in table.columns]
    for row in zip(*columns, strict=True):
        values = dict(zip(table.column_names, row, strict=True))
        yield Match(values["start"], values["end"], {}, values)


def with_items(query: ast.Query) -> ast.Query:
    """The query, which returns its variables one by one if it says nothing else."""
    if query.returns is not None:
        return query
    names = dict.fromkeys(
        part.variable for part, negated in ast.components(query.pattern) if not negated
    )
    items = tuple(ast.ReturnItem(ast.EventReference(name), name) for name in names)
    return replace(query, returns=ast.Return(items))


def _print_table(found: pa.Table, query: ast.Query) -> None:
    from cepheid.cli.tables import PipedConsole, matches_table

    if found.num_rows:
        console = PipedConsole()
        rows = list(found_matches(found))
        console.print(matches_table(rows, with_items(query), limit=len(rows), width=console.width))


def _write_lines(matches: DataFrame, query: ast.Query, also: Mapping[str, str]) -> int:
    """One JSON object for each match, as Spark finds them."""
    key = "events" if query.returns is None else "return"
    count = 0
    with open_binary(None) as sink:
        for row in matches.toLocalIterator(prefetchPartitions=True):
            values: dict[str, Any] = row.asDict(recursive=True)
            times = {name: plain(values[name]) for name in islice(values, 2)}
            rest = {name: plain(values[name]) for name in islice(values, 2, None)}
            line = json.dumps({**also, **times, key: rest}, ensure_ascii=False)
            sink.write(line.encode("utf-8", "replace") + b"\n")
            count += 1
    return count


def _flat(matches: DataFrame, chosen: Format) -> DataFrame:
    """The matches with columns that the format has; in CSV what has parts becomes JSON."""
    from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
    from pyspark.sql.types import ArrayType, MapType, StructType

    if chosen is Format.PARQUET:
        return matches
    matches = in_seconds(matches)
    columns = []
    for field in matches.schema.fields:
        value = matches[f"`{field.name}`"]
        if isinstance(field.dataType, StructType | ArrayType | MapType) and chosen is Format.CSV:
            value = F.to_json(value)
        columns.append(value.alias(field.name))
    return matches.select(*columns)
