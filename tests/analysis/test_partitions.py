"""Attributes on which all events of every match agree, and by which events can be split."""

from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cepheid.analysis.analyse import analyse
from cepheid.analysis.model import Alternative
from cepheid.language.parser import parse
from cepheid.reference.definition import evaluate
from cepheid.reference.interpreter import Event
from cepheid.reference.match import Match
from cepheid.schema import Kind, Schema


def keys(text: str, schema: Schema | None = None) -> list[str]:
    """The keys of the only alternative: ``x`` for the same attribute of all, else ``x y``."""
    [alternative] = analyse(parse(text), schema).alternatives
    return [
        " ".join(dict.fromkeys(key.attributes)) + (" (test)" if key.is_test else "")
        for key in alternative.partition_keys
    ]


# --- equivalence tests


def test_an_equivalence_test_is_a_key() -> None:
    assert keys("PATTERN SEQ(A a, B+ b[], C c) WHERE [id]") == ["id (test)"]
    assert keys("PATTERN AND(A a, B b) WHERE [id, zone = 3]") == ["id (test)", "zone (test)"]
    assert keys("PATTERN SEQ(A a, B b) WHERE [id] AND [id = 3]") == ["id (test)"]


def test_an_equality_that_repeats_a_test_is_no_second_key() -> None:
    assert keys("PATTERN SEQ(A a, B b) WHERE [id] AND a.id = b.id") == ["id (test)"]


# --- equalities


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("a.id = b.id AND b.id = c.id", ["id"]),
        ("a.id = c.id AND c.id = b.id", ["id"]),
        ("a.id = c.id AND b.id = c.id", ["id"]),
        ("a.x = b.y AND b.y = c.z", ["x y z"]),
        ("a.x = b.y AND c.z = b.y", ["x y z"]),
        ("a.x = b.x AND b.y = c.y AND b.x = b.y", ["x y"]),
        ("a.id = b.id AND b.id = c.id AND a.k = b.k AND b.k = c.k", ["id", "k"]),
        ("a.id = b.id", []),
        ("a.id = b.id AND b.x = c.x", []),
        ("a.id = b.id AND b.id != c.id", []),
        ("a.id = b.id AND (b.id = c.id OR c.x = 1)", []),
        ("a.id = b.id AND b.id = c.id + 0", []),
        ("NOT (a.id != b.id) AND b.id = c.id", []),
        ("a.id = b.id AND b.id <= c.id AND b.id >= c.id", []),
    ],
)
def test_equalities_that_connect_all_components_are_a_key(
    conditions: str, expected: list[str]
) -> None:
    assert keys(f"PATTERN SEQ(A a, B b, C c) WHERE {conditions}") == expected


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("b[i].x = b[i-1].x AND a.x = b[1].x", ["x"]),
        ("b[i-1].x = b[i].x AND b[LEN].x = a.x", ["x"]),
        ("b[i].x = b[1].x AND a.x = b[3].x", ["x"]),
        ("b[i].x = a.x", ["x"]),
        ("a.y = b[i].x", ["y x"]),
        ("b[i].x = first(b[].x) AND a.x = b[1].x", ["x"]),
        ("b[i].x = 5 AND b[1].x = a.x", ["x"]),
        ("b[i].x = max(b[..i-1].x) AND b[1].x = a.x", ["x"]),
        ("b[1].x = a.x AND first(b[..i-1].x) = b[i].x", ["x"]),
        ("b[i].x = b[1].y AND b[1].x = a.x", ["x"]),
        # Only the first b is compared with a.
        ("b[1].x = a.x", []),
        ("b[LEN].x = a.x", []),
        # All b are alike, but not like a.
        ("b[i].x = b[i-1].x", []),
        # From one place to the next: each b is somewhere else.
        ("b[i].x = b[i-1].y AND b[1].x = a.x", []),
        ("b[i].x = b[i].y AND b[1].x = a.x", []),
        # A single b is compared with nothing.
        ("b[i-1].x = a.x AND b[i].x = b[i-1].x", []),
        # An average of equal numbers may be another number.
        ("b[i].x = avg(b[..i-1].x) AND b[1].x = a.x", []),
        ("b[i].x = first(b[..i-1].y) AND b[1].x = a.x", []),
    ],
)
def test_a_key_reaches_through_a_list_that_has_one_value(
    conditions: str, expected: list[str]
) -> None:
    assert keys(f"PATTERN SEQ(A a, B+ b[]) WHERE {conditions}") == expected


