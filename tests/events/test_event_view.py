"""Events in pieces look like the same events in one."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.events.event_view import EventView
from cepheid.events.events import Events, order_events

COLUMNS = {
    "ts": [1, 2, 3, 4, 5],
    "type": pa.array(["A", "B", "A", "C", "B"]).dictionary_encode(),
    "tags": [["p"], [], None, ["q", "r"], []],
    "x": [1.5, None, 2.5, 3.5, None],
}


def in_order(table: pa.Table) -> Events:
    return order_events(table)


@pytest.mark.parametrize("cuts", [[], [2], [0, 2, 4], [1, 2, 3, 4]])
def test_pieces_are_like_the_whole(cuts: list[int]) -> None:
    whole = in_order(pa.table(COLUMNS))
    ends = [0, *cuts, len(whole)]
    view = EventView(
        [whole.slice(low, high) for low, high in itertools.pairwise(ends)],
        whole.slice(0, 0),
    )
    assert view.column_names == whole.column_names
    for name in whole.column_names:
        assert view.column(name).num_chunks == 1
        assert view.column(name).to_pylist() == whole.column(name).to_pylist()
    assert view.type_codes.tolist() == whole.type_codes.tolist()
    assert view.events.table.to_pylist() == whole.table.to_pylist()
    assert view.events.rows.tolist() == whole.rows.tolist()
    assert view.events.ticks.tolist() == whole.ticks.tolist()
    assert view.events.type_names == view.type_names == whole.type_names


def test_dictionaries_of_pieces_become_one() -> None:
    parts = [
        in_order(pa.table({"ts": [n], "type": ["A"], "s": pa.array([text]).dictionary_encode()}))
        for n, text in enumerate("xyx")
    ]
    assert EventView(parts, parts[-1].slice(0, 0)).column("s").to_pylist() == ["x", "y", "x"]


def test_no_pieces_are_no_events() -> None:
    nothing = in_order(pa.table(COLUMNS)).slice(0, 0)
    view = EventView([], nothing)
    assert view.column("x").to_pylist() == []
    assert len(view.events) == len(view.type_codes) == 0


def test_matches_keep_their_events_when_the_session_goes_on() -> None:
    session = cep.query("PATTERN SEQ(A a, B b) WITHIN 3 RETURN a.x, b.ts AS b").session()
    session.feed({"ts": [1], "type": ["A"], "x": [7]})
    first = session.feed({"ts": [2], "type": ["B"], "x": [8]})
    session.feed({"ts": [9, 10, 11], "type": ["A", "B", "B"], "x": [1, 2, 3]})
    assert first.to_arrow().to_pylist() == [{"start": 1, "end": 2, "a.x": 7, "b": 2}]
    assert first.bindings() == [{"a": 0, "b": 1}]
    assert first.with_events().to_arrow()["b"].to_pylist() == [{"ts": 2, "type": "B", "x": 8}]
