"""The matches of all rules of a set, as one table, as rows, and as a typed table for each rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.analysis.needs import needed_columns
from cepheid.errors import RuleFault, did_you_mean, fault_report, warn
from cepheid.events.columns.arrow_arrays import from_numpy, one_array
from cepheid.events.time_axis import TimeAxis
from cepheid.language import syntax as ast
from cepheid.language.printer import item_names
from cepheid.matches.ids import MatchIds
from cepheid.matches.matches import Matches, count_text
from cepheid.matches.shapes.flat import python_values
from cepheid.matches.shapes.shown import ROWS, WIDTH, check_rows, shown_count, shown_table
from cepheid.row_patterns.results import RowMatches
from cepheid.rule_sets.rule import Rule
from cepheid.visible import visible

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

COLUMNS = ("rule", "match_id", "start", "end", "key", "values", "severity", "tags")
"""The columns of a result."""
_SHOWN = 10


@dataclass(frozen=True, slots=True, eq=False)
class RuleColumns:
    """The matches of one rule as columns of the same length; ``key`` and ``values`` are structs."""

    ids: pa.Array
    start: pa.Array
    end: pa.Array
    key: Mapping[str, pa.Array]
    values: Mapping[str, pa.Array]


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The matches of a SASE+ rule; ``key`` has the attributes of its tests in brackets.

    ``always`` are the columns, such as the time, that are read whatever the query names.
    """

    rule: Rule
    tree: ast.Query
    matches: Matches
    key: tuple[str, ...]
    always: tuple[str, ...]

    def columns(self) -> RuleColumns:
        """The columns of the matches."""
        events, parts = self.matches.parts()
        # An id depends on the columns that the rule needs, not on those of other rules.
        needed = needed_columns(self.tree, events.table.column_names, self.always)
        own = replace(events, table=events.table.select(needed))
        ids = MatchIds(self.tree, own, parts, self.rule.name)
        axis = events.time_axis
        items = item_names(self.tree)
        names = None if self.tree.returns is None else [*items, "confidence", "timed_out"]
        tables = []
        for part, table in self.matches.pieces(wanted=names):
            values = [
                name for name in table.column_names if name in items or name not in ("start", "end")
            ]
            columns = {
                "id": ids.of(part),
                "start": axis.decode(part.starts, wide=True),
                "end": axis.decode(part.ends, wide=True),
            }
            first = from_numpy(np.ascontiguousarray(part.first_events(), dtype=np.int64))
            columns |= {f"k.{name}": events.column(name).take(first) for name in self.key}
            columns |= {f"v.{name}": table.column(name) for name in values}
            tables.append(pa.table(columns))
        return columns_of(pa.concat_tables(tables))


@dataclass(frozen=True, slots=True, eq=False)
class FoundRows:
    """The rows of a MATCH_RECOGNIZE rule, with their columns."""

    rule: Rule
    matches: RowMatches
    table: pa.Table

    def columns(self) -> RuleColumns:
        """The columns of the rows."""
        return columns_of(self.table)


AnyFound = Found | FoundRows
"""The matches of a rule."""


def columns_of(table: pa.Table) -> RuleColumns:
    """The columns of a table with ``id``, ``start`` and ``end``, ``k.`` and ``v.`` before names."""
    arrays = {name: one_array(table.column(name)) for name in table.column_names}
    parts = {
        kind: {
            name.removeprefix(kind): array
            for name, array in arrays.items()
            if name.startswith(kind)
        }
        for kind in ("k.", "v.")
    }
    return RuleColumns(arrays["id"], arrays["start"], arrays["end"], parts["k."], parts["v."])


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """One match of a rule."""

    rule: str
    match_id: str
    start: Any
    end: Any
    key: dict[str, Any]
    values: dict[str, Any]
    severity: str | None
    tags: tuple[str, ...]


