"""The common result of many rules or queries over a DataFrame: one row for each match.

The values of a match are JSON: rules return different columns, and a DataFrame has one type for
each. A row with a ``fault`` is no match. It tells why a rule does not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from cepheid.errors import RuleFault
from cepheid.matches.shapes.json_texts import json_objects
from cepheid.rule_sets.results import RuleColumns, RuleMatches
from cepheid.rule_sets.rule import Rule

FAULT = "fault"
"""The column that tells why a rule does not run; null in the rows of matches."""


def alert_schema(time: pa.DataType) -> pa.Schema:
    """The columns of the common result, with the type of its times.

    >>> alert_schema(pa.int64()).names
    ['rule', 'match_id', 'start', 'end', 'key', 'values', 'severity', 'tags', 'fault']
    """
    text = pa.string()
    return pa.schema(
        {
            "rule": text,
            "match_id": text,
            "start": time,
            "end": time,
            "key": text,
            "values": text,
            "severity": text,
            "tags": pa.list_(text),
            FAULT: text,
        }
    )


def alerts(
    found: RuleMatches, schema: pa.Schema, with_faults: bool = True
) -> Iterator[pa.RecordBatch]:
    """The matches and faults of rules, as rows of the common result."""
    for rule, own in found.by_rule():
        yield alerts_of(rule, own, schema)
    if found.faults and with_faults:
        yield fault_rows(found.faults, schema)


def alerts_of(rule: Rule, own: RuleColumns, schema: pa.Schema) -> pa.RecordBatch:
    """The matches of one rule, as rows of the common result."""
    count, time = len(own.ids), schema.field("start").type
    tags = pa.scalar(list(rule.tags), pa.list_(pa.string()))
    columns = [
        pa.repeat(rule.name, count),
        own.ids,
        own.start.cast(time),
        own.end.cast(time),
        json_objects(own.key, count),
        json_objects(own.values, count),
        pa.repeat(pa.scalar(rule.severity, pa.string()), count),
        pa.repeat(tags, count),
        pa.nulls(count, pa.string()),
    ]
    return pa.record_batch(columns, schema=schema)


def fault_rows(faults: Iterable[RuleFault], schema: pa.Schema) -> pa.RecordBatch:
    """Faults as rows of the common result."""
    known: Sequence[RuleFault] = list(faults)
    given = {"rule": [each.rule or None for each in known], FAULT: [each.message for each in known]}
    columns = [pa.array(given.get(field.name, [None] * len(known)), field.type) for field in schema]
    return pa.record_batch(columns, schema=schema)
