"""Which kinds of value there are, and which go together."""

import pytest

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.analysis.kinds import return_kind
from cepheid.errors import QuerySemanticError
from cepheid.language.parser import parse
from cepheid.schema import Kind, Schema

SCHEMA = Schema(
    {
        "n": Kind.INTEGER,
        "f": Kind.FLOAT,
        "s": Kind.STRING,
        "b": Kind.BOOLEAN,
        "t": Kind.TIMESTAMP,
        "d": Kind.DATE,
        "dur": Kind.DURATION,
        "l": Kind.LIST,
        "o": Kind.OTHER,
        "u": Kind.UNKNOWN,
    }
)


def faults(text: str, schema: Schema | None = SCHEMA) -> list[str]:
    try:
        analyse(parse(text), schema, text)
    except QuerySemanticError as error:
        return [fault.message for fault in error.faults]
    return []


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("a.n", Kind.INTEGER),
        ("a.n + a.n * 2", Kind.INTEGER),
        ("a.n % 2", Kind.INTEGER),
        ("a.n / 2", Kind.FLOAT),
        ("a.n + 0.5", Kind.FLOAT),
        ("80% * a.n", Kind.FLOAT),
        ("-a.n", Kind.INTEGER),
        ("-a.dur", Kind.DURATION),
        ("a.t - b[1].t", Kind.DURATION),
        ("a.t - a.d", Kind.DURATION),
        ("a.t + 10 minutes", Kind.TIMESTAMP),
        ("10 minutes + a.t", Kind.TIMESTAMP),
        ("a.dur * 2 + 1 hour", Kind.DURATION),
        ("2 * a.dur", Kind.DURATION),
        ("a.n > 3", Kind.BOOLEAN),
        ("a.n > 3 OR a.b", Kind.BOOLEAN),
        ("a.s IS NULL", Kind.BOOLEAN),
        ("'text'", Kind.STRING),
        ("TRUE", Kind.BOOLEAN),
        ("NULL", Kind.UNKNOWN),
        ("a.u + 1", Kind.UNKNOWN),
        ("b.LEN", Kind.INTEGER),
        ("b[].n", Kind.LIST),
        ("count(b[])", Kind.INTEGER),
        ("count(b[].s)", Kind.INTEGER),
        ("avg(b[].n)", Kind.FLOAT),
        ("sum(b[].n)", Kind.INTEGER),
        ("max(b[].t)", Kind.TIMESTAMP),
        ("last(b[].s)", Kind.STRING),
        ("b[LEN].f", Kind.FLOAT),
        ("abs(a.n)", Kind.INTEGER),
        ("abs(a.f)", Kind.FLOAT),
        ("least(a.n, a.f)", Kind.FLOAT),
        ("least(a.n, a.u)", Kind.UNKNOWN),
        ("sqrt(a.n)", Kind.FLOAT),
        ("floor(a.f)", Kind.INTEGER),
        ("length(a.s)", Kind.INTEGER),
    ],
)
def test_an_expression_has_this_kind(expression: str, kind: Kind) -> None:
    query = parse(f"PATTERN SEQ(A a, B+ b[]) RETURN {expression} AS value")
    analyse(query, SCHEMA)
    assert query.returns is not None
    assert return_kind(query.returns.items[0].expression, query, SCHEMA) is kind