class RuleMatches:
    """The matches of all rules, in the order of their ends.

    ``faults`` are the rules that did not run, or not to the end, and why.

    >>> import cepheid as cep
    >>> rules = cep.rules({
    ...     "pair": "PATTERN SEQ(A a, B b) WHERE [id] RETURN b.x AS x",
    ...     "large": "PATTERN B b WHERE b.x > 6 RETURN b.x AS size",
    ... })
    >>> events = {"ts": [1, 2, 3], "type": ["A", "B", "B"], "id": [7, 7, 7], "x": [5, 6, 7]}
    >>> found = rules.match(events)
    >>> found
    3 matches
    pair: 2 matches
    large: 1 match
    >>> [(match.rule, match.end, match.key, match.values) for match in found]
    [('pair', 2, {'id': 7}, {'x': 6}), ('pair', 3, {'id': 7}, {'x': 7}),
     ('large', 3, {}, {'size': 7})]
    >>> found["pair"].to_arrow().to_pylist()
    [{'start': 1, 'end': 2, 'x': 6}, {'start': 1, 'end': 3, 'x': 7}]
    """

    def __init__(
        self,
        found: Mapping[str, AnyFound],
        axis: TimeAxis | None,
        faults: Sequence[RuleFault] = (),
    ) -> None:
        self._found = dict(found)
        self._axis = axis
        self.faults = tuple(faults)

    def __len__(self) -> int:
        return sum(len(each.matches) for each in self._found.values())

    def __getitem__(self, rule: str) -> Matches | RowMatches:
        """The matches of one rule, with the types of its columns."""
        if rule not in self._found:
            advice = did_you_mean(rule, self._found)
            raise KeyError(f"no rule {rule!r} ran{advice}")
        return self._found[rule].matches

    def __contains__(self, rule: object) -> bool:
        return rule in self._found

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the rules that ran."""
        return tuple(self._found)

    @property
    def counts(self) -> dict[str, int]:
        """The number of matches of each rule that ran."""
        return {name: len(each.matches) for name, each in self._found.items()}

    def identified_by(self, names: Sequence[str]) -> RuleMatches:
        """The same matches, with ids that also depend on these columns of their events."""
        found = {
            name: replace(each, always=(*each.always, *names)) if isinstance(each, Found) else each
            for name, each in self._found.items()
        }
        return RuleMatches(found, self._axis, self.faults)

    def by_rule(self) -> list[tuple[Rule, RuleColumns]]:
        """The rules that have matches, and the columns of each."""
        rules, columns, _ = self._columns
        return list(zip(rules, columns, strict=True))

    def __repr__(self) -> str:
        some = [(name, count) for name, count in self.counts.items() if count]
        lines = [f"{visible(name)}: {count_text(count)}" for name, count in some[:_SHOWN]]
        if len(some) > _SHOWN:
            lines.append(f"… and {len(some) - _SHOWN} more rules")
        return "\n".join([count_text(len(self)), *lines, *map(str, self.faults)])

    def __iter__(self) -> Iterator[RuleMatch]:
        rules, columns, order = self._columns
        listed = [
            RuleMatch(rule.name, match_id, start, end, key, values, rule.severity, rule.tags)
            for rule, own in zip(rules, columns, strict=True)
            for match_id, start, end, key, values in zip(
                own.ids.to_pylist(),
                python_values(own.start),
                python_values(own.end),
                _dicts(own.key, len(own.ids)),
                _dicts(own.values, len(own.ids)),
                strict=True,
            )
        ]
        return (listed[position] for position in order.to_pylist())

    def show(self, n: int = ROWS, truncate: int | None = WIDTH) -> None:
        """Print the first ``n`` matches as a table, without their ids and tags."""
        first = list(islice(self, check_rows(n)))
        columns = [name for name in COLUMNS if name not in ("match_id", "tags")]
        rows = [{name: getattr(match, name) for name in columns} for match in first]
        print(shown_table(rows, columns, truncate))
        print(shown_count(len(first), len(self)))

    def to_dicts(self) -> list[dict[str, Any]]:
        """The matches as dicts with the columns of the result.

        >>> import cepheid as cep
        >>> rules = cep.rules({"b": {"query": "PATTERN B b RETURN b.x", "tags": ["demo"]}})
        >>> [match] = rules.match({"ts": [1], "type": ["B"], "x": [6]}).to_dicts()
        >>> match["rule"], match["values"], match["tags"], len(match["match_id"])
        ('b', {'b.x': 6}, ['demo'], 32)
        """
        return [
            {name: getattr(match, name) for name in COLUMNS} | {"tags": list(match.tags)}
            for match in self
        ]

    def to_arrow(self) -> pa.Table:
        """One table with the matches of all rules.

        ``values`` is a struct with a field for each rule that has matches, which is a struct of
        the rule's columns and null in the rows of other rules. ``key`` is a struct of all
        partition keys; the attributes that a rule does not partition by are null.
        """
        rules, columns, order = self._columns
        counts = [len(own.ids) for own in columns]
        times = pa.null() if self._axis is None else result_type(self._axis)
        starts = [own.start for own in columns]
        ends = [own.end for own in columns]
        names = pa.array([rule.name for rule in rules], pa.string())
        severities = pa.array([rule.severity for rule in rules], pa.string())
        tags = pa.array([list(rule.tags) for rule in rules], pa.list_(pa.string()))
        of_rule = from_numpy(np.repeat(np.arange(len(rules), dtype=np.int64), counts))
        keys = dict.fromkeys(name for own in columns for name in own.key)
        key = {name: _spread([own.key.get(name) for own in columns], counts) for name in keys}
        values, before, total = {}, 0, sum(counts)
        for rule, own, count in zip(rules, columns, counts, strict=True):
            if own.values:  # A clause without measures gives none.
                struct, after = _struct(own.values), total - before - count
                values[rule.name] = _spread([None, struct, None], [before, count, after])
            before += count
        nothing = pa.nulls(total)
        table = pa.table(
            {
                "rule": names.take(of_rule),
                "match_id": pa.chunked_array([own.ids for own in columns], pa.string()),
                "start": pa.chunked_array(starts, times),
                "end": pa.chunked_array(ends, times),
                "key": _struct(key) if key else nothing,
                "values": _struct(values) if values else nothing,
                "severity": severities.take(of_rule),
                "tags": tags.take(of_rule),
            }
        )
        return table.take(order).combine_chunks()

    def to_pandas(self) -> pd.DataFrame:
        """The matches as a pandas DataFrame; ``key`` and ``values`` are dicts of the own rule."""
        import pandas

        table = self.to_arrow()
        frame: pd.DataFrame = table.drop_columns(["key", "values", "tags"]).to_pandas()
        rows = list(self)
        for place, name in ((4, "key"), (5, "values"), (7, "tags")):
            column = [list(row.tags) if name == "tags" else getattr(row, name) for row in rows]
            frame.insert(place, name, pandas.Series(column, dtype=object, index=frame.index))
        return frame

    def to_polars(self) -> pl.DataFrame:
        """The matches as a Polars DataFrame, with the columns of :meth:`to_arrow`."""
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    @cached_property
    def _columns(self) -> tuple[list[Rule], list[RuleColumns], pa.Array]:
        """The rules that have matches, their columns, and the order of all rows by their ends."""
        some = [each for each in self._found.values() if len(each.matches)]
        columns = [each.columns() for each in some]
        kept = [own for own in columns if len(own.ids)]
        rules = [each.rule for each, own in zip(some, columns, strict=True) if len(own.ids)]
        ends = [own.end for own in kept]
        order = pc.sort_indices(pa.chunked_array(ends)) if ends else pa.array([], pa.uint64())
        return rules, kept, order


def reported(
    found: Mapping[str, AnyFound], axis: TimeAxis | None, faults: Sequence[RuleFault]
) -> RuleMatches:
    """A result; there is a warning of faults."""
    if faults:
        warn(fault_report(faults))
    return RuleMatches(found, axis, faults)


def result_type(axis: TimeAxis) -> pa.DataType:
    """The type of the start and the end of matches."""
    return axis.decode(np.empty(0, dtype=np.int64), wide=True).type


def _dicts(columns: Mapping[str, pa.Array], count: int) -> list[dict[str, Any]]:
    """The rows of columns of the same length."""
    values = [python_values(array) for array in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)] or [
        {} for _ in range(count)
    ]


def _struct(columns: Mapping[str, pa.Array]) -> pa.StructArray:
    return pa.StructArray.from_arrays(list(columns.values()), names=list(columns))


def _spread(arrays: Sequence[pa.Array | None], counts: Sequence[int]) -> pa.Array:
    """Arrays after one another, with nulls for those that are None."""
    kind = next(array.type for array in arrays if array is not None)
    parts = [
        pa.nulls(count, kind) if array is None else array
        for array, count in zip(arrays, counts, strict=True)
    ]
    return pa.concat_arrays(parts)
