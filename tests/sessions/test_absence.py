"""When sessions report matches of absent events, and what they keep until then."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cepheid as cep


def events(text: str) -> pa.Table:
    """``A@1 B@5``: the events with these types and times."""
    pairs = [word.split("@") for word in text.split()]
    return pa.table(
        {
            "ts": pa.array([int(time) for _, time in pairs], pa.int64()),
            "type": pa.array([name for name, _ in pairs], pa.string()),
        }
    )


def test_a_match_is_reported_when_its_own_window_has_passed() -> None:
    running = cep.query("PATTERN SEQ(Cart c, ~(Buy p) WITHIN 30)").session()
    assert len(running.feed(events("Cart@0"))) == 0
    assert running.next_completion == 30
    assert len(running.advance(29)) == 0
    [found] = running.advance(30)
    assert (found.start, found.end) == (0, 30)
    assert len(running.feed(events("Cart@40 Buy@60 Buy@90"))) == 0
    assert running.next_completion is None
    assert len(running.advance()) == 0


def test_an_event_at_the_deadline_comes_too_late() -> None:
    running = cep.query("PATTERN SEQ(A a, ~(B b) WITHIN 5)").session()
    assert len(running.feed(events("A@0"))) == 0
    assert len(running.feed(events("B@5"))) == 1


@pytest.mark.parametrize("within", ["WITHIN 5", "WITHIN 2 EVENTS", "WITHIN 2 EVENTS PER PARTITION"])
def test_a_match_that_outlasts_the_window_keeps_its_events(within: str) -> None:
    query = cep.query(f"PATTERN SEQ(A a, C c, ~(B b) WITHIN 100) {within} RETURN a.ts, c.ts")
    running = query.session()
    running.feed(events("A@0 C@1"))
    for time in range(10, 90, 10):
        assert len(running.feed(events(f"X@{time} X@{time + 1}"))) == 0
        running = query.restore(running.snapshot())
    assert running.next_completion == 101
    assert running.advance(101).to_arrow().to_pylist() == [
        {"start": 0, "end": 101, "a.ts": 0, "c.ts": 1}
    ]


def test_what_violates_is_kept_longer_than_the_window() -> None:
    query = cep.query("PATTERN SEQ(~(B b) WITHIN 50, A a) WITHIN 2")
    running = query.session()
    running.feed(events("B@0"))
    running.advance(40)
    assert running.evicted_from is not None
    assert running.evicted_from >= 50
    running = query.restore(running.snapshot())
    assert len(running.feed(events("A@49 A@50"))) == 1
    running.advance(60)
    running.advance(120)
    assert running.evicted_from <= 120


def test_a_stream_of_single_events_needs_no_window_to_be_bounded() -> None:
    running = cep.query("PATTERN SEQ(A a, ~(B b) WITHIN 5)").session()
    sizes = []
    for start in range(0, 4000, 100):
        running.feed(events(" ".join(f"A@{start + step}" for step in range(100))))
        sizes.append(len(running.snapshot()))
    assert max(sizes[-5:]) < 2 * sizes[0]


def test_a_list_without_others_waits_for_nothing() -> None:
    running = cep.query("PATTERN E{2} e[] WITHOUT (R r) WITHIN 50").session()
    assert len(running.feed(events("E@0"))) == 0
    assert len(running.feed(events("E@1"))) == 1
    assert len(running.feed(events("R@2 E@3"))) == 0


def test_composite_events_come_at_the_deadline() -> None:
    script = cep.script(
        "PATTERN SEQ(A a, ~(B b) WITHIN 10) RETURN Quiet(since = a.ts);"
        "PATTERN SEQ(Quiet q, C c) RETURN q.since, c.ts"
    )
    table = events("A@0 C@9 C@11 A@12 B@15 C@30")
    found = script.match(table)
    [query] = [name for name in found if len(found[name]) == 2]
    rows = [(row["q.since"], row["c.ts"]) for row in found[query].to_arrow().to_pylist()]
    assert sorted(rows) == [(0, 11), (0, 30)]
    running = script.session()
    streamed = []
    for low in range(len(table)):
        streamed += running.feed(table.slice(low, 1))[query].to_arrow().to_pylist()
    streamed += running.advance()[query].to_arrow().to_pylist()
    assert sorted((row["q.since"], row["c.ts"]) for row in streamed) == sorted(rows)


@pytest.mark.parametrize("evaluation", ["nfa_b", "reference"])
def test_first_reports_one_match_of_those_that_become_certain_one_after_the_other(
    evaluation: str,
) -> None:
    query = cep.query("PATTERN SEQ(C c, B b, ~(A a)) WITHIN 4 EVENTS OUTPUT FIRST")
    running = query.session(evaluation=evaluation)
    found = running.feed(events("C@1 C@2 C@5 B@5 B@6 C@7")).bindings()
    found += running.advance().bindings()
    assert found == [{"c": 0, "b": 3}, {"c": 1, "b": 3}, {"c": 2, "b": 3}]


@pytest.mark.parametrize("pattern", ["SEQ(A a, ~(B b) WITHIN 5)", "SEQ(~(B b) WITHIN 5, A a)"])
@pytest.mark.parametrize("evaluation", ["nfa_b", "lazy_chain", "instance_stacks", "reference"])
def test_a_session_that_needs_no_window_is_restored(pattern: str, evaluation: str) -> None:
    query = cep.query(f"PATTERN {pattern}")
    running = query.session(evaluation=evaluation)
    assert len(running.feed(events("B@1 A@2"))) == 0
    running = query.restore(running.snapshot(), evaluation=evaluation)
    found = running.feed(events("A@9")).bindings() + running.advance().bindings()
    assert found == ([{"a": 1}, {"a": 2}] if "(A a, ~" in pattern else [{"a": 2}])
