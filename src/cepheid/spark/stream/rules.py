"""A set of rules over a streaming DataFrame, and changes of the rules that come with the stream.

The stream is divided into buckets, as for queries (:mod:`cepheid.spark.stream.streaming`). Each
event is sent once for each key that the stream declares, and a bucket has a session of rules for
each key. A change is sent to every bucket.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.types import BinaryType, StringType, StructType

from cepheid.errors import CepheidError, OptionError, RuleFault, did_you_mean, fault_report, warn
from cepheid.events.read_options import ReadOptions
from cepheid.events.time_axis import TimeAxis
from cepheid.rule_sets.results import result_type
from cepheid.rule_sets.rule_set import RuleSet, checked
from cepheid.spark.batch.arrow_schemas import arrow_schema, spark_type
from cepheid.spark.batch.fitting_rules import FittingRule, fitting_rules, read_options
from cepheid.spark.batch.frames import column, one_frame, quoted
from cepheid.spark.batch.preparation import orderable
from cepheid.spark.batch.rule_keys import RuleKey, grouped
from cepheid.spark.batch.script_columns import LATE_EVENT
from cepheid.spark.batch.typed import with_events
from cepheid.spark.stream.checkpoints import of_every_state
from cepheid.spark.stream.packing import CHANGE, ORDER
from cepheid.spark.stream.streaming import StreamTask, bucketed, check_stream
from cepheid.spark.stream.timing_options import RequestedTiming, waits_for_time, with_timing
from cepheid.spark.worker.alerts import alert_schema
from cepheid.spark.worker.rule_stream import RuleStreamSettings, rule_text
from cepheid.spark.worker.rule_worker import GROUP
from cepheid.spark.worker.worker_settings import Additions

_HASH = "cepheid hash"
_COPY = "cepheid copy"
_VALUE, _ORDER = "value", "order"
_TIMING = ("lateness", "in_order", "idle_timeout")


def match(
    rules: RuleSet,
    events: DataFrame | Mapping[str, DataFrame],
    *,
    changes: DataFrame | None = None,
    columns: Sequence[str] | None = None,
    keys: Sequence[str | Sequence[str]] | None = None,
    late: str = "drop",
    metrics: str = "cepheid",
    **keywords: Any,
) -> DataFrame:
    """The matches of all rules over a streaming DataFrame, to be written in append mode.

    ``rules.match(events)`` calls this if the DataFrame is streaming. The result has the columns of
    :func:`cepheid.spark.batch.rules.match`. A row with a ``fault`` is no match: it tells why a
    change could not be made, or why a rule was suspended in a bucket. The stream continues.

    Args:
        rules: the rules with which the stream begins. A restart needs the same rules; to change
            them, send changes.
        events: a streaming DataFrame, or one for each event type. The time column is a timestamp.
        changes: a streaming DataFrame of changes of the rules. Its column ``value`` is a JSON
            object with the ``name`` of a rule. If it has a ``query``, it is a whole rule, which is
            added or replaces one. Otherwise it has the fields that change, such as
            ``{"name": "theft", "enabled": false}``, or ``"removed": true``. The changes of a
            micro-batch are made before its events are processed, in the order of the column
            ``order``, if there is one, and then of ``value``.
        columns: the columns that rules may use; by default all.
        keys: the keys by which rules may be partitioned: each is a column or a list of columns.
            A rule needs an equivalence test with all columns of one of them. An empty list
            ``[]`` is for rules without a key: one bucket has all events. By default the keys
            that the rules need.
        late: as for queries (:func:`cepheid.spark.stream.streaming.match`).
        metrics: the name under which the progress of the stream has the counts.
        keywords: as for ``rules.match``, and ``lateness``, ``in_order`` and ``idle_timeout`` as for
            queries.

    Raises:
        OptionError: an option cannot be used, or Spark is not configured for it.
    """
    said = RequestedTiming(**{name: keywords.pop(name) for name in _TIMING if name in keywords})
    frame, keywords = one_frame(events, checked(keywords))
    read = read_options(keywords, frame.schema)
    check_stream(frame, read.time, late)
    schema = _declared(frame, columns, read)
    fitting, faults = fitting_rules(rules, schema, keywords)
    settings = _settings(_keys(keys, fitting, schema), schema, keywords, rules)
    texts, wrong = [], {fault.rule for fault in faults}
    for each in rules.compiled.values():
        if each.rule.name in wrong:
            continue
        try:
            if each.rule.enabled:
                settings.key_of(each)
            texts.append(rule_text(each.rule))
        except CepheidError as error:
            faults.append(RuleFault.of(each.rule.name, error))
    if faults:
        warn(fault_report(faults))
    settings = settings.beginning_with(tuple(texts))
    waits = changes is not None or any(
        each.prepared is None or waits_for_time(each.prepared) for each in fitting
    )
    marked, timing = with_timing(frame, read.time, waits, said)
    key = [column(_HASH)] if any(settings.keys) else []
    made_by = {
        "rules": hashlib.blake2b(repr(texts).encode(), digest_size=16).hexdigest(),
        "keys": settings.keys,
        "time": read.time,
        "type": read.type,
        "tie_break": list(read.tie_break),
        **of_every_state(key, frame, schema.names),
    }
    task = StreamTask(settings, key, None, made_by, _changes(changes), has_rules=True)
    emits_late = late == "emit"
    copies = _copies(marked, settings.keys, frame.columns if emits_late else schema.names)
    found = bucketed(task, copies, timing, emits_late, metrics)
    if emits_late:  # An event is late once, not once for each key.
        event = F.col(LATE_EVENT)
        found = found.filter(event.isNull() | (event.getField(GROUP) == 0))
        found = found.withColumn(LATE_EVENT, event.dropFields(quoted(GROUP), quoted(_HASH)))
    return with_events(found, schema, read)


def _declared(frame: DataFrame, columns: Sequence[str] | None, read: ReadOptions) -> StructType:
    """The columns that rules may use."""
    schema = frame.schema
    if columns is None:
        return schema
    _check_names("columns", columns, schema)
    named = {*columns, *read.columns}
    return StructType([field for field in schema.fields if field.name in named])


def _keys(
    given: Sequence[str | Sequence[str]] | None,
    fitting: Sequence[FittingRule],
    schema: StructType,
) -> tuple[tuple[str, ...], ...]:
    """The keys of the stream; one without columns is the last."""
    if given is None:
        groups = grouped({each: each.key for each in fitting})
        found = {tuple(sorted(key.columns)) for key, _ in groups if not key.has_any}
    elif isinstance(given, str):
        raise OptionError(f"keys is a list of keys, such as [{given!r}], not {given!r}")
    else:
        found = {(each,) if isinstance(each, str) else tuple(each) for each in given}
        _check_names("keys", [name for key in found for name in key], schema)
    return tuple(sorted(found, key=lambda key: (not key, key))) or ((),)


def _check_names(option: str, names: Sequence[str], schema: StructType) -> None:
    for name in names:
        if name not in schema.names:
            raise OptionError(
                f"{option} names {name!r}, and there is no such column"
                + did_you_mean(str(name), schema.names)
            )


def _settings(
    keys: tuple[tuple[str, ...], ...],
    schema: StructType,
    keywords: Mapping[str, Any],
    rules: RuleSet,
) -> RuleStreamSettings:
    """What rules may use in the stream, before it is known which ones run."""
    read = ReadOptions.of(keywords)
    others = [name for name in schema.names if name != read.time]
    axis = TimeAxis.of(read.time, arrow_schema(schema).field(read.time).type, read.time_unit)
    trees = [each.query.tree for each in rules.compiled.values()]
    outputs = {each.rule.output for each in rules.compiled.values()} or {None}
    return RuleStreamSettings(
        digest="",
        rules=(),
        limits=rules.limits,
        keywords=keywords,
        schema=schema,
        keys=keys,
        ties=read.tie_break or tuple(orderable(schema, others)),
        result_schema=alert_schema(spark_type(result_type(axis))),
        additions=tuple(Additions.used_by(trees, output) for output in outputs),
    )


def _changes(given: DataFrame | None) -> DataFrame | None:
    """The changes with the columns that workers expect."""
    if given is None:
        return None
    kinds = {field.name: field.dataType for field in given.schema.fields}
    if not given.isStreaming or not isinstance(kinds.get(_VALUE), StringType | BinaryType):
        raise OptionError(
            "changes is a streaming DataFrame with a column 'value' of JSON, as "
            "spark.readStream.text and Kafka give it"
        )
    order = F.col(_ORDER) if _ORDER in kinds else F.lit(0)
    return given.select(F.col(_VALUE).cast("string").alias(CHANGE), order.alias(ORDER))


def _copies(events: DataFrame, keys: Sequence[tuple[str, ...]], names: Sequence[str]) -> DataFrame:
    """The events, once for each key, with the number and a hash of the key."""
    schema = events.schema
    hashes = [
        F.xxhash64(F.lit(number), *RuleKey(frozenset(key)).values(schema, "", ""))
        for number, key in enumerate(keys)
    ]
    if len(keys) == 1:
        return events.select(F.lit(0).alias(GROUP), hashes[0].alias(_HASH), *map(column, names))
    copies = [
        F.struct(F.lit(number).alias(GROUP), each.alias(_HASH))
        for number, each in enumerate(hashes)
    ]
    spread = events.select(F.explode(F.array(*copies)).alias(_COPY), *map(column, names))
    numbers = [column(_COPY).getField(name).alias(name) for name in (GROUP, _HASH)]
    return spread.select(*numbers, *map(column, names))
