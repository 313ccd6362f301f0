"""A set of rules over events in memory: each rule separately, over events that are read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from cepheid.analysis.model import AnalysedQuery
from cepheid.analysis.needs import needed_columns
from cepheid.api import CompiledQuery
from cepheid.errors import CepheidError, EventError, RuleFault
from cepheid.events.events import Events
from cepheid.events.read_options import ReadOptions
from cepheid.events.sources.tables import read_source
from cepheid.events.time_axis import TimeAxis
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.rule_sets.results import AnyFound, Found, RuleMatches, reported
from cepheid.rule_sets.row_rules import match_rows
from cepheid.rule_sets.rule_set import CompiledRule
from cepheid.rule_sets.splitting import SplitBatch, types_read
from cepheid.sessions.plan import plan
from cepheid.sessions.run import run_script
from cepheid.sessions.run_settings import RunSettings


def match_rules(
    rules: Sequence[CompiledRule], source: Any, keywords: Mapping[str, Any]
) -> RuleMatches:
    """The matches of each rule over all events of a source."""
    read = RunSettings.of(keywords, without=["whole_events", "workers"]).read
    found: dict[str, AnyFound] = {}
    faults: list[RuleFault] = []
    events = _read(rules, source, read)
    table = read_source(source) if events is None else events.table
    split = None if events is None else SplitBatch(events)
    for each in rules:
        try:
            if isinstance(each.query, RowPatternQuery):
                found[each.rule.name] = match_rows(each.rule, each.query, table, read)
            else:
                assert split is not None
                found[each.rule.name] = _match(each, each.query, split, keywords)
        except CepheidError as error:
            if events is None and isinstance(error, EventError):
                raise  # The events are not known to be right.
            faults.append(RuleFault.of(each.rule.name, error))
    return reported(found, _axis(table, events, read), faults)


def _read(rules: Sequence[CompiledRule], source: Any, read: ReadOptions) -> Events | None:
    """The events in order; None if no rule needs their types."""
    trees = [each.query.tree for each in rules if isinstance(each.query, CompiledQuery)]
    if not trees and rules:
        return None
    has_rows = len(trees) < len(rules)

    def needed(columns: Sequence[str]) -> list[str]:
        wanted = {*columns} if has_rows else {*read.columns}
        for tree in trees:
            wanted.update(needed_columns(tree, columns, read.columns))
        return [name for name in columns if name in wanted]

    return read.order(source, needed)


def _match(
    each: CompiledRule, query: CompiledQuery, split: SplitBatch, keywords: Mapping[str, Any]
) -> Found:
    settings = each.settings(keywords)
    is_certain = settings.read.uncertain is None
    events = split.of(types_read(query.tree) if is_certain else None) or split.whole.slice(0, 0)
    planned = plan(query.script, settings, events)
    (answer,) = run_script(query.script, events, planned)
    always = tuple(settings.read.columns)
    return Found(each.rule, query.tree, answer.matches, key_of(planned[0].analysed), always)


def key_of(query: AnalysedQuery) -> tuple[str, ...]:
    """The attributes by which a query partitions its events."""
    return tuple(dict.fromkeys(test.attribute for test in query.tests))


def _axis(table: pa.Table, events: Events | None, read: ReadOptions) -> TimeAxis | None:
    """The time axis of the result; None if the times are not known."""
    if events is not None:
        return events.time_axis
    if read.time not in table.column_names:
        return None
    return TimeAxis.of(read.time, table.schema.field(read.time).type, read.time_unit)
