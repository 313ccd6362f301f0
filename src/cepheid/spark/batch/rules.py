"""A set of rules over a DataFrame as one Spark job.

The events are read once. Rules that can be partitioned by the same key form a group, and each event
is sent once to each group that it matters to. A worker runs the rules of a group over all its
events together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.types import StructType

from cepheid.errors import fault_report, warn
from cepheid.events.read_options import ReadOptions
from cepheid.events.time_axis import TimeAxis
from cepheid.rule_sets.results import result_type
from cepheid.rule_sets.rule_set import RuleSet, checked
from cepheid.spark.batch.arrow_schemas import arrow_schema, plain_columns, spark_schema, spark_type
from cepheid.spark.batch.fitting_rules import FittingRule, fitting_rules, read_options
from cepheid.spark.batch.frames import column, map_in_arrow, one_frame
from cepheid.spark.batch.preparation import orderable, time_order
from cepheid.spark.batch.row_filter import relevant_rows
from cepheid.spark.batch.rule_keys import RuleKey, grouped
from cepheid.spark.batch.typed import with_events
from cepheid.spark.worker.alerts import alert_schema
from cepheid.spark.worker.rule_worker import GROUP, RuleGroup, RuleTask

_HASH = "cepheid hash"


def match(
    rules: RuleSet, events: DataFrame | Mapping[str, DataFrame], **keywords: Any
) -> DataFrame:
    """The matches of all enabled rules over the rows of a DataFrame, as one DataFrame.

    ``rules.match(events)`` calls this if the events are a DataFrame. A row is a match, with the
    columns of the local result: ``rule``, ``match_id``, ``start``, ``end``, ``key``, ``values``,
    ``severity`` and ``tags``. ``key`` and ``values`` are JSON; ``rules.typed(found, name)`` has the
    values of one rule with their types. A row with a ``fault`` is no match: it tells why a rule did
    not run in a partition, for example because it exceeds ``max_matches`` there.

    The events are read once, and shuffled once for each partition key in use. Only rows that can
    matter to some rule are sent to the workers. Rules without a key run in one worker.

    Rows of a DataFrame have no order: name the columns that order events of equal time in
    ``tie_break``. Without it such events are ordered by their other columns.

    Args:
        rules: the rules. There is a warning of those that do not fit the columns, and the others
            run.
        events: a DataFrame that is not streaming, or one for each event type.
        keywords: as for ``rules.match``; times are certain.

    Raises:
        OptionError: an option cannot be used.
    """
    frame, keywords = one_frame(events, checked(keywords))
    read = read_options(keywords, frame.schema)
    fitting, faults = fitting_rules(rules, frame.schema, keywords)
    if faults:
        warn(fault_report(faults))
    chosen = grouped({each: each.key for each in fitting})
    groups = [
        RuleGroup(
            tuple(each.each.rule for each in members),
            tuple(name for name in frame.columns if any(name in each.columns for each in members)),
            tuple(each.additions for each in members),
        )
        for _, members in chosen
    ]
    axis = TimeAxis.of(read.time, arrow_schema(frame.schema).field(read.time).type, read.time_unit)
    sent = [name for name in frame.columns if any(name in each.columns for each in groups)]
    order = [time_order(axis), *map(column, read.tie_break or orderable(frame.schema, sent))]
    partitioned = _partitioned(frame, chosen, sent or [read.time], read)
    in_order = partitioned.sortWithinPartitions(column(GROUP), *order)
    schema = alert_schema(spark_type(result_type(axis)))
    task = RuleTask(groups, keywords, schema)
    found = map_in_arrow(in_order, task, spark_schema(schema))
    return with_events(found, frame.schema, read)


def _partitioned(
    frame: DataFrame,
    chosen: Sequence[tuple[RuleKey, Sequence[FittingRule]]],
    sent: Sequence[str],
    read: ReadOptions,
) -> DataFrame:
    """The rows that matter, each once for each group that it matters to, in partitions."""
    schema = frame.schema
    keys = [key.values(schema, read.time, read.type or "") for key, _ in chosen]
    filters = [_relevant(members, schema, read) for _, members in chosen]
    if not chosen:
        frame = frame.limit(0)
    if len(chosen) <= 1:
        rows = next(iter(filters), None)
        kept = frame if rows is None else frame.filter(rows)
        numbered = kept.select(F.lit(0).alias(GROUP), *map(column, sent))
        key = next(iter(keys), [])
        return numbered.repartition(*key) if key else numbered.repartition(1)
    copies = [
        F.struct(F.lit(number).alias(GROUP), F.xxhash64(F.lit(number), *key).alias(_HASH))
        for number, key in enumerate(keys)
    ]
    wanted = [
        copy if rows is None else F.when(rows, copy)
        for copy, rows in zip(copies, filters, strict=True)
    ]
    tests = [rows for rows in filters if rows is not None]
    if len(tests) == len(filters):
        frame = frame.filter(reduce(or_, tests))
    copy = column("cepheid copy")
    spread = frame.select(F.explode(F.array(*wanted)).alias("cepheid copy"), *map(column, sent))
    spread = spread.filter(copy.isNotNull())
    numbers = [copy.getField(name).alias(name) for name in (GROUP, _HASH)]
    numbered = spread.select(*numbers, *map(column, sent))
    return numbered.repartition(column(GROUP), column(_HASH)).drop(_HASH)


def _relevant(
    members: Sequence[FittingRule], schema: StructType, read: ReadOptions
) -> Column | None:
    """The rows that matter to some rule of a group; None if all do."""
    queries = []
    for each in members:
        if each.prepared is None or each.prepared.planned[0].rule.timed_out:
            return None
        queries.append(each.prepared.query)
    plain = plain_columns(schema)
    return relevant_rows(queries, time=read.time, type=read.type or "", plain=plain)
