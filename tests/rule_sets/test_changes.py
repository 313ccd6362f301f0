"""Rules change while a session runs; what is not changed keeps its state."""

import pytest

import cepheid as cep

PAIR = "PATTERN SEQ(A a, B b) WITHIN 20"


def batch(*events):
    """Events as (time, type, x)."""
    return {name: [event[ix] for event in events] for ix, name in enumerate(("ts", "type", "x"))}


def begun(rules, *events, **keywords):
    session = cep.rules(rules).session(**keywords)
    session.feed(batch(*events))
    return session


def rows(found, name="pair"):
    return sorted(found[name].bindings(), key=str)


def test_a_rule_that_is_added_finds_events_from_now_on():
    session = begun({"pair": PAIR}, (1, "A", 0))
    assert len(session.apply({"second": PAIR})) == 0
    found = session.feed(batch((2, "A", 0), (3, "B", 0)))
    assert rows(found) == [{"a": 0, "b": 2}, {"a": 1, "b": 2}]
    assert rows(found, "second") == [{"a": 1, "b": 2}]


def test_a_rule_is_removed_disabled_and_enabled():
    session = begun({"pair": PAIR, "other": PAIR}, (1, "A", 0))
    session.apply({"pair": None, "other": {"enabled": False}})
    assert session.feed(batch((2, "B", 0))).rules == ()
    assert list(session.rules) == ["other"]
    session.apply({"other": {"enabled": True}})
    assert rows(session.feed(batch((3, "A", 0), (4, "B", 0))), "other") == [{"a": 2, "b": 3}]


@pytest.mark.parametrize(
    "change",
    [
        {"severity": "low"},
        {"description": "x", "tags": ["y"]},
        {"query": PAIR + " RETURN b.x AS y"},
        {"at_most_once_per": 5},
        {"query": PAIR, "severity": "high"},
    ],
)
def test_what_does_not_concern_the_pattern_keeps_the_state(change):
    session = begun({"pair": PAIR}, (1, "A", 0))
    session.apply({"pair": change})
    assert rows(session.feed(batch((2, "B", 7)))) == [{"a": 0, "b": 1}]


@pytest.mark.parametrize(
    "change",
    [
        "PATTERN SEQ(A a, B b) WITHIN 19",
        {"query": PAIR + " OUTPUT FIRST"},
        {"output": "longest"},
        {"query": "PATTERN SEQ(A a, B b) WHERE a.x < 9 WITHIN 20"},
    ],
)
def test_another_pattern_begins_anew(change):
    session = begun({"pair": PAIR}, (1, "A", 0), retain=30)
    session.apply({"pair": change})
    found = session.feed(batch((2, "B", 7))).counts
    assert found == {"pair": 0}


def test_another_parameter_begins_anew_and_others_stay():
    rule = {
        "query": "PATTERN SEQ(A a, B b) WHERE a.x > T AND b.x < U",
        "parameters": {"T": 5, "U": 9},
    }
    session = begun({"pair": rule}, (1, "A", 0), (2, "A", 7))
    session.apply({"pair": {"parameters": {"T": -1}}})
    assert session.rules["pair"].parameters == {"T": -1, "U": 9}
    assert rows(session.feed(batch((3, "A", 0), (4, "B", 7)))) == [{"a": 2, "b": 3}]


def test_a_new_return_is_used_for_matches_of_old_events():
    session = begun({"pair": PAIR + " RETURN a.x AS x"}, (1, "A", 3))
    session.apply({"pair": PAIR + " RETURN b.x - a.x AS rise, a.x AS first"})
    assert [match.values for match in session.feed(batch((2, "B", 7)))] == [{"rise": 4, "first": 3}]


def test_backfill_reads_the_retained_events():
    session = begun({"pair": PAIR}, (1, "A", 0), (8, "A", 1), (9, "B", 2), retain=5)
    found = session.apply({"new": PAIR, "pair": {"query": PAIR + " OUTPUT FIRST"}}, backfill=True)
    assert rows(found, "new") == rows(found) == [{"a": 1, "b": 2}]
    assert rows(session.feed(batch((10, "B", 0))), "new") == [{"a": 1, "b": 3}]


