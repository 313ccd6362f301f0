"""``--spark``: the events of files and folders as DataFrames."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.cli.inputs import Source
from cepheid.errors import OptionError, list_words
from cepheid.events.sources.files import PARQUET_SUFFIXES
from cepheid.events.sources.text_files import CSV_DELIMITERS, JSON_SUFFIXES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KIND_OF_SUFFIX = {
    **dict.fromkeys(PARQUET_SUFFIXES, "parquet"),
    **{suffix: suffix[1:] for suffix in CSV_DELIMITERS},
    **dict.fromkeys(JSON_SUFFIXES, "json"),
}


def read_frames(
    spark: SparkSession,
    source: Source,
    moments: Sequence[str],
    sep: str | None = None,
) -> DataFrame | dict[str, DataFrame]:
    """The events of paths, or of a path for each type; ``moments`` are the time columns."""
    if not isinstance(source, dict):
        return read_frame(spark, source, moments, sep)
    return {name: read_frame(spark, path, moments, sep) for name, path in source.items()}


def absolute(path: str) -> str:
    """The path for Spark, which may run in another folder; a URI as it is."""
    return path if "://" in path else str(Path(path).absolute())


def read_frame(
    spark: SparkSession, source: str | list[str], moments: Sequence[str], sep: str | None = None
) -> DataFrame:
    """The events of a file or folder, or of several; a malformed row is an error.

    ``sep`` is the separator of CSV files, if their suffix does not say it.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import AnalysisException

    paths = [absolute(path) for path in ([source] if isinstance(source, str) else source)]
    suffix = _common_suffix(paths)
    if sep is not None and suffix not in CSV_DELIMITERS:
        raise OptionError(
            f"--sep is the character between the columns of a CSV file, and {paths[0]!r} is none; "
            "leave it out"
        )
    try:
        if suffix in CSV_DELIMITERS:
            _refuse_other_headers(paths)
            # With column pruning Spark would not notice rows with too few fields.
            reader = spark.read.option("columnPruning", "false")
            return reader.csv(
                paths,
                header=True,
                inferSchema=True,
                sep=sep or CSV_DELIMITERS[suffix],
                escape='"',
                mode="FAILFAST",
            )
        if suffix in JSON_SUFFIXES:
            frame = spark.read.json(paths, mode="FAILFAST")
            for moment in moments:
                if dict(frame.dtypes).get(moment) == "string":
                    frame = frame.withColumn(moment, frame[moment].cast("timestamp"))
            return frame
        return spark.read.parquet(*paths)
    except (AnalysisException, Py4JJavaError) as error:
        raise cannot_read(", ".join(paths), error) from None


def may_be_parquet(path: str) -> bool:
    """Whether a file, or the files of a folder, are Parquet or have an unknown suffix."""
    return KIND_OF_SUFFIX.get(_suffix(path), "parquet") == "parquet"


def _common_suffix(paths: Sequence[str]) -> str:
    """The file name suffix of files and folders, which have one format."""
    of_kind = {KIND_OF_SUFFIX.get(_suffix(path)): path for path in reversed(paths)}
    if len(of_kind) > 1:
        raise OptionError(
            f"{list_words(sorted(map(repr, of_kind.values())))} have different formats; Spark "
            "reads files of one"
        )
    return _suffix(paths[0])


def _suffix(path: str) -> str:
    """The file name suffix of a file, or of the files in a folder."""
    folder = Path(path)
    if not folder.is_dir():
        return _suffix_of_name(path)
    names = _names(folder)
    of_suffix = {_suffix_of_name(name): name for name in reversed(names)}
    known = {KIND_OF_SUFFIX.get(suffix): suffix for suffix in of_suffix}
    if not names:
        raise OptionError(f"the folder {path!r} is empty")
    if [*known] == [None]:  # Parquet files need no suffix.
        return ".parquet"
    if None in known:
        raise OptionError(
            f"the format of {of_suffix[known[None]]!r} in the folder {path!r} is unknown; "
            f"Spark reads {list_words(list(KIND_OF_SUFFIX))}"
        )
    if len(known) > 1:
        raise OptionError(
            f"the folder {path!r} has {list_words(sorted(of_suffix.values()))}; all files of a "
            "folder must have one format"
        )
    return next(iter(of_suffix))


def _names(folder: Path) -> list[str]:
    """The files below a folder, except hidden ones, which Spark ignores too."""
    paths = (each for each in sorted(folder.rglob("*")) if each.is_file())
    names = [each.relative_to(folder) for each in paths]
    return [str(name) for name in names if not any(part[0] in "._" for part in name.parts)]


def _refuse_other_headers(paths: Sequence[str]) -> None:
    """Refuse CSV files with different headers: Spark would read rows with the wrong names."""
    headers: dict[bytes, str] = {}
    found = (Path(each) for path in paths for each in sorted(glob(path)))
    files = (each / name for each in found for name in (_names(each) if each.is_dir() else [""]))
    for each in files:
        with (gzip.open if each.suffix == ".gz" else open)(each, "rb") as file:
            headers.setdefault(file.readline().rstrip(b"\r\n"), each.name)
    if len(headers) > 1:
        first, second, *_ = headers.values()
        raise OptionError(
            f"{second!r} and {first!r} have different headers; all CSV files that are read "
            "together must have the same columns in the same order"
        )


def _suffix_of_name(name: str) -> str:
    return Path(name.removesuffix(".gz")).suffix.lower()


def cannot_read(path: str, error: Exception) -> OptionError:
    """What to say if Spark cannot read a path."""
    from cepheid.spark.faults import spark_reason

    return OptionError(f"Spark cannot read {path!r}: {spark_reason(str(error))}")
