"""A query or a script over a DataFrame as a Spark job.

Spark filters, projects, partitions and sorts; a worker runs one session for all keys of its
partition. Sending events to the workers costs ten to a hundred times as much as matching them.
A worker runs a whole script over its partition, because later queries read composite events of
earlier ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

from cepheid.api import CompiledQuery
from cepheid.errors import OptionError, list_words
from cepheid.matches.modes.registry import all_outputs, listed_outputs, output_mode
from cepheid.scripts import CompiledScript
from cepheid.spark.batch.arrow_schemas import MATCH_ID
from cepheid.spark.batch.frames import column, one_frame
from cepheid.spark.batch.preparation import Prepared, prepare
from cepheid.spark.batch.script_columns import named_columns, refuse_equal_names
from cepheid.spark.batch.slices import (
    Slices,
    has_heavy_key,
    plan_slices,
    ticks_of,
    warn_of_one_partition,
    why_not_sliced,
)
from cepheid.spark.files.files import match_plain_files
from cepheid.spark.reduction.reduction import Reduce, Reduction, choose_reduction
from cepheid.spark.worker.partition_run import SLICE, run_partition, run_slices
from cepheid.spark.worker.worker_session import QUERY, column_of


def match(
    compiled: CompiledQuery | CompiledScript,
    events: DataFrame | Mapping[str, DataFrame],
    *,
    slices: int | Literal["auto"] | None = None,
    match_id: bool = False,
    in_place: bool = True,
    reduce: Reduce = "auto",
    **keywords: Any,
) -> DataFrame | dict[str, DataFrame]:
    """The matches of a query over the rows of a DataFrame, as a DataFrame.

    ``query.match(events)`` calls this if the events are a DataFrame. The columns are the same as
    in the local result. Nothing is computed before Spark is asked for rows. Events are
    partitioned by the key that all events of a match agree on, such as an equivalence test
    ``[id]``. Without a key, or with ``slices``, they are partitioned by time; the times of the
    events are then read once, immediately, to choose the slices. Workers read large Parquet
    files in time order directly, and nothing is shuffled; if their statistics lack the times,
    these are read once, immediately.

    The matches of a script are a DataFrame for each query, by the query's name. All of them
    select from one DataFrame that runs the script: ``script.match(events).cache()`` runs it once
    if you read several.

    Rows of a DataFrame have no order: name the columns that order events of equal time in
    ``tie_break``. Without it such events are ordered by their other columns.

    Args:
        compiled: the query or the script.
        events: a DataFrame that is not streaming, or one for each event type.
        slices: into how many slices of time the events are cut, even if they have a key: for
            a key that has most of the events. ``auto`` counts the events of each key, immediately,
            and cuts them if one key has too many. Not for scripts.
        match_id: whether the result has a column ``match_id``, which is the same for the same
            match in every run.
        in_place: whether workers may read the files directly if the DataFrame is nothing but
            Parquet files in time order. The result is the same, and usually several times as fast.
        reduce: whether only events near those of a rare component go to the workers. ``auto``
            reads a sample of a large input, immediately, and decides by it. With ``True`` they
            always do, and workers read no files directly. Not for scripts.
        keywords: as for ``query.match``.

    Raises:
        OptionError: an option cannot be used, or the events cannot be sliced.
    """
    frame, keywords = one_frame(events, keywords)
    output = keywords.get("output")
    if output in all_outputs() and output_mode(output).needs_buffer:
        raise OptionError(
            f"output={output!r} is an object in memory; over a DataFrame the output is "
            f"{list_words(listed_outputs(), 'or')}"
        )
    is_count = isinstance(slices, int) and not isinstance(slices, bool) and slices >= 1
    if slices not in (None, "auto") and not is_count:
        raise OptionError(f"slices is a positive integer or 'auto', not {slices!r}")
    if reduce not in (True, False, "auto"):
        raise OptionError(f"reduce is True, False or 'auto', not {reduce!r}")
    prepared = prepare(compiled, frame.schema, match_id=match_id, **keywords)
    if not prepared.settings.is_script:
        return _matches(prepared, frame, slices, in_place, reduce)
    for name, is_set in (("slices", slices is not None), ("reduce", reduce is True)):
        if is_set:
            raise OptionError(
                f"{name!r} is for a query over a Spark DataFrame that is not streaming"
            )
    found = _matches(prepared, frame, None, in_place=False, reduce=False)
    ids = [MATCH_ID] if match_id else []
    frames = {
        name: found.where(F.col(QUERY) == number).select(f"{column_of(number)}.*", *ids)
        for number, name in enumerate(prepared.names)
    }
    return ScriptFrames(found, frames, named_columns(prepared.names, ids))


class ScriptFrames(dict[str, DataFrame]):
    """The matches of each query of a script, by its name.

    All of them are views on one DataFrame, which runs the script. Each one that is read runs it
    again, unless its rows are kept with :meth:`cache`. :attr:`together` has the matches of all.
    """

    def __init__(
        self, found: DataFrame, frames: Mapping[str, DataFrame], columns: Sequence[Column]
    ) -> None:
        super().__init__(frames)
        self._found = found
        self._columns = columns

    @property
    def together(self) -> DataFrame:
        """The matches of all queries as one DataFrame, which runs the script once.

        It has the columns of a stream: ``query`` is the name of a query, and the column of that
        name has the match. The others are null.

        Example::

            found = script.match(readings, match_id=True).together
            found.write.partitionBy("query").parquet("found")
        """
        refuse_equal_names(list(self))
        return self._found.select(*self._columns)

    def cache(self) -> ScriptFrames:
        """Keep the matches of all queries when they are first read, so that the script runs once.

        Example::

            found = script.match(readings).cache()
            for name, matches in found.items():
                matches.write.parquet(name)
            found.unpersist()
        """
        self._found.cache()
        return self

    def unpersist(self) -> None:
        """Drop what :meth:`cache` kept."""
        self._found.unpersist()


def _matches(
    prepared: Prepared,
    events: DataFrame,
    slices: int | Literal["auto"] | None,
    in_place: bool,
    reduce: Reduce,
) -> DataFrame:
    """The rows that workers find in events that are partitioned by key or by time."""
    if in_place and slices is None and reduce is not True:
        found = match_plain_files(prepared, events)
        if found is not None:
            return found
    relevant = prepared.relevant(events)
    reduction = choose_reduction(prepared, events, reduce)
    if isinstance(reduction, Reduction):
        relevant = reduction.events(relevant)
        if reduction.is_shuffled and slices is None:
            return _by_partition(prepared, relevant)
    key = prepared.key
    refusal = why_not_sliced(prepared)
    if slices == "auto":
        slices, is_heavy = None, refusal is None and bool(key) and has_heavy_key(prepared, relevant)
    else:
        is_heavy = slices is not None
    if key and not is_heavy:
        return _by_partition(prepared, relevant.repartition(*key))
    if refusal is not None and slices is not None:
        raise OptionError(f"the events cannot be divided into time slices: {refusal}")
    if refusal is not None:
        warn_of_one_partition(refusal)
        return _by_partition(prepared, relevant.repartition(1))
    return by_slice(prepared, relevant, plan_slices(prepared, relevant, slices))


def _by_partition(prepared: Prepared, spread: DataFrame) -> DataFrame:
    """The matches of each partition, after its events are sorted."""
    return prepared.found_by(run_partition, spread.sortWithinPartitions(*prepared.order()))


def by_slice(prepared: Prepared, events: DataFrame, slices: Slices) -> DataFrame:
    """The matches that start in each slice, among the events that matter."""
    copies = slices.spread(events, ticks_of(prepared.axis))
    number = column(SLICE)
    count = len(slices.bounds) + 1
    key = prepared.key
    if key:
        spread = copies.repartition(*key, number)
    elif hasattr(copies, "repartitionById"):  # Since Spark 4.1: each slice is one partition.
        spread = copies.repartitionById(count, number)
    else:
        spread = copies.repartition(count, number)
    in_order = spread.sortWithinPartitions(number, *prepared.order())
    return prepared.found_by(partial(run_slices, slices.bounds), in_order)
