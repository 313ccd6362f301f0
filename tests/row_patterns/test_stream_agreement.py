"""Batches of any size, with the session stored and restored in between, give the whole answer."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_patterns.clause_strategies import clauses, tables

import cepheid as cep
from cepheid.errors import EvaluationError
from cepheid.tuning import tuned

pytestmark = pytest.mark.filterwarnings("ignore:the pattern has no longest match")
EXAMPLES = int(os.environ.get("ROW_STREAM_EXAMPLES", "150"))


def arriving(table: pa.Table, text: str) -> pa.Table:
    """The rows in the order of the clause: those of one time do not come in another order."""
    if "t, x" not in text:
        return table
    times, values, first = table["t"].to_pylist(), table["x"].to_pylist(), "NULLS FIRST" in text
    keys = [(t, (x is None) is not first, x or 0) for t, x in zip(times, values, strict=True)]
    return table.take(pa.array(sorted(range(len(keys)), key=keys.__getitem__), pa.int64()))


def answers(batches: list[pa.Table]) -> tuple[int, list[str]]:
    """The number of matches, and the rows of the result in any order of the partitions."""
    return sum(each.count for each in batches), sorted(
        repr(row) for each in batches for row in each
    )


def chunked(query: cep.RowPatternQuery, table: pa.Table, data: st.DataObject) -> list[Any]:
    """The parts that a session gives for batches of any size."""
    session, parts, at = query.session(time_unit="s"), [], 0
    session.feed(table.slice(0, 0))
    while at < table.num_rows:
        size = data.draw(st.integers(0, 4), "rows")
        if data.draw(st.booleans(), "is stored"):
            session = query.restore(session.snapshot(), time_unit="s")
        batch = table.slice(at, size)
        at += size
        parts.append(session.feed(batch))
        if at < table.num_rows and data.draw(st.booleans(), "advances"):
            parts.append(session.advance(table["t"][at].as_py()))
    return [*parts, query.restore(session.snapshot(), time_unit="s").advance()]


@settings(max_examples=EXAMPLES, deadline=None)
@given(clauses(streamed=True), tables(), st.data())
def test_batches_give_the_same_as_the_whole(text, table, data):
    query = cep.query(text)
    table = arriving(table, text)
    try:
        whole = query.match(table, time_unit="s")
    except EvaluationError:  # AFTER MATCH SKIP
        with pytest.raises(EvaluationError, match="AFTER MATCH SKIP"):
            chunked(query, table, data)
        return
    few = data.draw(st.sampled_from([0, 1_000]), "rows that wait, and that are compared")
    with tuned(waiting_rows=few, alike_rows=few):
        assert answers(chunked(query, table, data)) == answers([whole])


@settings(max_examples=EXAMPLES, deadline=None)
@given(clauses(streamed=True), tables(), tables())
def test_what_was_given_is_not_changed_by_rows_that_come(text, table, more):
    """A match that a prefix gives is in the answer for every continuation."""
    query = cep.query(text)
    shift = 8 if table.num_rows else 0
    place, times = more.column_names.index("t"), pc.add(more["t"], shift)
    later = more.set_column(place, "t", times)
    joined = pa.concat_tables([table, later])
    table, joined = arriving(table, text), arriving(joined, text)
    if joined.slice(0, table.num_rows) != table:
        return
    session = query.session(time_unit="s")
    try:
        given, whole = session.feed(table).to_dicts(), query.match(joined, time_unit="s").to_dicts()
    except EvaluationError:
        return
    expected = [repr(row) for row in whole]
    for row in given:
        expected.remove(repr(row))