def test_backfill_ends_absences_by_the_time_that_has_passed():
    session = begun({"pair": PAIR}, (1, "A", 0), retain=50)
    session.advance(30)
    found = session.apply({"lonely": "PATTERN SEQ(A a, ~(B b)) WITHIN 5"}, backfill=True)
    assert rows(found, "lonely") == [{"a": 0}]
    session.advance()
    found = session.apply({"all": "PATTERN SEQ(A a, ~(B b)) WITHIN 90"}, backfill=True)
    assert rows(found, "all") == [{"a": 0}]


def test_backfill_needs_retained_events():
    session = begun({"pair": PAIR}, (1, "A", 0))
    with pytest.raises(cep.OptionError, match="begin it with retain"):
        session.apply({"new": PAIR}, backfill=True)


@pytest.mark.parametrize("key", ["", "[x] AND "])
def test_a_throttle_is_added_changed_and_removed_with_the_state(key):
    rule = {"query": f"PATTERN SEQ(A a, B b) WHERE {key} a.x > 0 WITHIN 50"}
    session = begun({"pair": rule}, (1, "A", 1), (2, "A", 2), (3, "B", 1))
    session.apply({"pair": {"at_most_once_per": 10}})
    assert len(session.feed(batch((4, "B", 1), (5, "B", 1)))) == 1
    session.apply({"pair": {"at_most_once_per": 2}})
    assert len(session.feed(batch((5, "B", 1)))) == 0
    assert len(session.feed(batch((6, "B", 1)))) == 1
    session.apply({"pair": {"at_most_once_per": None}})
    assert len(session.feed(batch((6, "B", 1)))) == (1 if key else 2)


def test_matches_that_a_throttle_held_back_are_released_with_it():
    query = "PATTERN SEQ(A a, B+ b[]) WHERE a.x = b[i].x WITHIN 10"
    rule = {"query": query, "output": "longest", "at_most_once_per": 3}
    session = begun({"r": rule}, (1, "A", 1), (5, "A", 2), (6, "B", 2), (9, "B", 1))
    assert len(session.advance(12)) == 0  # A match that ends before it is not decided.
    found = session.apply({"r": {"at_most_once_per": None}})
    assert rows(found, "r") == [{"a": 0, "b": [3]}]
    assert rows(session.advance(16), "r") == [{"a": 1, "b": [2]}]


def test_bad_changes_are_faults_and_the_rules_stay():
    session = begun({"pair": PAIR}, (1, "A", 0))
    changes = {
        "pair": "PATTERN SEQ(A a",
        "nope": None,
        "piar": {"severity": "low"},
        "column": "PATTERN A a WHERE a.nope = 1",
        "rows": "MATCH_RECOGNIZE (ORDER BY x PATTERN (A))",
    }
    with pytest.warns(cep.CepheidWarning, match="5 rules cannot run"):
        found = session.apply(changes)
    assert {fault.rule for fault in found.faults} == {*changes}
    assert "Did you mean 'pair'?" in str(found.faults[2])
    assert rows(session.feed(batch((2, "B", 0)))) == [{"a": 0, "b": 1}]
    with pytest.warns(cep.CepheidWarning, match="no attribute 'nope'"):
        session.apply({"pair": PAIR + " RETURN a.nope"})
    assert rows(session.feed(batch((3, "B", 0)))) == [{"a": 0, "b": 2}]
    with pytest.raises(cep.OptionError, match="changes are a set of rules"):
        session.apply(["pair"])


def test_a_set_replaces_the_rules_and_broken_ones_stay_as_they_were():
    session = begun({"pair": PAIR, "gone": PAIR, "kept": PAIR}, (1, "A", 0))
    with pytest.warns(cep.CepheidWarning):
        after = cep.rules({"pair": PAIR, "kept": "PATTERN SEQ(A", "new": "PATTERN B b"})
    with pytest.warns(cep.CepheidWarning):
        session.apply(after)
    assert session.feed(batch((2, "B", 0))).counts == {"pair": 1, "kept": 1, "new": 1}


