"""Composite events: what they have, where they stand, and when later queries see them."""

from datetime import date, datetime

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.samples import retail_theft, scenario

PAIR = "PATTERN SEQ(A a, B b) WITHIN 10 RETURN Pair(x = a.x, y = b.x);"


def events(types: str, ts: list, **columns) -> dict:
    return {"ts": ts, "type": list(types), "x": list(range(len(types))), **columns}


def bindings(text: str, stream: dict, name: str = "query_2", **keywords) -> list:
    return cep.script(text).match(stream, **keywords)[name].bindings()


def test_a_composite_event_stands_behind_the_event_that_completes_it():
    stream = events("ABBC", [1, 2, 2, 2])
    assert bindings(PAIR + "PATTERN SEQ(Pair p, B b)", stream) == [{"p": "Pair[0]", "b": 2}]
    pairs = {(b["b"], b["p"]) for b in bindings(PAIR + "PATTERN SEQ(B b, Pair p)", stream)}
    assert pairs == {(1, "Pair[0]"), (1, "Pair[1]"), (2, "Pair[1]")}
    strict = "PATTERN SEQ(B b, Pair p, C c) WHERE strict_contiguity"
    assert bindings(PAIR + strict, stream) == [{"b": 2, "p": "Pair[1]", "c": 3}]


def test_one_that_waited_stands_before_all_events_of_its_time():
    lonely = "PATTERN SEQ(A a, ~(B b)) WITHIN 5 RETURN Lonely(x = a.x);"
    stream = events("ACCC", [1, 5, 6, 7])
    assert bindings(lonely + "PATTERN SEQ(C c, Lonely l)", stream) == [{"c": 1, "l": "Lonely[0]"}]
    assert [b["c"] for b in bindings(lonely + "PATTERN SEQ(Lonely l, C c)", stream)] == [2, 3]


def test_only_a_query_that_names_a_type_reads_its_events():
    stream = events("ABC", [1, 2, 3])
    assert bindings(PAIR + "PATTERN SEQ(B b, C c) WHERE strict_contiguity", stream) == [
        {"b": 1, "c": 2}
    ]
    counted = "PATTERN SEQ(A a, OR(C c, Pair p)) WITHIN 3 EVENTS"
    assert bindings(PAIR + counted, stream) == [{"a": 0, "p": "Pair[0]"}]


def test_a_composite_event_has_its_items_start_end_time_and_type():
    text = PAIR + "PATTERN Pair p RETURN p.x, p.y, p.start, p.end, p.ts, p.type"
    row = cep.script(text).match(events("AB", [1, 4]))["query_2"].to_arrow().to_pylist()[0]
    returned = {name: row[name] for name in ("p.x", "p.y", "p.start", "p.end", "p.ts", "p.type")}
    assert list(returned.values()) == [0, 1, 1, 4, 4, "Pair"]


@pytest.mark.parametrize(
    ("times", "arrow_type"),
    [
        ([1, 4], pa.int16()),
        ([1.0, 4.0], pa.float32()),
        ([datetime(2024, 1, 1), datetime(2024, 1, 4)], pa.timestamp("s")),
        ([datetime(2024, 1, 1), datetime(2024, 1, 4)], pa.timestamp("ns", "UTC")),
        ([date(2024, 1, 1), date(2024, 1, 4)], pa.date32()),
    ],
    ids=str,
)
def test_times_of_every_kind_go_through(times, arrow_type):
    table = pa.table(
        {"ts": pa.array(times, arrow_type), "type": pa.array(["A", "B"]).dictionary_encode()}
    )
    text = "PATTERN SEQ(A a, B b) RETURN P(a.type); PATTERN SEQ(A a, P p) WHERE p.ts > a.ts"
    script = cep.script(text)
    assert len(script.match(table)["query_2"]) == 1
    session = script.session()
    session.feed(table.slice(0, 1))
    assert len(session.feed(table.slice(1))["query_2"]) == 1


def test_tables_of_types_and_composite_events_go_together():
    tables = {"A": {"ts": [1], "x": [5]}, "B": {"ts": [2], "z": ["b"]}}
    text = "PATTERN SEQ(A a, B b) RETURN P(x = a.x); PATTERN ANY(A, P) e WHERE e.x = 5"
    found = cep.script(text).match(tables, type=None)["query_2"]
    assert found.bindings() == [{"e": 0}, {"e": "P[0]"}]


def test_whole_numbers_and_others_of_one_name_are_numbers():
    text = "PATTERN A a RETURN P(x = a.x / 2); PATTERN SEQ(P p, B b) WHERE p.x < b.x"
    assert bindings(text, events("AB", [1, 2])) == [{"p": "P[0]", "b": 1}]


