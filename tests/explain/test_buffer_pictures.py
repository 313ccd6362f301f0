"""The versioned buffer as a drawing: what runs have selected in each state, and their versions."""

import xml.etree.ElementTree as ET

import pytest

import cepheid as cep

SVG = "{http://www.w3.org/2000/svg}"
TREND = """
    PATTERN SEQ(Stock+ a[], Stock b)
    WHERE skip_till_next_match(a[], b) {
        a[1].volume > 1000 AND a[i].price > avg(a[..i-1].price) AND b.volume < 80% * a[a.LEN].volume
    } WITHIN 500
"""
# The events of the paper's example.
STOCKS = {
    "ts": list(range(1, 9)),
    "type": ["Stock"] * 8,
    "price": [100, 120, 120, 121, 120, 125, 120, 120],
    "volume": [1010, 990, 1005, 999, 999, 750, 950, 700],
}


def words(text: str, events: object) -> list[str]:
    drawing = ET.fromstring(cep.query(text).buffer(events))
    return [element.text or "" for element in drawing.iter(f"{SVG}text")]


def test_events_that_runs_share_are_one_entry_with_several_pointers() -> None:
    shown = words(TREND, STOCKS)
    boxes = [word for word in shown if word.startswith("Stock@")]
    # e3 begins a run, and another run takes it; e6 has been taken by both.
    assert boxes == [f"Stock@{n}" for n in (1, 2, 3, 3, 4, 5, 6, 7, 8)]
    versions = [word for word in shown if word.replace(".", "").isdigit()]
    assert sorted(versions) == ["1.0"] * 5 + ["1.1"] * 2 + ["1.2"] + ["2.0"] * 2 + ["2.1"]
    assert [word for word in shown if word in ("a[1]", "a[i]", "b")] == ["a[1]", "a[i]"]
    assert "run 1.2: in state a[i], has selected Stock@8 last" in shown
    assert "3 matches in all" in shown


def test_alternatives_have_buffers_of_their_own() -> None:
    events = {"ts": [1, 2, 3], "type": list("ABD")}
    shown = words("PATTERN SEQ(A a, OR(B b, C c), D d)", events)
    assert shown.count("A@1") == 2
    assert shown.count("B@2") == 1
    assert "1 match in all" in shown


def test_a_buffer_without_events_is_drawn_too() -> None:
    assert "0 matches in all" in words("PATTERN SEQ(A a, B+ b[])", {"ts": [1], "type": ["X"]})


def test_what_cannot_be_drawn_is_refused() -> None:
    query = cep.query("PATTERN AND(A a, B b) WITHIN 9")
    with pytest.raises(cep.EvaluationError, match="nfa_b cannot run this query"):
        query.buffer({"ts": [1, 2], "type": ["A", "B"]})
    many = {"ts": list(range(61)), "type": ["A"] * 61}
    with pytest.raises(cep.OptionError, match="a picture of a buffer shows at most 60 events"):
        cep.query("PATTERN SEQ(A a, B b)").buffer(many)
