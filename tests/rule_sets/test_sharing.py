"""Rules of the same shape share a session, and find what each finds alone."""

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.events.events import order_events
from cepheid.rule_sets.sharing.event_tests import EventTests
from cepheid.rule_sets.sharing.selection import Selection
from cepheid.rule_sets.sharing.shape import shape_of
from cepheid.sessions.plan import plan
from cepheid.sessions.run_settings import RunSettings

EVENTS = {
    "ts": [1, 2, 3, 4, 5, 6],
    "type": ["A", "B", "A", "C", "B", "A"],
    "id": [7, 7, 8, 7, 8, 7],
    "x": [1, 5, 9, 2, 3, 4],
    "s": ["p", "q", "p", None, "q", "p"],
    "f": [0.5, 1.5, None, 2.0, 2.5, 3.0],
}


def shape(text, events=EVENTS):
    (planned,) = plan(cep.query(text).script, RunSettings(), order_events(events), in_batches=True)
    return shape_of(planned.analysed, planned.window)


def batch(*events):
    """Events as (time, type, x)."""
    return {name: [event[ix] for event in events] for ix, name in enumerate(("ts", "type", "x"))}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SEQ(A a, B b) WHERE [id] AND a.x > 5 WITHIN 9", "SEQ(B a, C b) WHERE [id] WITHIN 12"),
        ("SEQ(A a, B b) WHERE b.x > a.x + 5", "SEQ(A a, C b) WHERE b.x > a.x + 0"),
        ("SEQ(A a, B b) WHERE a.x * 2 = b.x * 2", "SEQ(A a, C b) WHERE a.x * 3 = b.x * 2"),
        ("SEQ(A a, B+ b[]) WHERE b[i].x > a.x + 1", "SEQ(A a, C+ b[]) WHERE b[i].x > a.x + 2"),
        ("A a WHERE a.s = 'p' WITHIN 5", "B a WHERE a.f < 3 OR a.x IN (1, 2) WITHIN 7"),
        ("SEQ(A a, ~(B b)) WITHIN 5", "SEQ(C a, ~(B b)) WHERE b.x > 1 WITHIN 5"),
    ],
)
def test_types_constants_and_tests_of_one_event_are_no_part_of_a_shape(one, other):
    assert shape(f"PATTERN {one}").key == shape(f"PATTERN {other}").key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SEQ(A a, B b) WHERE b.x % 3 = a.x", "SEQ(A a, B b) WHERE b.x % 4 = a.x"),
        ("SEQ(A a, B b) WHERE b.x > a.x + 5", "SEQ(A a, B b) WHERE b.x > a.x + 5.0"),
        ("SEQ(A a, B b) WHERE [id]", "SEQ(A a, B b) WHERE [x]"),
        ("SEQ(A a, B b) WITHIN 5", "SEQ(A a, B b) WITHIN 6"),
        ("SEQ(A a, ~(B b)) WHERE [id] WITHIN 5", "SEQ(A a, ~(B b)) WHERE [id] WITHIN 6"),
        ("SEQ(A a, B b) WITHIN 5", "SEQ(A a, A b) WITHIN 5"),
        ("SEQ(A a, B b) WHERE [id] WITHIN 5", "SEQ(A a, B b) WHERE [id] WITHIN 500"),
    ],
)
def test_other_shapes(one, other):
    assert shape(f"PATTERN {one}").key != shape(f"PATTERN {other}").key


@pytest.mark.parametrize(
    "text",
    [
        "OR(A a, B b)",
        "AND(A a, B b)",
        "SEQ(A a, B b) WITHIN 5 EVENTS",
        "SEQ(A a, B b) WHERE strict_contiguity",
        "SEQ(A a, B b) WHERE [id = 7]",
        "SEQ(A a, B+ b[] WITHOUT (C c))",
        "SEQ(A a, A b, A c, A d, A e)",
        "SEQ(A a, B b) WITHIN 5 RETURN a.INDEX",
    ],
)
def test_rules_that_share_no_session(text):
    assert shape(f"PATTERN {text}") is None