def test_two_queries_may_make_one_type():
    text = """
        PATTERN A a RETURN P(x = a.x); PATTERN B b RETURN P(x = b.x + 10);
        PATTERN SEQ(P p, P q) RETURN p.x, q.x
    """
    found = cep.script(text).match(events("AB", [1, 2]))
    assert list(found) == ["P", "P_2", "query_3"]
    assert found["query_3"].bindings() == [{"p": "P[0]", "q": "P_2[0]"}]


def test_later_events_wait_for_a_match_that_ended_before_them():
    """A window of events has no end in time: the match ends before it is known."""
    text = """
        PATTERN SEQ(A a, ~(B b)) WITHIN 3 EVENTS RETURN Lonely(x = a.x);
        PATTERN SEQ(Lonely l, C c) WITHIN 100
    """
    script = cep.script(text)
    session = script.session()
    assert len(session.feed(events("AC", [1, 2]))["query_2"]) == 0
    session = script.restore(session.snapshot())
    found = session.feed({"ts": [3, 4], "type": ["C", "C"], "x": [0, 0]})
    assert len(found["Lonely"]) == 1
    assert [b["c"] for b in found["query_2"].bindings()] == [1, 2, 3]


def test_time_that_passes_completes_what_waits_in_all_queries():
    text = """
        PATTERN SEQ(A a, ~(B b)) WITHIN 5 RETURN Lonely(x = a.x);
        PATTERN SEQ(Lonely l, ~(C c)) WITHIN 10 RETURN Alone(x = l.x)
    """
    session = cep.script(text).session()
    session.feed(events("A", [1]))
    assert [len(found) for found in session.advance(6).values()] == [1, 0]
    assert [len(found) for found in session.advance(16).values()] == [0, 1]
    assert [len(found) for found in session.advance().values()] == [0, 0]
    with pytest.raises(cep.EventError, match="the stream has ended"):
        session.feed(events("A", [20]))


def test_events_of_a_type_that_is_made_are_refused():
    script = cep.script(PAIR + "PATTERN SEQ(Pair p, B b)")
    taken = {"ts": [3], "type": ["Pair"], "x": [1]}
    with pytest.raises(cep.EventError, match="have a type 'Pair', and query 1"):
        script.match(taken)
    session = script.session()
    session.feed(events("A", [1]))
    with pytest.raises(cep.EventError, match="have a type 'Pair'"):
        session.feed(taken)


def test_all_result_paths_give_what_return_says():
    """Expressions, aggregates, lists and events, from every way to get a result."""
    text = """
        PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match WITHIN 10
        RETURN Rise(a.x, top = max(b[].x), mean = avg(b[].x), first(b[].x), b[].x AS all,
                    n = b.LEN, up = b[b.LEN].x - a.x, a, b[] AS list, upper(a.s) AS s)
    """
    query = cep.query(text)
    stream = events("ABB", [1, 2, 3], s=["p", "q", None])
    expected = query.match(stream, evaluation="reference").to_arrow().to_pylist()
    assert [row["all"] for row in expected] == [[1], [1, 2]]
    assert [row["mean"] for row in expected] == [1.0, 1.5]
    found = query.match(stream)
    assert found.to_arrow().to_pylist() == expected
    assert pa.Table.from_batches(found.to_batches(1)).to_pylist() == expected
    assert found.to_polars().to_dicts() == expected
    assert [match.values for match in found] == expected
    assert found.to_pandas()["top"].tolist() == [1, 2]
    assert query.match(stream, output="compressed").expand().to_arrow().to_pylist() == expected
    session = query.session()
    table = pa.table(stream)
    pieces = [session.feed(table.slice(ix, 1)).to_arrow().to_pylist() for ix in range(3)]
    rows = [row for piece in pieces for row in piece]
    assert rows == expected
    script = cep.script(text + "; PATTERN Rise r RETURN r.all, r.list, r.top, r.a")
    passed = script.match(stream)["query_2"].to_arrow().to_pylist()
    assert [row["r.all"] for row in passed] == [row["all"] for row in expected]
    assert [row["r.list"] for row in passed] == [row["list"] for row in expected]
    assert [row["r.a"] for row in passed] == [row["a"] for row in expected]


def test_the_sample_script_finds_series_of_thefts():
    found = cep.script(retail_theft.SCRIPT).match(scenario("retail_theft").events())
    assert len(found["Theft"]) == 9
    doors = {match["door"] for match in found["Series"]}
    assert doors <= {"north door", "south door"}
    assert doors
    assert all(match["thefts"] == len(match["products"]) + 1 for match in found["Series"])
