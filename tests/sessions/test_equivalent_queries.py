"""A snapshot is restored by a query that returns other columns, or writes times otherwise."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.language.parser import parse
from cepheid.language.state_text import share_state

EVENTS = {"ts": [1, 3], "type": ["A", "A"], "x": [7, 8], "y": [1, 2]}
LAST = {"ts": [9], "type": ["B"], "x": [3], "y": [4]}


def test_what_a_query_returns_is_not_part_of_its_state() -> None:
    session = cep.query("PATTERN SEQ(A a, B b) WITHIN 60 RETURN a.x AS x").session()
    session.feed(EVENTS)
    other = cep.query("PATTERN SEQ(A a, B b) WITHIN 60 RETURN a.y AS why, a.x AS x")
    found = other.restore(session.snapshot()).feed(LAST)
    assert (
        found.to_arrow().to_pylist()
        == other.match({name: values + LAST[name] for name, values in EVENTS.items()})
        .to_arrow()
        .to_pylist()
    )
    lacking = cep.query("PATTERN SEQ(A a, B b) WITHIN 60 RETURN a.z")
    with pytest.raises(cep.SnapshotError, match="the snapshot lacks what the query needs"):
        lacking.restore(session.snapshot())


def test_times_may_be_written_in_other_units() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE b.ts - a.ts > {} WITHIN {}; EVENT A WITHIN {}"
    times = ["2024-01-01 00:00:00", "2024-01-01 00:30:00", "2024-01-01 01:00:01"]
    events = {"ts": times, "type": ["A", "A", "B"]}
    script = cep.script(text.format("90 s", "60 minutes", "1 day"))
    session = script.session()
    session.feed({name: values[:2] for name, values in events.items()})
    stored = session.snapshot()
    same = cep.script(text.format("1.5 minutes", "1 hour", "24 hours"))
    found = same.restore(stored).feed({name: values[2:] for name, values in events.items()})
    assert len(found["query_1"]) == 1
    with pytest.raises(cep.SnapshotError, match="the snapshot is of another script"):
        cep.script(text.format("91 s", "1 hour", "1 day")).restore(stored)


@pytest.mark.parametrize("number", ["b.INDEX", "b.PARTITION_INDEX - a.PARTITION_INDEX"])
def test_a_query_that_counts_events_needs_a_state_that_counts_them(number: str) -> None:
    """It reads events that the other one does not, and on Spark in other buckets."""
    text = "PATTERN SEQ(A a, B b) WHERE [x] WITHIN 60 RETURN {}"
    stored, counting = text.format("a.x"), text.format(f"{number} AS n")
    assert not share_state(stored, [parse(counting)])
    assert not share_state(counting, [parse(stored)])
    assert share_state(counting, [parse(text.format(f"a.x, {number} AS m"))])
    session = cep.query(stored).session()
    session.feed(EVENTS)
    with pytest.raises(cep.SnapshotError, match="the snapshot is of another query"):
        cep.query(counting).restore(session.snapshot())
