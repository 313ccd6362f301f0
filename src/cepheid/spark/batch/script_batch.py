"""A script over a DataFrame: all of its queries in one job, each with a DataFrame of its matches.

A worker runs the whole script over its partition, since the queries read what earlier ones make.
Events are spread by what all queries have as a key, if composite events take it over; otherwise
there is one partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

from cepheid.engines.base.evaluation import AUTO
from cepheid.scripts import CompiledScript
from cepheid.spark.batch.arrow_schemas import MATCH_ID, spark_schema
from cepheid.spark.batch.named_columns import column, map_in_arrow
from cepheid.spark.batch.preparation import time_order
from cepheid.spark.batch.script_preparation import prepare_script
from cepheid.spark.batch.slices import warn_of_one_partition
from cepheid.spark.worker.script_worker import QUERY, column_of, run_script_partition


def match(
    compiled: CompiledScript,
    events: DataFrame,
    *,
    time: str = "ts",
    type: str | None = "type",
    tie_break: str | Sequence[str] | None = None,
    evaluation: str = AUTO,
    output: str = "all",
    time_unit: str | None = None,
    schema: Any = None,
    match_id: bool = False,
    **options: Any,
) -> dict[str, DataFrame]:
    """For each query of a script, by its name, the DataFrame of its matches.

    All are parts of one DataFrame that runs the script: ``cache()`` is worth it for whoever
    reads several of them. Keywords are those of ``query.match``.
    """
    prepared = prepare_script(
        compiled,
        events.schema,
        time=time,
        type=type,
        tie_break=tie_break,
        evaluation=evaluation,
        output=output,
        time_unit=time_unit,
        declared=schema,
        match_id=match_id,
        options=options,
    )
    settings, has_session, key = prepared.settings, prepared.has_session, prepared.key
    if not key:
        warn_of_one_partition("a script is not cut by time")
    needed = events.select(*map(column, prepared.columns))
    spread = needed.repartition(*key) if key else needed.repartition(1)
    in_order = spread.sortWithinPartitions(time_order(prepared.axis), *map(column, settings.ties))

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return run_script_partition(settings, has_session, batches)

    found = map_in_arrow(in_order, run, spark_schema(settings.result_schema))
    ids = [MATCH_ID] if match_id else []
    return {
        name: found.where(F.col(QUERY) == number).select(f"{column_of(number)}.*", *ids)
        for number, name in enumerate(prepared.names)
    }