def test_a_list_alone_has_a_key_where_its_events_are_alike() -> None:
    assert keys("PATTERN A+ a[] WHERE a[i].x = a[i-1].x") == ["x"]
    assert keys("PATTERN A+ a[] WHERE a[i].x = a[i-1].y") == []


def test_two_lists_are_connected_by_all_of_their_events() -> None:
    pattern = "PATTERN SEQ(A+ a[], B+ b[])"
    assert keys(f"{pattern} WHERE a[i].x = b[i].x") == ["x"]
    # Where b has one event, no a is compared with anything.
    assert keys(f"{pattern} WHERE a[i].x = b[i-1].x") == []
    assert keys(f"{pattern} WHERE a[i].x = b[1].x AND b[i].x = b[i-1].x") == ["x"]


def test_query_2_of_agrawal08_has_no_key() -> None:
    assert (
        keys("""
            PATTERN SEQ(Alert a, Shipment+ b[])
            WHERE skip_till_any_match(a, b[]) { a.type = 'contaminated'
                AND b[1].from = a.site AND b[i].from = b[i-1].to }
            WITHIN 3 hours
        """)
        == []
    )


def test_the_condition_on_a_negated_component_connects_nothing() -> None:
    pattern = "PATTERN SEQ(A a, ~(B b), C c)"
    assert keys(f"{pattern} WHERE a.id = b.id AND b.id = c.id") == []
    assert keys(f"{pattern} WHERE a.id = b.id AND a.id = c.id") == ["id"]


def test_each_alternative_has_its_own_keys() -> None:
    query = parse("PATTERN SEQ(A a, B* b[], C c) WHERE a.id = b[i].id AND a.id = c.id")
    short, long = analyse(query).alternatives
    assert [key.attributes for key in short.partition_keys] == [("id", "id")]
    assert [key.attributes for key in long.partition_keys] == [("id", "id", "id")]


# --- what looks like a key and is not


def test_an_attribute_that_a_type_does_not_have_is_no_key() -> None:
    closed = Schema.declared({"A": ["id"], "B": ["id"], "C": ["other"]})
    pattern = "PATTERN SEQ(A a, ANY(B, C) b, A c)"
    assert keys(f"{pattern} WHERE [id]", closed) == []
    assert keys(f"{pattern} WHERE a.id = b.id AND b.id = c.id", closed) == []
    assert keys(f"{pattern} WHERE a.id = b.id AND b.id = c.id") == ["id"]


def test_equal_values_of_different_kinds_are_no_key() -> None:
    schema = Schema({"n": Kind.INTEGER, "m": Kind.INTEGER, "f": Kind.FLOAT})
    assert keys("PATTERN SEQ(A a, B b) WHERE a.n = b.m", schema) == ["n m"]
    assert keys("PATTERN SEQ(A a, B b) WHERE a.n = b.f", schema) == []


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("a.x = b.x AND b.x = c[i].x", ["x"]),
        ("a.x = b.x AND a.x = c[i].x", ["x"]),
        ("a.x = b.x AND a.x = c[1].x AND c[i].x = c[i-1].x", ["x"]),
        # Until there is a c, the run takes any b.
        ("a.x = c[i].x AND b.x = c[i].x", []),
        # Until the last c, or the second, the run takes any c.
        ("a.x = b.x AND a.x = c[LEN].x AND c[i].x = c[i-1].x", []),
        ("a.x = b.x AND a.x = c[i].x AND c[i].x = c[2].x", ["x"]),
        ("a.x = b.x AND a.x = c[1].x AND c[i].x = c[2].x", []),
    ],
)
def test_under_skip_till_next_match_each_event_is_compared_at_once(
    conditions: str, expected: list[str]
) -> None:
    pattern = "PATTERN SEQ(A a, B b, C+ c[])"
    assert keys(f"{pattern} WHERE {conditions}") == ["x"]
    assert keys(f"{pattern} WHERE skip_till_next_match {{ {conditions} }}") == expected


def test_query_1_of_agrawal08_has_a_key() -> None:
    assert keys("""
        PATTERN SEQ(Shelf a, ~(Register b), Exit c)
        WHERE skip_till_next_match(a, b, c) { a.tag_id = b.tag_id AND a.tag_id = c.tag_id }
        WITHIN 12 hours
    """) == ["tag_id"]


