"""``cepheid rules match --spark``: the matches of all rules as one DataFrame."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from cepheid import RuleSet
from cepheid.cli.formats import Format, Output
from cepheid.cli.inputs import Source
from cepheid.cli.results import write_rows
from cepheid.cli.spark.frames import read_frames
from cepheid.cli.spark.row_frames import write_found
from cepheid.matches.shapes.flat import dicts, plain

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_NESTED = ("key", "values")
FAULT = "fault"


def match_rules_on_spark(
    master: str, rules: RuleSet, source: Source, output: Output, keywords: Mapping[str, Any]
) -> None:
    """Run rules over the files of a path, or of a path for each type, and write the result.

    In JSON, the key and the values of a match are objects.
    """
    moments = [keywords.get("time", "ts")]
    sep = keywords.get("sep")
    others = {name: value for name, value in keywords.items() if name != "sep"}

    def found(spark: SparkSession) -> DataFrame:
        frames = read_frames(spark, source, moments, sep)
        alerts: Any = rules.match(frames, **others)
        is_json = output.format is Format.JSONL and output.file is not None
        return with_objects(alerts) if is_json else alerts

    write_found(master, found, output, _write)


def with_objects(found: DataFrame) -> DataFrame:
    """The result of rules with objects instead of JSON; that of a query as it is."""
    from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

    if FAULT not in found.columns:
        return found
    return found.withColumns({name: F.parse_json(name) for name in _NESTED})


def _write(table: pa.Table, output: Output, sink: BinaryIO) -> None:
    if output.format is not Format.JSONL:
        write_rows(table, output, sink)
        return
    for row in dicts(table):
        objects = {name: row[name] and json.loads(row[name]) for name in _NESTED}
        line = json.dumps({**plain(row), **objects}, ensure_ascii=False)
        sink.write(line.encode("utf-8", "backslashreplace") + b"\n")
