"""Matches as a timeline."""

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.report.timeline import MOST_SHOWN, draw_timeline, number, text


def test_events_are_in_order_of_time_and_know_their_variable():
    a = pa.array([{"ts": 3, "type": "A", "x": 1.5}])
    b = pa.array([[{"ts": 1, "type": "B", "x": None}, {"ts": 2, "type": "B", "x": 2.0}]])
    batch = pa.record_batch({"start": [1], "end": [3], "a": a, "b": b, "rise": [7]})
    (match,) = draw_timeline([batch], 1).matches
    assert [(e["variable"], e["time"]) for e in match["events"]] == [("b", 1), ("b", 2), ("a", 3)]
    assert match["events"][0]["values"] == {"x": "–"}
    assert match["values"] == {"rise": "7"}


def test_of_many_matches_some_are_drawn_and_all_are_counted():
    count = 10 * MOST_SHOWN
    batches = pa.table({"start": range(count), "end": range(1, count + 1)}).to_batches(999)
    timeline = draw_timeline(batches, count)
    assert timeline.total == sum(timeline.counts) == count
    assert len(timeline.matches) == MOST_SHOWN
    assert timeline.matches[0]["start"] == 0
    assert timeline.matches[-1]["end"] == count


def test_times_become_milliseconds():
    moments = pa.array([datetime(2024, 1, 1, 0, 0, 0, 250)], pa.timestamp("ns"))
    timeline = draw_timeline([pa.record_batch({"start": moments, "end": moments})], 1)
    assert timeline.is_date
    assert timeline.span[0] == datetime(2024, 1, 1, tzinfo=UTC).timestamp() * 1000 + 0.25
    assert number(date(1970, 1, 2)) == 86_400_000


def test_no_match_is_a_timeline_too():
    empty = pa.record_batch({"start": pa.array([], pa.int64()), "end": pa.array([], pa.int64())})
    for batches in ([], [empty]):
        timeline = draw_timeline(batches, 0)
        assert timeline.total == 0
        assert timeline.matches == []


def test_what_is_no_result_is_refused():
    with pytest.raises(cep.EventError, match="there is no column 'start' among ts, type"):
        draw_timeline([pa.record_batch({"ts": [1], "type": ["A"]})], 1)
    with pytest.raises(cep.EventError, match="'start' of the matches is string"):
        draw_timeline([pa.record_batch({"start": ["x"], "end": ["y"]})], 1)


def test_values_are_shown_as_people_write_them():
    assert text(True) == "true"
    assert text(list(range(30))).endswith("19, … (30 in all)")
    assert text({"x": 1, "y": None}) == "x 1, y –"
    assert text(timedelta(seconds=90)) == "0:01:30"
