"""``MATCH_RECOGNIZE`` among the rules of a set.

A clause says nothing about when a match starts and ends, nor which rows belong to the same match.
So measures are added to it, and taken out of its result again.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from cepheid.errors import EvaluationError
from cepheid.events.columns.arrow_arrays import one_array
from cepheid.events.read_options import ReadOptions
from cepheid.events.time_axis import TimeAxis
from cepheid.matches.ids import row_ids
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.row_patterns.results import RowMatches
from cepheid.rule_sets.results import FoundRows, result_type
from cepheid.rule_sets.rule import Rule

_START, _END, _NUMBER = "cepheid.start", "cepheid.end", "cepheid.number"


def match_rows(rule: Rule, query: RowPatternQuery, table: pa.Table, read: ReadOptions) -> FoundRows:
    """The rows of a rule over a table.

    Raises:
        EvaluationError: the clause does not order rows by the time of the set.
    """
    found = with_times(rule, query, read).match(table, time_unit=read.time_unit)
    axis = TimeAxis.of(read.time, table.schema.field(read.time).type, read.time_unit)
    return found_rows(rule, query, found, axis)


def with_times(rule: Rule, query: RowPatternQuery, read: ReadOptions) -> RowPatternQuery:
    """The query with measures that :func:`found_rows` reads."""
    clause = _added(query.tree, time_column(query, read.time))
    return RowPatternQuery(clause, rule.query, rule.source)


def time_column(query: RowPatternQuery, time: str) -> rows.Name:
    """The first column of ORDER BY, which is the time of the set.

    Raises:
        EvaluationError: it is not.
    """
    order_by = query.tree.order_by
    if not order_by or not _is_named(order_by[0].column, time) or not order_by[0].is_ascending:
        raise EvaluationError(
            f"rules of a set have one time column, {time!r}, and the clause does not begin "
            f"with ORDER BY {time}; run it with query(), or give the set time=…"
        )
    return order_by[0].column


def found_rows(rule: Rule, query: RowPatternQuery, found: RowMatches, axis: TimeAxis) -> FoundRows:
    """The rows that the extended query has found, as part of a result."""
    whole = found.to_arrow()
    whole = whole.filter(whole.column(_NUMBER).is_valid())  # Rows in no match are left out.
    own = whole.drop_columns([_START, _END, _NUMBER])
    key = {
        f"k.{name}": whole.column(name)
        for name in whole.column_names
        if any(_is_named(each, name) for each in query.tree.partition_by)
    }
    parts = [*key.values(), *(whole.column(name) for name in (_START, _END, _NUMBER))]
    columns = {"id": row_ids(f"{rule.name}{query}", list(map(one_array, parts)))}
    for name, given in (("start", _START), ("end", _END)):
        columns[name] = whole.column(given).cast(result_type(axis))
    columns |= key
    columns |= {f"v.{name}": own.column(name) for name in own.column_names}
    return FoundRows(rule, RowMatches(own, len(own), found.count), pa.table(columns))


def _added(clause: rows.Clause, time: rows.Name) -> rows.Clause:
    """The clause with measures for the start, the end and the number of each match."""
    column = rows.Column(None, time)

    def at(function: str) -> rows.Logical:
        return rows.Logical(function, column, None, semantics=rows.Semantics.FINAL)

    measures = {_START: at("FIRST"), _END: at("LAST"), _NUMBER: rows.MatchNumber()}
    added = [rows.Measure(value, rows.Name(name, True)) for name, value in measures.items()]
    return replace(clause, measures=(*clause.measures, *added))


def _is_named(name: rows.Name, text: str) -> bool:
    return name.key == (text if name.is_quoted else text.upper())
