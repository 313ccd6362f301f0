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
