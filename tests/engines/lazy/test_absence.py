"""A tree begins no instance while a component is absent, and finds every match all the same."""

import pytest

import cepheid as cep

TEXT = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 60"


def stream(types, count, since=0):
    numbers = range(since, since + count)
    return {
        "ts": list(numbers),
        "type": [types[n % len(types)] for n in numbers],
        "x": [n * 37 % 101 for n in numbers],
    }


@pytest.mark.parametrize("first", "ABC")
def test_no_instance_begins_while_a_type_is_absent(first):
    rates = {name: 1.0 if name == first else 20.0 for name in "ABC"}
    session = cep.query(TEXT).session(evaluation="lazy_tree", statistics=rates)
    session.feed(stream("AABCB", 600))
    begun = session.metrics.runs_created
    assert begun > 100
    absent = {"A": "BCBCC", "B": "ACACC", "C": "ABABB"}
    for name, others in absent.items():
        session.feed(stream(others, 600, 600 + 1200 * "ABC".index(name)))
        # What has begun in the window before the last event of the type is still completed.
        settled = session.metrics.runs_created
        session.feed(stream(others, 600, 1200 + 1200 * "ABC".index(name)))
        assert session.metrics.runs_created == settled


@pytest.mark.parametrize("pattern", ["SEQ(A a, B b, C c)", "AND(A a, B b, C c)"])
def test_a_type_that_comes_back_wakes_the_events_of_its_window(pattern):
    types = "AABB" * 40 + "C" + "AABB" * 40 + "CABC"
    table = stream(types, len(types))
    query = cep.query(f"PATTERN {pattern} WHERE a.x < b.x AND b.x < c.x WITHIN 30")
    expected = sorted(map(str, query.match(table, evaluation="reference").bindings()))
    assert expected
    for first in "ABC":
        rates = {name: 1.0 if name == first else 20.0 for name in "ABC"}
        found = query.match(table, evaluation="lazy_tree", statistics=rates)
        assert sorted(map(str, found.bindings())) == expected


def test_a_snapshot_keeps_the_events_that_rest():
    types = "AAB" * 5 + "C"
    query = cep.query("PATTERN SEQ(A a, B b, C c) WITHIN 30")
    table = stream(types, len(types))
    session = query.session(evaluation="lazy_tree", statistics={"A": 1, "B": 9, "C": 20})
    cut = len(types) - 1
    assert not session.feed({name: column[:cut] for name, column in table.items()})
    session = query.restore(session.snapshot(), evaluation="lazy_tree")
    found = session.feed({name: column[cut:] for name, column in table.items()})
    assert len(found) == len(query.match(table, evaluation="reference"))