@pytest.mark.parametrize(
    "condition",
    [
        "a.n = a.f",
        "a.n > 0.5",
        "a.s < 'm'",
        "a.s = a.u",
        "a.t > '2024-05-01'",
        "a.t = '2024-05-01T10:00:00+02:00'",
        "a.t >= a.d",
        "a.d BETWEEN '2024-01-01' AND '2024-12-31'",
        "a.t - a.t < 10 minutes",
        "a.dur > 90 seconds",
        "a.b = TRUE",
        "a.b",
        "NOT a.b",
        "a.u LIKE 'x%'",
        "a.s IN ('x', 'y')",
        "a.l IS NULL",
        "[n]",
        "[t = '2024-05-01']",
        "[n = 3, s = 'x']",
        "1 = 1",
    ],
)
def test_like_is_compared_with_like(condition: str) -> None:
    assert faults(f"PATTERN SEQ(A a, B b) WHERE {condition}") == []


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("a.n = 'x'", "an integer cannot be compared with a string"),
        ("a.b = 1", "a boolean cannot be compared with an integer"),
        ("a.b > TRUE", "a boolean has no order"),
        ("a.b BETWEEN FALSE AND TRUE", "a boolean has no order"),
        ("a.t = 5", "a timestamp cannot be compared with an integer"),
        ("a.t = a.s", "a timestamp cannot be compared with a string"),
        ("a.t = 10 minutes", "a timestamp cannot be compared with a duration"),
        ("a.t IN ('2024-01-01', 'noon')", "'noon' is not a point in time"),
        ("a.d > '2024-13-01'", "'2024-13-01' is not a point in time"),
        ("[t = 'noon']", "'noon' is not a point in time"),
        ("[n = 'x']", "an integer cannot be compared with a string"),
        ("[n = NULL]", "a comparison with NULL is never true"),
        ("a.dur = 5", "a duration cannot be compared with an integer"),
        (
            "a.o = a.o",
            "a value of another data type cannot be compared with a value of another data type",
        ),
        ("[o]", "'o' is a value of another data type, which cannot be compared"),
        ("a.n LIKE 'x'", "LIKE needs a string, but this is an integer"),
        ("a.n", "this is an integer, not a condition"),
        ("a.n AND a.b", "this is an integer, not a condition"),
        ("NOT a.s", "this is a string, not a condition"),
        ("a.t + a.t = a.t", "'+' cannot be applied to a timestamp"),
        ("a.t * 2 = a.t", "'*' cannot be applied to a timestamp and an integer"),
        ("a.n - 10 minutes = 3", "'-' cannot be applied to an integer and a duration"),
        ("a.dur / a.dur = 1", "'/' cannot be applied to a duration"),
        ("-a.s = 'x'", "'-' cannot be applied to a string"),
        ("(a.n = 1) + 1 = 2", "'+' cannot be applied to a boolean and an integer"),
        ("a.u + 'x' = 'y'", "'+' cannot be applied to a string"),
        ("sqrt(a.s) = 1", "sqrt takes a number, but this is a string"),
        ("length(a.n) = 1", "length takes a string, but this is an integer"),
    ],
)
def test_unlike_kinds_are_refused(condition: str, message: str) -> None:
    assert message in faults(f"PATTERN SEQ(A a, B b) WHERE {condition}")


def test_without_a_schema_only_what_the_query_itself_says_is_checked() -> None:
    assert faults("PATTERN SEQ(A a, B b) WHERE a.x > b.y AND a.x + 1 = b.z", None) == []
    assert faults("PATTERN SEQ(A a, B b) WHERE 'x' > 3", None) == [
        "a string cannot be compared with an integer"
    ]


def test_one_wrong_operand_of_many_comparisons_is_one_fault() -> None:
    assert faults("PATTERN A a WHERE a.m IN (1, 2, 3) OR a.n BETWEEN 1 AND 'x'") == [
        "the events have no attribute 'm'",
        "an integer cannot be compared with a string",
    ]


def test_a_wrong_name_is_not_also_a_wrong_kind() -> None:
    assert faults("PATTERN A a WHERE z.n = 'x' AND 'y' + nothing(1) = 3 AND z.s > 5") == [
        "the pattern has no variable 'z'",
        "'+' cannot be applied to a string",
        "there is no function 'nothing'",
        "the pattern has no variable 'z'",
    ]


def test_attributes_of_an_unknown_type_are_left_alone() -> None:
    closed = Schema.declared({"A": {"x": "integer"}, "B": {"y": "integer"}})
    text = "PATTERN SEQ(A a, Q q, ANY(B, R) r) WHERE q.z = 1 AND r.z = 1 AND a.z = 1 AND [z]"
    assert faults(text, closed) == [
        "there is no event type 'Q'",
        "there is no event type 'R'",
        "A has no attribute 'z'",
    ]


def test_any_may_name_an_attribute_that_only_some_of_its_types_have() -> None:
    closed = Schema.declared({"A": {"x": "integer"}, "B": {"y": "integer"}})
    assert faults("PATTERN ANY(A, B) a WHERE a.x = 1 AND a.y = 2 AND [x]", closed) == []


def test_a_length_that_is_an_attribute_is_one() -> None:
    schema = Schema({"len": Kind.INTEGER})
    assert faults("PATTERN SEQ(A a, B+ b[]) WHERE a.len > 3 AND b.LEN > 2", schema) == []


def test_a_value_that_no_query_can_hold_is_refused() -> None:
    text = "PATTERN A a WHERE a.t > T"
    with pytest.raises(QuerySemanticError, match="a value of type bytes cannot be used in a query"):
        analyse(parse(text, parameters={"T": b"x"}), SCHEMA, text)  # type: ignore[dict-item]


@pytest.mark.parametrize("condition", ["[o]", "a.o = a.o"])
def test_values_of_another_kind_are_refused_with_advice(condition: str) -> None:
    events = {"ts": [1, 2], "type": ["A", "B"], "o": [b"x", b"x"]}
    with pytest.raises(cep.QuerySemanticError, match="to strings or numbers before matching"):
        cep.query(f"PATTERN SEQ(A a, B b) WHERE {condition}").match(events)