def test_events_of_which_a_kind_is_unknown_or_types_have_columns_of_their_own_are_not_shared():
    assert shape("PATTERN A a WHERE a.x > 1", EVENTS | {"x": [None] * 6}) is None
    tables = {"A": {"ts": [1], "x": [1]}, "B": {"ts": [2], "y": [1]}}
    assert shape("PATTERN SEQ(A a, B b) WHERE a.x > 0", tables) is None


def selected(selection, events):
    picked = selection.pick(order_events(events))
    return list(
        zip(picked.places.tolist(), picked.slots.tolist(), picked.masks.tolist(), strict=True)
    )


def test_only_events_that_can_be_in_a_match_are_selected():
    selection = Selection()
    selection.add(0, shape("PATTERN SEQ(A a, B b) WHERE [id] AND a.x > 1 WITHIN 9"))
    selection.add(1, shape("PATTERN SEQ(A a, A b) WHERE b.x < 9 WITHIN 9"))
    found = selected(selection, EVENTS)
    assert found == [(0, 1, 3), (2, 0, 1), (2, 1, 1), (4, 0, 2), (5, 0, 1), (5, 1, 3)]
    selection.remove(1)
    later = {name: values[:2] for name, values in EVENTS.items()} | {"ts": [14, 15]}
    later |= {"type": ["B", "C"], "id": [7, 7]}
    assert selected(selection, later) == [(0, 0, 2)]
    assert selected(selection, later | {"ts": [25, 26]}) == []
    assert selection.seen(shape("PATTERN SEQ(A a, B b)")) == 3 + 2 + 1 + 1


def test_the_table_of_partitions_grows_and_forgets_none():
    selection, count = Selection(), 2_000
    selection.add(0, shape("PATTERN SEQ(A a, B b) WHERE [id]"))
    for low in range(0, 25 * count, count):
        numbers = np.arange(low, low + count)
        first = {"ts": numbers, "type": ["A"] * count, "id": numbers}
        assert len(selected(selection, first)) == count
    later = {"ts": [10**6, 10**7], "type": ["B", "B"]}
    for key in range(0, 25 * count, 999):
        assert (0, 0, 2) in selected(selection, {**later, "id": [key, key]})
    others = {"ts": numbers + 10**8, "type": ["B"] * count, "id": numbers + 10**8}
    assert len(selected(selection, others)) < count / 2


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.x >= 4", [0, 1, 1, 0, 0, 1]),
        ("4 >= a.x", [1, 0, 0, 1, 1, 1]),
        ("a.x != 5", [1, 0, 1, 1, 1, 1]),
        ("a.f < 2", [1, 1, 0, 0, 0, 0]),
        ("a.f != 1.5", [1, 0, 0, 1, 1, 1]),
        ("a.s = 'p'", [1, 0, 1, 0, 0, 1]),
        ("a.s != 'p'", [0, 1, 0, 0, 1, 0]),
        ("a.s = 'z'", [0, 0, 0, 0, 0, 0]),
        ("a.s != 'z'", [1, 1, 1, 0, 1, 1]),
        ("a.x < 2.5", [1, 0, 0, 1, 0, 0]),
        ("a.x IN (1, 9)", [1, 0, 1, 0, 0, 0]),
    ],
)
def test_tests_of_single_events(condition, expected):
    events = order_events({**EVENTS, "type": ["A"] * 6})
    query = cep.query(f"PATTERN A a WHERE {condition}").tree
    selection = Selection()
    selection.add(0, shape(f"PATTERN A a WHERE {condition}"))
    found = selection.pick(events).places.tolist()
    assert found == [place for place, is_in in enumerate(expected) if is_in]
    tests = EventTests(events.schema)
    assert tests.add(query.condition) == tests.add(query.condition) == 0


