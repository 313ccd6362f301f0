"""Instance stacks as a drawing: what waits on which stack, and what the last event completes."""

import xml.etree.ElementTree as ET
from datetime import datetime

import pytest

import cepheid as cep

SVG = "{http://www.w3.org/2000/svg}"
STREAM = {"ts": [1, 2, 3, 4, 5], "type": list("ABABD"), "id": [7, 7, 8, 7, 7]}


def drawn(text: str, events: object, **keywords: str) -> ET.Element:
    return ET.fromstring(cep.query(text).stacks(events, **keywords))


def words(drawing: ET.Element) -> list[str]:
    return [element.text or "" for element in drawing.iter(f"{SVG}text")]


def instances(drawing: ET.Element) -> list[str]:
    return [word for word in words(drawing) if "@" in word and " " not in word]


def of_class(drawing: ET.Element, name: str) -> int:
    return sum(name in element.get("class", "").split() for element in drawing.iter())


def test_a_picture_has_the_stacks_their_rips_and_the_matches() -> None:
    drawing = drawn("PATTERN SEQ(A a, B b, D d)", STREAM)
    assert instances(drawing) == ["A@1", "B@2", "A@3", "B@4", "D@5"]
    assert "D@5 completes 3 matches: A@3 B@4 D@5, A@1 B@4 D@5, A@1 B@2 D@5" in words(drawing)
    assert of_class(drawing, "wall") == 3
    assert of_class(drawing, "matched") == 5
    # Each B has one, and the D.
    assert of_class(drawing, "matched-rip") == 3


def test_what_has_left_the_window_is_on_no_stack() -> None:
    assert instances(drawn("PATTERN SEQ(A a, B b, D d) WITHIN 3", STREAM)) == ["A@3", "B@4", "D@5"]
    assert instances(drawn("PATTERN SEQ(A a, B b, D d) WITHIN 3 EVENTS", STREAM)) == [
        "A@3",
        "B@4",
        "D@5",
    ]


@pytest.mark.parametrize("window", ["", " WITHIN 10", " WITHIN 10 EVENTS PER PARTITION"])
def test_partitions_have_stacks_of_their_own(window: str) -> None:
    drawing = drawn(f"PATTERN SEQ(A a, B b, D d) WHERE [id]{window}", STREAM)
    shown = words(drawing)
    assert instances(drawing) == ["A@1", "B@2", "B@4", "D@5", "A@3"]
    assert shown.index("id = 7") < shown.index("A@1") < shown.index("id = 8") < shown.index("A@3")
    assert of_class(drawing, "wall") == 6
    assert "D@5 completes 2 matches: A@1 B@4 D@5, A@1 B@2 D@5" in shown


def test_keys_may_have_a_name_for_each_component() -> None:
    events = {"ts": [1, 2], "type": ["A", "B"], "x": [5, 1], "y": [0, 5]}
    assert "x = 5" in words(
        drawn("PATTERN SEQ(A a, B b, A c) WHERE a.x = b.y AND b.y = c.x", events)
    )


def test_alternatives_stand_below_each_other() -> None:
    drawing = drawn("PATTERN OR(SEQ(A a, B b), SEQ(A c, D d), D e)", STREAM)
    shown = words(drawing)
    assert "alternative 2: SEQ(A c, D d)" in shown
    assert "D@5 completes 2 matches: A@1 D@5, A@3 D@5" in shown
    assert "D@5 completes a match: D@5" in shown


def test_matches_are_those_of_the_query() -> None:
    stream = {"ts": [1, 2, 3, 4], "type": list("ACAB")}
    drawing = drawn("PATTERN SEQ(A a, ~(C c), B b) WITHIN 10", stream)
    assert "B@4 completes a match: A@3 B@4" in words(drawing)
    assert of_class(drawing, "matched") == 2
    # Nothing follows, so that nothing violates a negation at the end.
    drawing = drawn("PATTERN SEQ(A a, B b, ~(C c)) WITHIN 10", stream)
    assert "B@4 completes 2 matches: A@1 B@4, A@3 B@4" in words(drawing)


def test_many_matches_are_counted_and_some_are_written() -> None:
    stream = {"ts": list(range(40)), "type": ["A", "B"] * 19 + ["A", "D"]}
    shown = " ".join(words(drawn("PATTERN SEQ(A a, B b, D d)", stream)))
    assert "D@39 completes 190 matches: " in shown
    assert ", …" in shown


@pytest.mark.parametrize("stream", [{"ts": [1], "type": ["B"]}, {"ts": [], "type": []}])
@pytest.mark.filterwarnings("ignore::cepheid.errors.CepheidWarning")
def test_empty_stacks_are_drawn_too(stream: dict[str, list[object]]) -> None:
    assert of_class(drawn("PATTERN SEQ(A a, B b)", stream), "wall") == 2


def test_times_of_one_day_are_times_of_day() -> None:
    stream = {"ts": [datetime(2024, 3, 1, 9, 0), datetime(2024, 3, 1, 9, 5)], "type": ["A", "B"]}
    assert instances(drawn("PATTERN SEQ(A a, B b)", stream)) == ["A@09:00", "B@09:05"]
    stream["ts"][1] = datetime(2024, 3, 1, 9, 5, 30)
    assert instances(drawn("PATTERN SEQ(A a, B b)", stream)) == ["A@09:00:00", "B@09:05:30"]
    stream["ts"][1] = datetime(2024, 3, 2)
    assert "A@2024-03-01 09:00:00" in words(drawn("PATTERN SEQ(A a, B b)", stream))


def test_what_cannot_be_drawn_says_why() -> None:
    with pytest.raises(cep.EvaluationError, match=r"a\[\] takes several events"):
        drawn("PATTERN SEQ(A+ a[], B b)", STREAM)
    with pytest.raises(cep.OptionError, match="at most 60 events, and there are 61"):
        drawn("PATTERN SEQ(A a, A b)", {"ts": list(range(61)), "type": ["A"] * 61})
