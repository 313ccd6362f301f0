"""The reference evaluation over events in columns: correct for every query, and slow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as arrow

from cepheid.engines.base.query_session import SessionTask, WholeRun
from cepheid.errors import LimitError
from cepheid.events.events import Events
from cepheid.events.time_axis import MAX_TICKS
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings, bindings_from_rows
from cepheid.matches.held import charge_matches, naming_component
from cepheid.matches.metrics import Metrics
from cepheid.matches.modes.mode import CompletedMatches
from cepheid.reference import definition as reference
from cepheid.reference.interpreter import Event
from cepheid.reference.output import at_most_once, in_order
from cepheid.schema import Position, sources_of


class ReferenceRun(WholeRun):
    """A query over a whole stream, by the definition."""

    def __init__(self, task: SessionTask) -> None:
        super().__init__(task.query)
        self._rule = task.rule
        self._rule.refuse_query(task.query)
        self._window = task.window
        self._max_matches = task.options.max_matches
        self._budget = task.budget
        self._metrics = Metrics()

    @property
    def metrics(self) -> Metrics:
        """The number of events and of matches."""
        return self._metrics

    def run(self, events: Events) -> list[Bindings]:
        """All matches of a whole stream, in one part."""
        query, mode, limit = self._query.query, self._rule.mode, self._max_matches
        stream, before = python_events(events, attributes_tested(query)), self._budget.used
        with naming_component(self._budget, query, None), self._budget.in_force():
            own_windows = self._query.own_windows
            matches = reference.evaluate(query, stream, self._window, own_windows=own_windows)
        if mode.definition is not None:
            matches = mode.definition(query, matches)
        if mode.make_chooser is not None and mode.definition is None:
            choice = mode.make_chooser().choose(_completed(query, matches)) if matches else None
            matches = [] if choice is None else [matches[ix] for ix in choice.reported]
        if limit is not None and len(matches) > limit:
            raise LimitError(f"there are {len(matches)} matches, more than {limit}")
        chosen, gap = matches, self._rule.least_gap
        if gap is not None:
            chosen = at_most_once(query, matches, gap)
        found = bindings_of(query, in_order(query, chosen) if self._rule.chooses else chosen)
        left_out = len(matches) - len(chosen)
        self._metrics = Metrics(events=len(events), matches=len(found), left_out=left_out)
        self._budget.release(self._budget.used - before)
        charge_matches(self._budget, found, query)
        return [found]


def bindings_of(query: ast.Query, matches: Sequence[reference.Match]) -> Bindings:
    """The matches of the definition as columns."""
    rows = [
        {
            name: [event.position for event in bound] if isinstance(bound, list) else bound.position
            for name, bound in match.binding.items()
        }
        for match in matches
    ]
    starts = [match.events()[0].ticks for match in matches]
    # A window longer than the axis ends with it.
    ends = [min(match.ended, MAX_TICKS) for match in matches]
    return bindings_from_rows(query.pattern, rows, starts, ends)


def _completed(query: ast.Query, matches: Sequence[reference.Match]) -> CompletedMatches:
    """The matches as a chooser reads them."""
    completed_at = np.array([each.completed[1] for each in matches], np.int64)
    found = replace(bindings_of(query, matches), completed_at=completed_at)
    numbers: dict[tuple[Any, ...], int] = {}
    partitions = [
        numbers.setdefault(reference.partition_of(query, match), len(numbers)) for match in matches
    ]
    return CompletedMatches(
        found,
        np.array(partitions, dtype=np.int64),
        len(numbers),
        waited=np.array([each.waited for each in matches]),
        closed=np.ones(len(matches), dtype=np.bool_),
    )


def attributes_tested(query: ast.Query) -> set[str]:
    """The attributes that the conditions of a query name."""
    nodes = query.condition.walk() if query.condition is not None else ()
    names = {getattr(node, "attribute", None) for node in nodes}
    return {source for name in names if name is not None for source in sources_of(name)}


def python_events(events: Events, attributes: set[str]) -> list[Event]:
    """The events as Python values, each with the attributes that its type has."""
    names = events.table.column_names
    present = [name for name in names if name in attributes]
    present += [each for each in attributes if isinstance(each, Position) and each not in names]
    columns = {name: plain_values(events.column(name)) for name in present}
    names_of_type = [
        [name for name in present if events.schema.has_attribute(type_name, name)]
        for type_name in events.type_names
    ]
    return [
        Event(
            position,
            ticks,
            events.type_names[code],
            {name: columns[name][position] for name in names_of_type[code]},
        )
        for position, (ticks, code) in enumerate(
            zip(events.ticks.tolist(), events.type_codes.tolist(), strict=True)
        )
    ]


def plain_values(column: pa.ChunkedArray) -> list[Any]:
    """Plain Python values: decimals as numbers, NaN as null, times to the microsecond."""
    kind = column.type
    if arrow.is_dictionary(kind):
        return plain_values(column.cast(kind.value_type))
    if arrow.is_decimal(kind):
        plain = float if kind.scale > 0 else int
        return [None if value is None else plain(value) for value in column.to_pylist()]
    if arrow.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    if arrow.is_duration(kind):
        column = column.cast(pa.duration("us"), safe=False)
    values: list[Any] = column.to_pylist()
    if arrow.is_nested(kind):
        return list(map(_plain_part, values))
    if arrow.is_floating(column.type):
        return [None if value is None or value != value else value for value in values]
    return values


def _plain_part(value: Any) -> Any:
    """A struct or a list of plain values."""
    if isinstance(value, dict):
        return {name: _plain_part(each) for name, each in value.items()}
    if isinstance(value, list):
        return list(map(_plain_part, value))
    if isinstance(value, Decimal):
        return float(value) if value != value.to_integral_value() else int(value)
    return None if value != value else value
