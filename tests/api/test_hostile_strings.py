"""Lone surrogates, NULs, control characters and very long strings."""

import resource

import pytest

import cepheid as cep
from cepheid.language.builder import event
from cepheid.language.limits import NO_LIMITS, Limits
from cepheid.language.parser import parse

LONE = "\ud800"
EVENTS = {"ts": [1, 2], "type": ["A", "B"], "x": ["a\0b", "\x1b"]}


@pytest.mark.parametrize(
    "text",
    [
        f"PATTERN A a WHERE a.x = '{LONE}'",
        f"PATTERN A a WHERE a.x LIKE '%{LONE}'",
        f"PATTERN A a WHERE [x = '{LONE}']",
        f"PATTERN `A{LONE}` a",
        f"PATTERN A a RETURN a.x AS `{LONE}`",
        f"PATTERN A a -- {LONE}",
    ],
)
@pytest.mark.parametrize("make", [cep.query, cep.script])
def test_a_lone_surrogate_in_a_query_is_shown(make, text):
    with pytest.raises(cep.QuerySyntaxError, match="a lone surrogate is not a character") as caught:
        make(text)
    assert caught.value.faults[0].span.start == text.index(LONE)
    str(caught.value).encode()


def test_a_lone_surrogate_in_a_parameter_is_named():
    with pytest.raises(cep.OptionError, match="the parameter 'P' has a lone surrogate"):
        cep.query("PATTERN A a WHERE a.x = P", parameters={"P": LONE})


def test_a_lone_surrogate_in_a_built_pattern_is_an_error():
    a = event("A", variable="a")
    with pytest.raises(cep.QuerySyntaxError, match="a lone surrogate"):
        cep.query(a.where(a.x == LONE))


@pytest.mark.parametrize(
    "events",
    [
        {"ts": [1], "type": ["A"], "x": [LONE]},
        {"ts": [1], "type": [LONE]},
        {"ts": [1], "type": ["A"], LONE: [1]},
        [{"ts": 1, "type": "A", "x": LONE}],
        [{"ts": 1, "type": "A", LONE: "x"}],
    ],
)
def test_a_lone_surrogate_in_events_is_an_error(events):
    with pytest.raises(cep.EventError, match="surrogates not allowed") as caught:
        cep.query("EVENT A").match(events)
    str(caught.value).encode()


@pytest.mark.parametrize("evaluation", ["auto", "nfa_b", "reference"])
def test_nul_is_a_character_like_others(evaluation):
    text = "PATTERN SEQ(A a, B b) WHERE a.x = 'a\0b' AND b.x = P"
    query = cep.query(text, parameters={"P": "\x1b"})
    assert query.match(EVENTS, evaluation=evaluation).bindings() == [{"a": 0, "b": 1}]
    assert cep.query("PATTERN A a WHERE a.x = 'a'").match(EVENTS).bindings() == []


def test_reprs_messages_and_pages_have_no_control_characters():
    query = cep.query("PATTERN SEQ(A a, B b) WHERE a.x != '\x1b[31m\u202e'")
    found = query.match(EVENTS)
    a = event("A\x1b", variable="a")
    for shown in (
        repr(query),
        query.explain(),
        str(query.diagnose(EVENTS)),
        query._repr_html_(),
        found._repr_html_(),
        repr(a),
        repr(a["\x1b"] == "\x9b"),
        repr(cep.script("PATTERN A a RETURN `X\x1b`(x = a.x); PATTERN B b").match(EVENTS)),
    ):
        assert all(char.isprintable() or char in "\n\t" for char in shown), shown


def test_a_message_about_a_long_string_is_short():
    long = "x" * 10_000_000
    with pytest.raises(cep.OptionError) as caught:
        cep.query("EVENT A").match(EVENTS, evaluation=long)
    assert len(str(caught.value)) < 10_000


def test_long_strings_are_values_like_others():
    long = "x" * 100_000_000
    events = {"ts": [1, 2], "type": ["A", "A"], "x": [long, "x"]}
    query = cep.query("PATTERN A a WHERE a.x = P", parameters={"P": long})
    assert query.match(events).bindings() == [{"a": 0}]


def test_a_long_literal_takes_little_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = f"PATTERN A a WHERE a.x = '{'x' * 60_000}' OR a.x = '{'y' * 5_000_000}'"
    parse(text, limits=Limits(**NO_LIMITS))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000