def test_ids_are_those_of_each_rule_alone_also_for_equal_events_of_equal_time():
    texts = {f"r{n}": f"PATTERN SEQ(A a, B b) WHERE a.x < {n} WITHIN {5 + n}" for n in range(4)}
    rules = cep.rules(texts)
    events = [(1, "B", 0), (1, "A", 0), (1, "B", 0), (2, "B", 0), (2, "B", 0), (2, "A", 1)]
    events += [(2, "B", 0), (6, "B", 0), (7, "B", 0)]
    expected = sorted(str(match) for match in rules.match(batch(*events)))
    for size in (1, 2, 4, 9):
        session = rules.session()
        parts = [events[low : low + size] for low in range(0, len(events), size)]
        found = [str(match) for part in parts for match in session.feed(batch(*part))]
        assert sorted(found) == expected


def test_a_rule_joins_and_leaves_a_group_and_the_others_keep_their_state():
    pair = "PATTERN SEQ(A a, B b) WHERE a.x > {} WITHIN 20"
    session = cep.rules({"one": pair.format(0), "two": pair.format(1)}).session()
    session.feed(batch((1, "A", 5)))
    session.apply({"three": pair.format(2), "two": None})
    assert session.feed(batch((2, "B", 0))).counts == {"one": 1, "three": 0}
    session.apply({"two": pair.format(3)})
    session.feed(batch((3, "A", 5)))
    session = session.rules.restore(session.snapshot())
    assert session.feed(batch((4, "B", 0))).counts == {"one": 2, "three": 1, "two": 1}
    session.apply({"one": {"at_most_once_per": 50}})
    assert session.feed(batch((5, "B", 0))).counts == {"one": 1, "three": 1, "two": 1}
    assert session.feed(batch((6, "B", 0))).counts == {"one": 0, "three": 1, "two": 1}


def test_a_group_is_restored_under_a_limit_as_sessions_of_each_rule():
    pair = "PATTERN SEQ(A a, B b) WHERE a.x > {} WITHIN 20"
    rules = cep.rules({"one": pair.format(0), "two": pair.format(7)})
    session = rules.session()
    session.feed(batch((1, "A", 5), (2, "A", 9)))
    session = rules.restore(session.snapshot(), max_matches=2)
    with pytest.warns(cep.CepheidWarning, match="more than 2 matches"):
        found = session.feed(batch((3, "B", 0), (4, "B", 0)))
    assert found.counts == {"two": 2}


def test_a_new_rule_before_others_of_its_shape_does_not_take_their_state() -> None:
    pair = "PATTERN SEQ(A a, B b) WHERE a.x > {} WITHIN 20"
    session = cep.rules({"new": "PATTERN A a", "old": pair.format(0)}).session()
    session.feed(batch((1, "A", 5)))
    today = cep.rules({"new": pair.format(1), "old": pair.format(0)})
    session = today.restore(session.snapshot())
    assert session.feed(batch((2, "B", 0))).counts == {"new": 0, "old": 1}


def test_a_new_rule_does_not_get_the_events_of_a_rule_that_is_gone() -> None:
    pair = "PATTERN SEQ(A a, B b) WHERE a.x > {} WITHIN 20"
    session = cep.rules({"stays": pair.format(0), "gone": pair.format(1)}).session()
    session.feed(batch((1, "A", 5)))
    session.apply({"gone": None})
    today = cep.rules({"stays": pair.format(0), "new": pair.format(2)})
    session = today.restore(session.snapshot())
    assert session.feed(batch((2, "B", 0))).counts == {"stays": 1, "new": 0}


def test_a_column_that_cannot_be_read_suspends_only_the_rules_that_read_it():
    rules = cep.rules({"large": "PATTERN A a WHERE a.x > 1", "other": "PATTERN A a"})
    session = rules.session()
    small = pa.table({"ts": [1], "type": ["A"], "x": pa.array([5], pa.uint64())})
    assert session.feed(small).counts == {"large": 1, "other": 1}
    large = pa.table({"ts": [2], "type": ["A"], "x": pa.array([2**64 - 1], pa.uint64())})
    with pytest.warns(cep.CepheidWarning, match="rule large"):
        found = session.feed(large)
    assert found.counts == {"other": 1}
    assert session.feed(small.set_column(0, "ts", [[3]])).counts == {"other": 1}


