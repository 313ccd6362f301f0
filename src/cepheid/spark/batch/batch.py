"""A query over a DataFrame as a Spark job: ``q.match(frame)`` is a DataFrame of its matches.

Spark filters, projects, spreads and sorts; a worker runs one session for all keys of its
partition. What is sent to the workers costs ten to a hundred times what matching it costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame

from cepheid.api import CompiledQuery
from cepheid.engines.base.evaluation import AUTO
from cepheid.errors import OptionError, list_words
from cepheid.matches.modes.registry import all_outputs, listed_outputs, output_mode
from cepheid.spark.batch.named_columns import column
from cepheid.spark.batch.preparation import Prepared, prepare
from cepheid.spark.batch.slices import (
    Slices,
    has_heavy_key,
    plan_slices,
    ticks_of,
    warn_of_one_partition,
    why_not_sliced,
)
from cepheid.spark.batch.tables_per_type import one_frame
from cepheid.spark.files.files import match_plain_files
from cepheid.spark.worker.partition_run import SLICE, run_partition, run_slices


def match(
    query: CompiledQuery,
    events: DataFrame | Mapping[str, DataFrame],
    *,
    time: str | tuple[str, str] = "ts",
    type: str | None = "type",
    tie_break: str | Sequence[str] | None = None,
    evaluation: str = AUTO,
    output: str = "all",
    time_unit: str | None = None,
    schema: Any = None,
    slices: int | Literal["auto"] | None = None,
    match_id: bool = False,
    in_place: bool = True,
    **options: Any,
) -> DataFrame:
    """The matches of a query over the rows of a DataFrame, as a DataFrame.

    It is what ``query.match(events)`` does with a DataFrame, and has the columns of the local
    result; nothing is computed before Spark is asked for rows. Events are spread by the key that
    all events of a match agree on, for instance that of an equivalence test ``[id]``. Where there
    is none, or where ``slices`` is given, they are spread by time; then the times of the events
    are read once, at once, to choose the slices. Large Parquet files in the order of time are read
    by the workers, and nothing is spread; if their statistics do not tell the times, these are read
    once, at once.

    Rows of a DataFrame have no order: name the columns that order events of equal time in
    ``tie_break``. Without it such events are ordered by their other columns.

    Args:
        query: the query.
        events: a DataFrame that is not streaming, or one for each event type.
        time: the column with the time of an event; or two, with the earliest and the latest.
        type: the column with its type.
        tie_break: the column or columns that order events of equal time.
        evaluation: ``auto`` or the name of an evaluation.
        output: ``all`` or ``non_overlapping``.
        time_unit: what the numbers of a numeric time column count, such as ``ms``.
        schema: the attributes of each type, where not every type has every column.
        slices: into how many slices of time the events are cut, also where they have a key: for
            a key that has most of the events. ``auto`` counts the events of each key, at once,
            and cuts them where one has too many.
        match_id: whether the result has a column ``match_id``, the same for the same match
            whenever it is found.
        in_place: whether workers may read the files of a frame that is nothing but Parquet files
            in the order of time. It finds the same, as a rule several times as fast.
        options: those of the evaluation, as for ``query.match``.

    Raises:
        OptionError: an option cannot be used, or the events cannot be sliced.
    """
    if isinstance(events, Mapping):
        events, columns = one_frame(events, type or "type")
        type, schema = type or "type", columns if schema is None else schema
    if output in all_outputs() and output_mode(output).needs_buffer:
        raise OptionError(
            f"output={output!r} is an object in memory; over a DataFrame the output is "
            f"{list_words(listed_outputs(), 'or')}"
        )
    if slices not in (None, "auto") and not (isinstance(slices, int) and slices >= 1):
        raise OptionError(f"slices is a positive whole number or 'auto', not {slices!r}")
    prepared = prepare(
        query,
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
    if in_place and slices is None:
        found = match_plain_files(prepared, events)
        if found is not None:
            return found
    relevant = prepared.relevant(events)
    key = prepared.key
    refusal = why_not_sliced(prepared)
    if slices == "auto":
        slices, is_heavy = None, refusal is None and bool(key) and has_heavy_key(prepared, relevant)
    else:
        is_heavy = slices is not None
    if key and not is_heavy:
        return _in_order(prepared, relevant.repartition(*key))
    if refusal is not None and slices is not None:
        raise OptionError(f"the events cannot be cut into slices of time: {refusal}")
    if refusal is not None:
        warn_of_one_partition(refusal)
        return _in_order(prepared, relevant.repartition(1))
    return by_slice(prepared, relevant, plan_slices(prepared, relevant, slices))


def _in_order(prepared: Prepared, spread: DataFrame) -> DataFrame:
    """The matches of each partition, whose events are put in order."""
    settings, has_session = prepared.sending, prepared.has_session

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return run_partition(settings, has_session, batches)

    return prepared.found_by(run, spread.sortWithinPartitions(*prepared.order()))


def by_slice(prepared: Prepared, events: DataFrame, slices: Slices) -> DataFrame:
    """The matches that start in each slice, of the events that matter."""
    copies = slices.spread(events, ticks_of(prepared.axis))
    number = column(SLICE)
    count = len(slices.bounds) + 1
    key = prepared.key
    if key:
        spread = copies.repartition(*key, number)
    elif hasattr(copies, "repartitionById"):  # Since Spark 4.1: a slice is a partition.
        spread = copies.repartitionById(count, number)
    else:
        spread = copies.repartition(count, number)
    in_order = spread.sortWithinPartitions(number, *prepared.order())
    settings, has_session, bounds = prepared.sending, prepared.has_session, slices.bounds

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return run_slices(settings, has_session, bounds, batches)

    return prepared.found_by(run, in_order)
