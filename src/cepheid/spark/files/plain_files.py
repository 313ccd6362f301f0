"""Whether a DataFrame is nothing but Parquet files, so that workers can read the files instead.

Only Spark knows exactly what a plan means. So only the simplest plan is accepted: local files that
were read without options, a selection of their columns, and new names for them. Spark reads
everything else: tables, stored views, conditions, columns in the names of folders, cached data and
other formats.
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
"""The settings with which Spark reads all files, and the times exactly as stored."""


def plain_files(frame: DataFrame) -> list[str] | None:
    """The URIs of the files; None if the frame is anything else."""
    if getattr(frame, "_jdf", None) is None:  # True for Spark Connect.
        return None
    settings = frame.sparkSession.conf
    if any(settings.get(name) not in plain for name, plain in _SETTINGS.items()):
        return None
    from py4j.protocol import Py4JError  # May be missing in a Spark Connect client.

    try:
        # A frame keeps the cache state of its first planning, so a new frame is made.
        return _files_of(frame.select("*")._jdf.queryExecution().withCachedData())
    except Py4JError:  # Another version of Spark with different plans.
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
    """Whether this step only selects or renames columns of its input."""
    if _name(plan) == "Project":
        return all(_name(column) == "AttributeReference" for column in _each(plan.projectList()))
    return _name(plan) == "SubqueryAlias" or (_name(plan) == "View" and plan.isTempView())


def _name(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(number) for number in range(sequence.size()))
