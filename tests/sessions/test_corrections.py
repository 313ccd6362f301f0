"""Sessions that accept late events: what they add, retract, refuse and keep."""

from __future__ import annotations

import pytest

import cepheid as cep

NO_B = cep.query("PATTERN SEQ(A a, ~(B b), C c) WITHIN 10")


def events(*pairs: tuple[int, str]) -> dict[str, list[object]]:
    return {"ts": [ts for ts, _ in pairs], "type": [kind for _, kind in pairs]}


def test_a_late_event_completes_a_match() -> None:
    session = cep.query("PATTERN SEQ(A a, B b) WITHIN 10 RETURN a.ts AS first").session(
        corrections=5
    )
    assert not len(session.feed(events((4, "B"))).added)
    change = session.feed(events((2, "A")))
    assert change.added.to_dicts() == [{"start": 2, "end": 4, "first": 2}]
    assert not len(change.retracted)


def test_a_late_event_violates_a_negation() -> None:
    session = NO_B.session(corrections=5)
    session.feed(events((1, "A"), (4, "C")))
    change = session.feed(events((2, "B")))
    assert repr(change) == "0 matches added, 1 retracted"
    assert change.retracted.to_dicts() == [
        {"start": 1, "end": 4, "a": {"ts": 1, "type": "A"}, "c": {"ts": 4, "type": "C"}}
    ]


def test_time_that_passed_decides_again() -> None:
    session = cep.query("PATTERN SEQ(A a, ~(B b)) WITHIN 5").session(corrections=10)
    session.feed(events((1, "A")))
    assert session.advance(6).added.bindings() == [{"a": 0}]
    change = session.feed(events((5, "B"), (2, "A")))
    assert not len(change.added)
    assert change.retracted.bindings() == [{"a": 0}]
    assert not len(session.advance().added)


def test_events_of_equal_time_are_in_the_order_of_their_tie_break() -> None:
    session = cep.query("PATTERN SEQ(A a, B b) WITHIN 10").session(corrections=5, tie_break="n")
    session.feed({"ts": [1], "type": ["B"], "n": [7]})
    assert len(session.feed({"ts": [1], "type": ["A"], "n": [6]}).added) == 1
    assert not len(session.feed({"ts": [1], "type": ["A"], "n": [8]}).added)


def test_an_event_may_be_as_late_as_allowed() -> None:
    session = NO_B.session(corrections=5)
    session.feed(events((20, "C")))
    assert len(session.feed(events((15, "A"))).added) == 1
    with pytest.raises(cep.EventError, match="more than corrections=5; leave it out"):
        session.feed(events((14, "B")))
    assert len(session.feed(events((15, "B"))).retracted) == 1


def test_the_end_is_the_end() -> None:
    session = NO_B.session(corrections=5)
    with pytest.raises(cep.EventError, match="must be fed"):
        session.advance()
    session.feed(events((1, "A")))
    session.advance()
    restored = NO_B.restore(session.snapshot(), corrections=5)
    for each in (session, restored):
        with pytest.raises(cep.EventError, match="ended"):
            each.feed(events((2, "C")))


def test_only_recent_events_are_kept() -> None:
    session = NO_B.session(corrections=50)
    sizes = []
    for low in range(0, 20_000, 1_000):
        session.feed({"ts": list(range(low, low + 1_000)), "type": ["A"] * 1_000})
        sizes.append(len(session.snapshot()))
    assert max(sizes[2:]) <= 1.1 * min(sizes[2:])
    assert len(session.feed(events((19_960, "C"))).added) == 10
    assert session.metrics.events > 0


def test_snapshots_are_restored_with_the_same_corrections() -> None:
    session = NO_B.session(corrections=5)
    session.feed(events((1, "A"), (4, "C")))
    stored, plain = session.snapshot(), NO_B.session()
    plain.feed(events((1, "A")))
    with pytest.raises(cep.SnapshotError, match="made with other corrections"):
        NO_B.restore(stored, corrections=6)
    with pytest.raises(cep.SnapshotError, match="made with corrections"):
        NO_B.restore(stored)
    with pytest.raises(cep.SnapshotError, match="made without corrections"):
        NO_B.restore(plain.snapshot(), corrections=5)
    with pytest.raises(cep.SnapshotError, match="of another query"):
        cep.query("PATTERN SEQ(A a, C c) WITHIN 10").restore(stored, corrections=5)
    restored = NO_B.restore(stored, corrections=5)
    assert len(restored.feed(events((2, "B"))).retracted) == 1


def test_what_cannot_be_corrected_is_refused() -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WITHIN 10 RETURN b.INDEX AS number")
    with pytest.raises(cep.OptionError, match="leave it out of RETURN"):
        query.session(corrections=5)
    with pytest.raises(cep.OptionError, match="max_uncertainty"):
        NO_B.session(corrections=5, uncertainty=2)
    with pytest.raises(cep.OptionError, match="corrections='soon' is not a duration"):
        NO_B.session(corrections="soon")
    with pytest.raises(cep.OptionError, match="corrections"):
        cep.script("PATTERN SEQ(A a, B b) WITHIN 10").session(corrections=5)


def test_conditions_on_positions_follow_the_order() -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WHERE b.INDEX = a.INDEX + 1 WITHIN 10")
    session = query.session(corrections=5)
    session.feed(events((1, "A"), (3, "B")))
    change = session.feed(events((2, "C")))
    assert (len(change.added), len(change.retracted)) == (0, 1)
