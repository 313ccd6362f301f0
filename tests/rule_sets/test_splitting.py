"""A rule reads only events of its types, if others do not matter to it."""

import pytest

import cepheid as cep
from cepheid.events.events import order_events
from cepheid.language.parser import parse
from cepheid.rule_sets.splitting import SplitBatch, types_read

EVENTS = {"ts": [1, 2, 3, 4, 5], "type": ["A", "C", "B", "A", "D"], "x": [1, 2, 3, 4, 5]}


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B b) WHERE strict_contiguity WITHIN 5",
        "PATTERN SEQ(A a, B b) WHERE partition_contiguity { [x] } WITHIN 5",
        "PATTERN SEQ(A a, B b) WITHIN 5 EVENTS",
        "PATTERN SEQ(A a, B b) WHERE b.INDEX = a.INDEX + 1 WITHIN 5",
        "PATTERN SEQ(A a, B b) WITHIN 5 RETURN a.INDEX",
    ],
)
def test_a_rule_to_which_other_events_matter_reads_all(text):
    assert types_read(parse(text)) is None


def test_events_of_types_are_in_order_with_their_rows():
    split = SplitBatch(order_events(EVENTS))
    found = split.of(frozenset({"B", "A", "Z"}))
    assert found.rows.tolist() == [0, 2, 3]
    assert [found.type_names[code] for code in found.type_codes] == ["A", "B", "A"]
    assert found.table["x"].to_pylist() == [1, 3, 4]
    assert split.of(frozenset({"A", "B", "Z"})) is found
    assert split.of(frozenset({"Z"})) is None
    assert split.of(None) is split.whole


def test_only_events_of_its_types_reach_a_rule():
    session = cep.rules({"a": "PATTERN A a", "n": "PATTERN SEQ(A a, ~(B b)) WITHIN 3"}).session()
    session.feed(EVENTS)
    assert {name: each.events for name, each in session.metrics.items()} == {"a": 2, "n": 3}


def test_time_passes_for_rules_without_events():
    session = cep.rules({"n": "PATTERN SEQ(A a, ~(B b)) WITHIN 3", "z": "PATTERN Z z"}).session()
    session.feed({"ts": [1], "type": ["A"]})
    assert session.feed({"ts": [3], "type": ["D"]}).counts == {"n": 0, "z": 0}
    assert session.feed({"ts": [9], "type": ["D"]})["n"].bindings() == [{"a": 0}]
    stored = session.snapshot()
    assert session.rules.restore(stored).feed({"ts": [9], "type": ["Z"]}).counts == {"n": 0, "z": 1}


@pytest.mark.parametrize(
    "after", ["index - a.index = 1", "PARTITION_INDEX - a.partition_index = 1"]
)
def test_rules_that_count_events_read_all_of_them(after: str) -> None:
    text = f"PATTERN SEQ(A a, B b) WHERE [x] AND b.{after} WITHIN 9"
    events = {"ts": [1, 2, 3, 4, 5], "type": [*"ACBAB"], "x": [1, 1, 1, 1, 1]}
    session = cep.rules({"next": text, "other": text.replace("9", "8")}).session()
    session.feed({name: values[:2] for name, values in events.items()})
    session = session.rules.restore(session.snapshot())
    found = session.feed({name: values[2:] for name, values in events.items()})
    assert found["next"].bindings() == [{"a": 3, "b": 4}]


def test_a_rule_that_returns_numbers_in_partitions_begins_to_count() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE [x] WITHIN 9 RETURN {}"
    counting = text.format("b.PARTITION_INDEX - a.PARTITION_INDEX AS n")
    session = cep.rules({"a": text.format("a.x"), "b": text.format("b.x")}).session()
    session.feed({"ts": [1, 2], "type": ["A", "C"], "x": [1, 1]})
    session.apply({"a": counting})
    found = session.feed({"ts": [3, 4, 5, 6], "type": [*"BACB"], "x": [1] * 4})
    assert found.counts == {"a": 1, "b": 3}
    assert found["a"].to_arrow()["n"].to_pylist() == [2]
