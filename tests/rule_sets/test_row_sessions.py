"""MATCH_RECOGNIZE among the rules of a session."""

import pytest

import cepheid as cep

RISE = """MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES UP.x - S.x AS by
    PATTERN (S UP) WITHIN INTERVAL '10' SECOND DEFINE UP AS UP.x > S.x)"""
FALL = RISE.replace("UP.x > S.x", "UP.x < S.x")
EVENTS = [(1, "A", 7, 5), (2, "B", 7, 8), (2, "A", 8, 1), (3, "A", 7, 6), (5, "B", 8, 4)]
KEYWORDS = {"time_unit": "s"}


def batch(*events):
    """Events as (time, type, id, x)."""
    names = ("ts", "type", "id", "x")
    return {name: [event[ix] for event in events] for ix, name in enumerate(names)}


def keyed(found):
    return sorted((each.rule, each.match_id, each.end, str(each.values)) for each in found)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("stores", [False, True])
def test_rows_are_those_of_a_whole_run(size, stores):
    rules = cep.rules({"rise": RISE, "fall": FALL, "pair": "PATTERN SEQ(A a, B b) WHERE [id]"})
    session, found = rules.session(**KEYWORDS), []
    for low in range(0, len(EVENTS), size):
        found += session.feed(batch(*EVENTS[low : low + size]))
        if stores:
            session = rules.restore(session.snapshot(), **KEYWORDS)
    found += session.advance(8)
    found += session.advance()
    assert keyed(found) == keyed(rules.match(batch(*EVENTS), **KEYWORDS))
    assert {each.rule for each in found} == {"rise", "fall", "pair"}


def test_metrics_and_changes_of_a_clause():
    session = cep.rules({"rise": RISE}).session(retain=100, **KEYWORDS)
    found = session.feed(batch(*EVENTS[:3]))
    assert [(each.key, each.values, each.end) for each in found] == [
        ({"id": 7}, {"id": 7, "by": 3}, 2)
    ]
    metrics = session.metrics["rise"]
    assert (metrics.events, metrics.matches, metrics.last_match) == (3, 1, 2)
    session.apply({"rise": {"severity": "high"}})
    (match,) = session.feed(batch(EVENTS[4]))
    assert (match.severity, match.values["by"]) == ("high", 3)
    assert session.apply({"fall": FALL}).counts == {"fall": 0}
    found = session.apply({"again": RISE}, backfill=True)
    assert found.counts == {"again": 2}
    session.apply({"rise": FALL, "again": None})
    assert session.feed(batch((6, "A", 8, 0))).counts == {"fall": 0, "rise": 0}
    assert session.feed(batch((7, "A", 8, -1))).counts == {"fall": 1, "rise": 1}


def test_a_clause_and_a_query_take_the_place_of_each_other():
    session = cep.rules({"r": RISE}).session(**KEYWORDS)
    session.feed(batch(*EVENTS[:1]))
    session.apply({"r": {"query": "PATTERN B b"}})
    assert session.feed(batch(EVENTS[1])).counts == {"r": 1}
    session.apply({"r": {"query": RISE}})
    assert session.feed(batch((9, "A", 7, 1), (10, "A", 7, 2))).counts == {"r": 1}
