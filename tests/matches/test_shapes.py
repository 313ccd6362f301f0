"""Shapes of results: dicts, CSV, long form, events of a match, groups."""

import pytest

import cepheid as cep
from cepheid.matches.shapes.groups import count_groups

EVENTS = {
    "ts": [1, 2, 3, 4],
    "type": ["A", "B", "B", "C"],
    "x": [5, 6, 7, 8],
    "index": ["p", "q", "r", "s"],
}
KLEENE = "PATTERN SEQ(A a, B+ b[], OR(C c, D d))"


@pytest.fixture
def matches():
    return cep.query(KLEENE + " RETURN sum(b[].x) AS total").match(EVENTS)


def test_matches_as_dicts(matches):
    found = sorted(matches.to_dicts(), key=lambda row: row["total"])
    assert found == [{"start": 1, "end": 4, "total": total} for total in (6, 7, 13)]


def test_matches_as_csv(matches, tmp_path):
    header, *lines = matches.to_csv().splitlines()
    assert header == '"start","end","total"'
    assert sorted(lines) == ["1,4,13", "1,4,6", "1,4,7"]
    assert matches.to_csv(tmp_path / "found.csv") is None
    assert (tmp_path / "found.csv").read_text() == matches.to_csv()
    whole = cep.query("EVENT A").match(EVENTS).to_csv()
    assert '{""ts"": 1, ""type"": ""A""' in whole


def test_the_long_form_has_a_row_for_each_event(matches):
    table = matches.to_rows()
    assert table.column_names == ["match", "variable", "index", "ts", "type", "x", "event_index"]
    rows = [tuple(row.values())[:4] for row in table.to_pylist()]
    expected = []
    for number, bound in enumerate(matches.bindings()):
        expected.append((number, "a", 1, 1))
        expected += [(number, "b", ix + 1, row + 1) for ix, row in enumerate(bound["b"])]
        expected.append((number, "c", 1, 4))
    assert rows == expected


def test_the_long_form_of_no_matches_has_its_columns():
    table = cep.query("PATTERN SEQ(C c, A a)").match(EVENTS).to_rows()
    assert table.num_rows == 0
    assert table.column_names[:3] == ["match", "variable", "index"]


def test_the_long_form_of_a_stream_is_that_of_all_matches(matches, tune):
    tune(batch_matches=2)
    stream = cep.query(KLEENE).match_stream(EVENTS)
    numbers = [n for table in stream.row_tables() for n in table["match"].to_pylist()]
    assert numbers == matches.to_rows()["match"].to_pylist()
    first = cep.query(KLEENE).match_stream(EVENTS).row_tables(limit=2)
    assert {n for table in first for n in table["match"].to_pylist()} == {0, 1}


def test_events_of_a_match_are_found_by_their_variable(matches):
    match = matches[0]
    assert match["a"] == match.a == {"ts": 1, "type": "A", "x": 5, "index": "p"}
    assert [event["type"] for event in match.b] == ["B"] * len(match.bindings["b"])
    assert match["total"] == match.total == sum(event["x"] for event in match.b)
    assert match.d is None
    with pytest.raises(AttributeError, match="a match has no 'e'; it has total, a, b, c and d"):
        _ = match.e
    with pytest.raises(KeyError, match="a match has no 'e'"):
        match["e"]


def test_matches_are_shown_with_what_they_return(matches):
    line = repr(matches[:1]).splitlines()[1]
    assert line == f"{matches.bindings()[0]} returns {{'total': {matches[0].total}}}"
    assert "returns" not in repr(cep.query(KLEENE).match(EVENTS))


def test_matches_are_counted_by_group():
    query = cep.query("PATTERN SEQ(A a, ANY(B, C) b) RETURN b.type AS kind, a")
    assert count_groups(query.match(EVENTS), ["kind"]).to_pylist() == [
        {"kind": "B", "count": 2},
        {"kind": "C", "count": 1},
    ]
    assert count_groups(query.match_stream(EVENTS), ["a.x", "kind"]).num_rows == 2
    with pytest.raises(cep.OptionError, match=r"no column 'kin'; it has .*Did you mean 'kind'"):
        count_groups(query.match(EVENTS), ["kin"])
    with pytest.raises(cep.OptionError, match="cannot be grouped by 'a', which is struct"):
        count_groups(query.match(EVENTS), ["a"])
