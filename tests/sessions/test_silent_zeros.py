"""A query that finds nothing for a visible reason says so."""

import warnings

import pytest

import cepheid as cep

EVENTS = {"ts": [1, 2, 3], "type": ["A", "B", "B"], "x": [1, 2, 3], "name": ["p", "q", "r"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PATTERN SEQ(A a, Zzz b)", "no event has type 'Zzz'; there are events of type A and B$"),
        ("PATTERN SEQ(A a, ANY(Y, Z) b)", "no event has type 'Y' or 'Z'"),
        ("PATTERN SEQ(A a, ANY b)", r"ANY needs the types in brackets: ANY\(A, B\) b"),
        ("PATTERN SEQ(A a, B b) WHERE 1 = 2", "the condition 1 = 2 is never true"),
        ("PATTERN SEQ(A a, B b) WHERE a.x < 9 AND FALSE", "the condition FALSE is never true"),
        ("PATTERN SEQ(A a, B b) WHERE a.x != a.x", "a.x != a.x is never true"),
        ("PATTERN SEQ(A a, B b) WHERE \"name\" = 'p'", "'name' = 'p' compares two constants"),
        ("PATTERN SEQ(A a, B b) WHERE \"name\" IN ('p', 'q')", "Write an attribute .*: a.name"),
        ("PATTERN SEQ(A a, B b) WHERE a.x > 9 OR \"name\" != 'p'", "compares two constants"),
    ],
)
def test_a_likely_mistake_is_warned_of(text, message):
    with pytest.warns(cep.CepheidWarning, match=message):
        cep.query(text).match(EVENTS)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, ~(Z z), B b)",
        "PATTERN SEQ(A a, Z* z[], B b)",
        "PATTERN SEQ(A a, OR(B b, Z z))",
        "PATTERN SEQ(A a, ANY(B, Z) b)",
        "PATTERN SEQ(A a, B b) WHERE 1 = 1 AND a.x = a.x",
        "PATTERN SEQ(A a, B b) WHERE lower('A') = 'a'",
    ],
)
def test_what_can_be_meant_is_not(text):
    assert len(cep.query(text).match(EVENTS)) == 2


@pytest.mark.filterwarnings("error")
def test_no_events_are_no_mistake():
    assert len(cep.query("EVENT A").match({"ts": [], "type": []})) == 0


def test_types_that_a_script_makes_are_known():
    script = cep.script("EVENT A RETURN X(x = A.x); PATTERN SEQ(X x, Y y)")
    with pytest.warns(cep.CepheidWarning, match="no event has type 'Y'") as warned:
        script.match(EVENTS)
    assert len(warned) == 1


@pytest.mark.parametrize("keywords", [{}, {"corrections": 5}])
def test_a_session_warns_of_types_once_when_its_stream_ends(keywords):
    session = cep.query("PATTERN SEQ(A a, Zzz b)").session(**keywords)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.feed(EVENTS)
        session.advance(5)
    with pytest.warns(cep.CepheidWarning, match="no event has type 'Zzz'; .* A and B$") as warned:
        session.advance()
    session.advance()
    assert len(warned) == 1


def test_a_script_session_warns_of_types():
    session = cep.script("EVENT A RETURN X(x = A.x); PATTERN SEQ(X x, Y y)").session()
    session.feed(EVENTS)
    with pytest.warns(cep.CepheidWarning, match="no event has type 'Y'") as warned:
        session.advance()
    assert len(warned) == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("keywords", [{}, {"corrections": 5}])
def test_types_of_all_batches_count_and_a_restored_session_does_not_know_them(keywords):
    query = cep.query("PATTERN SEQ(A a, B b)")
    session = query.session(**keywords)
    session.feed({"ts": [1], "type": ["A"]})
    restored = query.restore(session.snapshot(), **keywords)
    session.feed({"ts": [2], "type": ["B"]})
    session.advance()
    restored.advance()


@pytest.mark.parametrize("keywords", [{}, {"corrections": 5}])
def test_a_session_warns_of_conditions_when_it_is_made(keywords):
    with pytest.warns(cep.CepheidWarning, match="the condition 1 = 2 is never true"):
        cep.query("PATTERN SEQ(A a, B b) WHERE 1 = 2").session(**keywords)
