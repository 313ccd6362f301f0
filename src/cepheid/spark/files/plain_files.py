"""Whether a DataFrame is nothing but Parquet files, so that reading these is reading it.

What a plan means is Spark's to say. So only the one plan counts that leaves nothing to be said:
files of this machine that were read with no option, columns of them, and other names for them.
Tables, views that are stored, conditions, columns in the names of folders, what is cached and what
other formats do with files are Spark's to read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

_LOCAL = "file:"
_SETTINGS = {
    "spark.sql.files.ignoreCorruptFiles": ("false",),
    "spark.sql.files.ignoreMissingFiles": ("false",),
    "spark.sql.parquet.int96TimestampConversion": ("false",),
    "spark.sql.parquet.int96RebaseModeInRead": ("CORRECTED", "EXCEPTION"),
    "spark.sql.parquet.datetimeRebaseModeInRead": ("CORRECTED", "EXCEPTION"),
}
"""What has to be set so that Spark reads all files, and from them the times that they have."""


def plain_files(frame: DataFrame) -> list[str] | None:
    """The URIs of the files; None where the frame is anything else."""
    if getattr(frame, "_jdf", None) is None:  # So it is with Spark Connect.
        return None
    settings = frame.sparkSession.conf
    if any(settings.get(name) not in plain for name, plain in _SETTINGS.items()):
        return None
    from py4j.protocol import Py4JError  # A client of Spark Connect need not have it.

    try:
        # A frame remembers what was cached when it was planned first, and this one is new.
        return _files_of(frame.select("*")._jdf.queryExecution().withCachedData())
    except Py4JError:  # Another version of Spark, with other plans.
        return None


def _files_of(plan: Any) -> list[str] | None:
    while _changes_nothing(plan):
        plan = plan.child()
    if _name(plan) != "LogicalRelation" or plan.catalogTable().isDefined():
        return None
    relation = plan.relation()
    is_plain = (
        _name(relation) == "HadoopFsRelation"
        and _name(relation.location()) == "InMemoryFileIndex"
        and _name(relation.fileFormat()) == "ParquetFileFormat"
        and relation.partitionSchema().isEmpty()
        and set(_each(relation.options().keys().toSeq())) <= {"path"}
    )
    files = list(relation.location().inputFiles()) if is_plain else []
    return files if files and all(file.startswith(_LOCAL) for file in files) else None


def _changes_nothing(plan: Any) -> bool:
    """Whether this step gives columns of what it gets, or another name to it."""
    if _name(plan) == "Project":
        return all(_name(column) == "AttributeReference" for column in _each(plan.projectList()))
    return _name(plan) == "SubqueryAlias" or (_name(plan) == "View" and plan.isTempView())


def _name(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(number) for number in range(sequence.size()))