def test_rules_change_before_the_first_batch():
    session = cep.rules({"pair": PAIR}).session()
    session.apply({"b": "PATTERN B b", "pair": None})
    assert session.feed(batch((1, "B", 0))).counts == {"b": 1}


def test_a_suspended_rule_resumes_when_it_is_changed():
    session = cep.rules({"many": "PATTERN SEQ(A a, B b)", "b": "PATTERN B b"}).session(
        max_matches=2
    )
    with pytest.warns(cep.CepheidWarning):
        session.feed(batch(*((1, kind, 0) for kind in "AAAB")))
    session.apply({"b": {"severity": "low"}})
    assert list(session.suspended) == ["many"]
    session.apply({"many": {"enabled": True}})
    assert not session.suspended
    assert session.feed(batch((2, "A", 0), (3, "B", 0))).counts == {"b": 1, "many": 1}


def test_a_snapshot_restores_under_other_rules():
    before = {
        "same": PAIR,
        "returns": PAIR + " RETURN a.x",
        "pattern": PAIR,
        "throttled": {"query": PAIR, "at_most_once_per": 5},
        "gone": PAIR,
    }
    session = begun(before, (1, "A", 3), retain=50)
    today = cep.rules(
        {
            "same": {"query": PAIR, "severity": "low"},
            "returns": PAIR + " RETURN b.x",
            "pattern": PAIR + " OUTPUT FIRST",
            "throttled": PAIR,
            "new": PAIR,
        }
    )
    stored = session.snapshot()
    found = today.restore(stored, retain=50).feed(batch((2, "B", 7)))
    assert found.counts == {"same": 1, "returns": 1, "pattern": 0, "throttled": 1, "new": 0}
    assert found["returns"].to_dicts()[0]["b.x"] == 7
    session = today.restore(stored, retain=50, backfill=True)
    assert session.restored.counts == {"throttled": 0, "pattern": 0, "new": 0}
    found = session.feed(batch((2, "B", 7)))
    assert found.counts == dict.fromkeys(found.rules, 1)
    with pytest.raises(cep.OptionError, match="begin it with retain"):
        today.restore(stored, backfill=True)


def test_suspended_rules_stay_suspended_unless_they_changed():
    rules = {"many": "PATTERN SEQ(A a, B b)", "b": "PATTERN B b"}
    session = cep.rules(rules).session(max_matches=2)
    with pytest.warns(cep.CepheidWarning):
        session.feed(batch(*((1, kind, 0) for kind in "AAAB")))
    stored = session.snapshot()
    assert list(cep.rules(rules).restore(stored, max_matches=2).suspended) == ["many"]
    changed = cep.rules({**rules, "many": {"query": rules["many"], "severity": "low"}})
    assert not changed.restore(stored, max_matches=2).suspended


def test_a_rule_that_cannot_run_with_the_stored_columns_is_a_fault():
    stored = begun({"pair": PAIR}, (1, "A", 0)).snapshot()
    with pytest.warns(cep.CepheidWarning, match="no attribute 'nope'"):
        session = cep.rules({"bad": "PATTERN A a WHERE a.nope = 1"}).restore(stored)
    assert list(session.suspended) == ["bad"]


def test_other_bytes_are_no_snapshot_of_rules():
    rules = cep.rules({"pair": PAIR})
    session = cep.query(PAIR).session()
    session.feed(batch((1, "A", 0)))
    for stored in (session.snapshot(), b"nothing", None):
        with pytest.raises(cep.SnapshotError):
            rules.restore(stored)
    with pytest.raises(cep.EventError, match="before it is stored"):
        rules.session().snapshot()
    stored = begun({"pair": PAIR}, (1, "A", 0), retain=5).snapshot()
    for at in range(100, len(stored), 97):
        damaged = bytearray(stored)
        damaged[at] ^= 1
        with pytest.raises(cep.SnapshotError):
            rules.restore(bytes(damaged), retain=5)