def test_metrics_of_rules_that_share_a_session():
    texts = {"small": "PATTERN A a WHERE a.x > 0", "large": "PATTERN A a WHERE a.x > 7"}
    session = cep.rules(texts).session()
    session.feed(batch((1, "A", 5), (2, "A", 9), (3, "B", 9)))
    small, large = session.metrics["small"], session.metrics["large"]
    assert (small.events, small.partial_matches, small.matches, small.last_match) == (2, 2, 2, 2)
    assert (large.events, large.partial_matches, large.matches, large.last_match) == (2, 1, 1, 2)
    assert small.seconds > large.seconds > 0


def test_windows_of_clocks_share_a_session():
    pair = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN {}"
    windows = {"short": "5 minutes", "long": "1 hour", "seconds": "301 seconds"}
    rules = cep.rules({name: pair.format(window) for name, window in windows.items()})
    minutes = [f"2024-03-01 09:{minute:02}:00" for minute in (0, 4, 5, 59)] + [
        "2024-03-01 10:00:00"
    ]
    session = rules.session()
    found = [
        session.feed({"ts": [ts], "type": [kind], "id": [7]})
        for ts, kind in zip(minutes, "ABBBB", strict=True)
    ]
    totals = {name: sum(each.counts[name] for each in found) for name in windows}
    assert totals == {"short": 1, "long": 3, "seconds": 2}


PAIRS = "PATTERN SEQ(A a, B b) WHERE a.x > {} AND b.x > {} WITHIN 90"


@pytest.mark.parametrize("limit", [{"max_matches": 5}, {"max_runs": 500}, {"max_memory": "1 MB"}])
def test_a_rule_of_a_group_that_exceeds_its_budget_is_suspended_alone(limit) -> None:
    """The others keep their state, and find what they find without limits."""
    texts = {f"few {n}": PAIRS.format(6, n) for n in (1, 2)} | {"many": PAIRS.format(0, 0)}
    count = 36 if "max_matches" in limit else 20_000
    events = [(1, "A", 5), (2, "A", 7), (3, "B", 3)]
    events += [(4, "A", 5)] * count + [(5, "B", 2), (6, "B", 9)]
    session, free = cep.rules(texts).session(**limit), cep.rules(texts).session()
    for part in (events[:2], events[2:3]):
        session.feed(batch(*part))
        free.feed(batch(*part))
    with pytest.warns(cep.CepheidWarning, match="1 rule cannot run\nrule many"):
        found = session.feed(batch(*events[3:]))
    expected = free.feed(batch(*events[3:]))
    for name in ("few 1", "few 2"):
        assert found[name].bindings() == expected[name].bindings()
    assert list(session.suspended) == ["many"]
    assert session.metrics["many"].matches == 2
    again = session.rules.restore(session.snapshot(), **limit)
    assert list(again.suspended) == ["many"]
    for each in (session, again):
        assert each.feed(batch((7, "B", 9))).counts == {"few 1": 1, "few 2": 1}


def test_a_budget_of_matches_is_for_the_life_of_a_rule_that_shares_a_session() -> None:
    rules = cep.rules({f"r{n}": PAIRS.format(n, 0) for n in (1, 5)})
    session = rules.session(max_matches=3)
    session.feed(batch((1, "A", 4), (2, "A", 9)))
    assert session.feed(batch((3, "B", 1))).counts == {"r1": 2, "r5": 1}
    session = rules.restore(session.snapshot(), max_matches=3)
    with pytest.warns(cep.CepheidWarning, match="rule r1:\n  there are more than 3 matches"):
        assert session.feed(batch((4, "B", 1))).counts == {"r5": 1}
