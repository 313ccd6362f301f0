"""A session of a set of rules runs each of them as its query alone would run."""

import pyarrow as pa
import pytest

import cepheid as cep


def batch(*events):
    """Events as (time, type, x)."""
    return {name: [event[ix] for event in events] for ix, name in enumerate(("ts", "type", "x"))}


def test_matches_are_found_across_batches_and_by_the_passage_of_time():
    rules = cep.rules({"pair": "PATTERN SEQ(A a, B b) WITHIN 5",
                       "lonely": "PATTERN SEQ(A a, ~(B b)) WITHIN 5"})  # fmt: skip
    session = rules.session()
    assert session.feed(batch((1, "A", 0))).counts == {"pair": 0, "lonely": 0}
    assert session.feed(batch((2, "B", 0), (3, "A", 0))).counts == {"pair": 1, "lonely": 0}
    assert session.feed([]).counts == {"pair": 0, "lonely": 0}
    assert session.feed(batch((9, "C", 0)))["lonely"].bindings() == [{"a": 2}]
    assert len(session.advance(30)) == 0
    assert len(session.advance()) == 0
    with pytest.raises(cep.EventError, match="the stream has ended"):
        session.feed(batch((40, "A", 0)))


def test_partial_matches_time_out_with_events_of_other_types():
    rule = {"query": "PATTERN SEQ(A a, B b) WITHIN 5", "timed_out": True}
    session = cep.rules({"pair": rule}).session()
    session.feed(batch((1, "A", 0)))
    assert session.feed(batch((9, "C", 0)))["pair"].bindings() == [{"a": 0}]


def test_a_session_is_fed_before_it_advances_and_in_order():
    session = cep.rules({"a": "PATTERN A a"}).session()
    with pytest.raises(cep.EventError, match="must be fed"):
        session.advance(3)
    session.feed(batch((5, "A", 0)))
    with pytest.raises(cep.EventError, match="begins before the time"):
        session.feed(batch((4, "A", 0)))
    assert len(session.feed(batch((5, "A", 0)))) == 1


def test_a_rule_that_exceeds_a_limit_is_suspended_and_the_others_go_on():
    rules = cep.rules({"many": "PATTERN SEQ(A a, B+ b[])", "b": "PATTERN B b"})
    session = rules.session(max_matches=6)
    with pytest.warns(cep.CepheidWarning, match="more than 6 matches"):
        found = session.feed(batch((1, "A", 0), *((ts, "B", 0) for ts in range(2, 7))))
    assert [fault.rule for fault in found.faults] == ["many"]
    assert found.counts == {"b": 5}
    assert list(session.suspended) == ["many"]
    metrics = session.metrics
    assert "more than 6 matches" in metrics["many"].suspended
    assert (metrics["b"].events, metrics["b"].matches, metrics["b"].last_match) == (5, 5, 6)
    assert metrics["b"].seconds > 0
    assert metrics["b"].to_dict()["rule"] == "b"
    assert session.feed(batch((9, "B", 0))).counts == {"b": 1}


def test_a_rule_that_does_not_fit_the_first_batch_is_suspended():
    rules = cep.rules({"bad": "PATTERN A a WHERE a.y > 1", "good": "PATTERN A a",
                       "rows": "MATCH_RECOGNIZE (ORDER BY x PATTERN (A))"})  # fmt: skip
    session = rules.session()
    with pytest.warns(cep.CepheidWarning, match="2 rules cannot run"):
        found = session.feed(batch((1, "A", 0)))
    assert found.counts == {"good": 1}
    assert {*session.suspended} == {"bad", "rows"}


def test_a_column_that_reveals_its_kind_suspends_only_rules_that_it_does_not_fit():
    rules = cep.rules({"number": "PATTERN A a WHERE a.x > 1", "any": "PATTERN A a"})
    session = rules.session()
    session.feed(batch((1, "A", None)))
    with pytest.warns(cep.CepheidWarning, match="1 rule cannot run\nrule number"):
        found = session.feed(batch((2, "A", "text")))
    assert found.counts == {"any": 1}


def test_columns_of_later_batches_must_fit_and_the_session_stays_usable():
    session = cep.rules({"a": "PATTERN A a"}).session()
    session.feed(batch((1, "A", 0)))
    with pytest.raises(cep.EventError, match="has no column 'x'"):
        session.feed({"ts": [2], "type": ["A"]})
    assert len(session.feed(batch((2, "A", 0)))) == 1


def test_ids_of_a_session_are_those_of_a_whole_run():
    rules = cep.rules({"pair": "PATTERN SEQ(A a, B b) WHERE a.x = b.x WITHIN 9"})
    events = [(1, "A", 1), (2, "B", 1), (3, "A", 2), (4, "B", 2)]
    session = rules.session()
    found = [match for event in events for match in session.feed(batch(event))]
    assert found == list(rules.match(batch(*events)))


def test_rules_of_one_shape_run_over_points_in_time() -> None:
    batch = {
        "ts": pa.array([0, 1_000_000, 2_000_000], pa.timestamp("us", "UTC")),
        "type": ["A", "B", "B"],
        "id": [7, 7, 7],
    }
    query = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN "
    rules = cep.rules({"short": query + "2 seconds", "long": query + "1 minute"})
    assert rules.session().feed(pa.table(batch)).counts == {"short": 1, "long": 2}
