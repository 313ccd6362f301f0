"""What a notebook shows of queries and results."""

from datetime import datetime

import cepheid as cep


def test_a_query_shows_its_automaton_where_it_has_one():
    assert "<svg" in cep.query("PATTERN SEQ(A a, B b) WHERE a.x < b.x")._repr_html_()
    assert "<svg" in cep.query("PATTERN AND(A a, B b) WHERE a.x < b.x")._repr_html_()
    unsure = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 4 WITH CONFIDENCE > 10%"
    shown = cep.query(unsure)._repr_html_()
    assert "<svg" not in shown
    assert "a.x &lt; b.x" in shown


def test_a_result_shows_its_first_matches():
    events = {
        "ts": [datetime(2024, 1, 1, hour) for hour in range(20)],
        "type": ["A"] * 20,
        "x": ["<b>"] * 20,
    }
    shown = cep.query("PATTERN A a").match(events)._repr_html_()
    assert "20 matches" in shown
    assert "… and 10 more" in shown
    assert "<b>" not in shown


def test_no_match_is_said():
    assert cep.query("PATTERN A a").match({"ts": [1], "type": ["B"]})._repr_html_() == (
        "<p>0 matches</p>"
    )


EVENTS = {"ts": [1, 2, 3], "type": ["A", "B", "B"], "x": ["<b>", "p", "q"]}


def test_a_match_shows_its_columns():
    match = cep.query("PATTERN SEQ(A a, B b) RETURN a.x AS x").match(EVENTS)[0]
    shown = match._repr_html_()
    assert "start" in shown
    assert "&lt;b&gt;" in shown


def test_a_script_shows_the_matches_of_each_query():
    script = cep.script("EVENT A RETURN X(x = A.x); PATTERN SEQ(X x, B b)")
    shown = script.match(EVENTS)._repr_html_()
    assert shown.index(">X<") < shown.index("1 match") < shown.index(">query_2<")
    assert "2 matches" in shown


def test_compressed_matches_show_their_number_and_the_first():
    query = cep.query("PATTERN SEQ(A a, B+ b[])")
    shown = query.match(EVENTS, output="compressed")._repr_html_()
    assert "3 matches, compressed to" in shown
    assert "The first one:" in shown
    none = cep.query("PATTERN SEQ(B+ b[], A a)").match(EVENTS, output="compressed")._repr_html_()
    assert "0 matches" in none


def test_a_diagnosis_shows_its_funnel():
    shown = cep.query("PATTERN SEQ(A a, B b) WHERE [x]").diagnose(EVENTS)._repr_html_()
    assert '<table class="funnel">' in shown
    assert "No match among 3 events." in shown
