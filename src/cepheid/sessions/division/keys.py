"""The attributes by which events can be divided without splitting a match.

Events of one match agree on the partition keys of the query, which the analysis finds. This module
finds the attribute of an event that has the key, and checks whether anything else, such as
contiguity, depends on events of other keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

from cepheid.analysis.model import Alternative, AnalysedQuery, NegatedComponent, PartitionKey
from cepheid.language import syntax as ast
from cepheid.language.computed import reads_positions, reads_stream_positions
from cepheid.matches.modes.rule import OutputRule

KeyOfType = Mapping[str, str]
"""The attribute of each event type that has the key."""


def equivalence_keys(query: AnalysedQuery) -> list[str]:
    """The attributes of equivalence tests by which all events can be partitioned."""
    tree, schema = query.query, query.schema
    window = tree.window
    counts_events = window is not None and window.measure is ast.WindowMeasure.EVENTS
    is_strict = tree.strategy is ast.SelectionStrategy.STRICT_CONTIGUITY
    if is_strict or counts_events or reads_stream_positions(tree):
        return []
    counts_others = (
        tree.strategy is ast.SelectionStrategy.PARTITION_CONTIGUITY
        or reads_positions(tree)
        or (window is not None and window.measure is ast.WindowMeasure.EVENTS_PER_PARTITION)
    )
    assert schema is not None
    negated = {
        name
        for alternative in query.alternatives
        for each in alternative.negations
        for name in each.component.types
    }
    others = {*(schema.types or ())} if counts_others else negated
    return [
        test.attribute
        for test in query.equivalences
        if all(
            PartitionKey((test.attribute,) * len(alternative.components), True)
            in alternative.partition_keys
            for alternative in query.alternatives
        )
        and all(schema.has_attribute(name, test.attribute) for name in others)
    ]


def depends_on_others(query: ast.Query, rule: OutputRule) -> bool:
    """Whether a match depends on the order or number of other events."""
    counts = query.measure is not ast.WindowMeasure.TIME
    counts = counts or reads_positions(query)
    counts = counts or rule.timed_out
    return not query.strategy.skips or counts or rule.needs_whole_partitions


def common_keys(query: AnalysedQuery) -> Iterator[KeyOfType]:
    """Keys by which every alternative can be partitioned: one attribute for each type."""

    def join(found: list[dict[str, str]], alternative: Alternative) -> list[dict[str, str]]:
        return [
            {**left, **right}
            for left in found
            for right in _keys_by_type(query, alternative)
            if all(left.get(name, attribute) == attribute for name, attribute in right.items())
        ]

    nothing: list[dict[str, str]] = [{}]
    yield from reduce(join, query.alternatives, nothing)


def _keys_by_type(query: AnalysedQuery, alternative: Alternative) -> Iterator[dict[str, str]]:
    for key in alternative.partition_keys:
        owners: list[tuple[ast.Component, str | None]] = [
            *zip(alternative.components, key.attributes, strict=True),
            *(
                (negated.component, _equated(query, alternative, negated, key))
                for negated in alternative.negations
            ),
        ]
        pairs = {(name, attribute) for component, attribute in owners for name in component.types}
        by_type = {name: attribute for name, attribute in pairs if attribute is not None}
        if len(by_type) == len(pairs):
            yield by_type


def _equated(
    query: AnalysedQuery, alternative: Alternative, negated: NegatedComponent, key: PartitionKey
) -> str | None:
    """The attribute of a negated component that must equal the key for a violation."""
    schema = query.schema
    assert schema is not None
    keys = {
        ast.Attribute(component.variable, attribute): component
        for component, attribute in zip(alternative.components, key.attributes, strict=True)
    }
    for own, other in (pair for clause in negated.clauses for pair in clause.equal_attributes):
        if (
            own.variable == negated.component.variable
            and other in keys
            and schema.kind(own.attribute) is schema.kind(other.attribute)
            and all(schema.has_attribute(name, own.attribute) for name in negated.component.types)
        ):
            return own.attribute
    return None