# --- every match, and every way to split the stream

ATTRIBUTES = {"A": ("x", "y"), "B": ("x", "y"), "C": ("x",)}
SCHEMA = Schema.declared({name: dict.fromkeys(own, "integer") for name, own in ATTRIBUTES.items()})


@st.composite
def queries(draw: st.DrawFn) -> str:
    count = draw(st.integers(1, 3))
    parts, terms = [], []
    for name in "abc"[:count]:
        types = draw(st.sampled_from(["A", "A", "B", "C", "ANY(A, B)", "ANY(A, C)"]))
        is_kleene = draw(st.integers(0, 2)) == 0
        parts.append(f"{types}+ {name}[]" if is_kleene else f"{types} {name}")
        subscripts = ["[1]", "[2]", "[i]", "[i]", "[i-1]", "[LEN]"] if is_kleene else [""]
        # C has no y, and what has no y agrees with every y.
        attributes = "x" if types == "C" else "xxy"
        terms += [f"{name}{where}.{attribute}" for where in subscripts for attribute in attributes]
    term = st.sampled_from(terms)
    equality = st.builds(lambda left, right: f"{left} = {right}", term, term)
    noise = st.builds(lambda left, right: f"({left} OR {right})", equality, equality)
    tests = draw(st.lists(equality, min_size=1, max_size=4))
    tests += draw(st.lists(noise, max_size=1))
    strategy = draw(st.sampled_from(["skip_till_any_match", "skip_till_next_match"]))
    kind = draw(st.sampled_from(["SEQ", "AND"] if strategy == "skip_till_any_match" else ["SEQ"]))
    return f"PATTERN {kind}({', '.join(parts)}) WHERE {strategy} {{ {' AND '.join(tests)} }}"


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    events = []
    for position in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from("AABC"))
        values = {name: draw(st.sampled_from([0, 0, 1, 1, None])) for name in ATTRIBUTES[kind]}
        events.append(Event(position, position, kind, values))
    return events


def keyed_events(match: Match, alternative: Alternative, attributes: tuple[str, ...]) -> list[int]:
    """The values of the key in all events of a match."""
    values = []
    for component, attribute in zip(alternative.components, attributes, strict=True):
        bound = match.binding[component.variable]
        values += [
            event.values[attribute] for event in (bound if isinstance(bound, list) else [bound])
        ]
    return values


@given(queries(), streams())
def test_every_match_agrees_on_every_key(text: str, events: list[Event]) -> None:
    query = parse(text)
    [alternative] = analyse(query, SCHEMA).alternatives
    for key in alternative.partition_keys:
        for match in evaluate(query, events):
            values = keyed_events(match, alternative, key.attributes)
            assert None not in values
            assert len(set(values)) == 1


@given(queries(), streams())
@example(
    "PATTERN SEQ(A a, A b, A c) WHERE skip_till_next_match { a.x = c.x AND b.x = c.x }",
    [Event(ix, ix, "A", {"x": x, "y": 0}) for ix, x in enumerate([0, 1, 0, 0])],
)
def test_a_stream_that_is_split_by_a_key_has_the_same_matches(
    text: str, events: list[Event]
) -> None:
    query = parse(text)
    [alternative] = analyse(query, SCHEMA).alternatives
    whole = {_positions(match, events) for match in evaluate(query, events)}
    for key in alternative.partition_keys:
        found = set()
        for part in _parts(events, alternative, key.attributes):
            numbered = [
                Event(ix, event.ticks, event.type, event.values) for ix, event in enumerate(part)
            ]
            found |= {_positions(match, part) for match in evaluate(query, numbered)}
        assert found == whole


def _parts(
    events: list[Event], alternative: Alternative, attributes: tuple[str, ...]
) -> Iterator[list[Event]]:
    """For each value of the key, the events that have it as an event of some component."""
    pairs = list(zip(alternative.components, attributes, strict=True))
    for value in (0, 1):
        yield [
            event
            for event in events
            if any(
                event.type in component.types and event.values[attribute] == value
                for component, attribute in pairs
            )
        ]


def _positions(match: Match, events: list[Event]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """A match by the places of its events in the whole stream."""
    return tuple(
        (
            name,
            tuple(
                events[event.position].ticks
                for event in (bound if isinstance(bound, list) else [bound])
            ),
        )
        for name, bound in sorted(match.binding.items())
    )
