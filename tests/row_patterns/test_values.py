"""What expressions read: parts of structs and lists, times to the nanosecond, MATCH_NUMBER()."""

from typing import Any

import pyarrow as pa
import pytest
from row_patterns.row_cases import both

import cepheid as cep
from cepheid.errors import QuerySemanticError

NESTED = {
    "t": [1, 2, 3, 4],
    "s": [{"a": 5, "In": {"b": "x"}}, {"a": 3, "In": None}, None, {"a": 7, "In": {"b": "y"}}],
    "l": [[1, 2], [], None, [4]],
}
TIMES = pa.table(
    {
        "t": pa.array([1_500, 1_900, 2_100, 1], pa.timestamp("ns", "UTC")),
        "d": pa.array([1_500, 1_900, 2_100, None], pa.duration("ns")),
        "u": pa.array([0, 0, 0, 0], pa.timestamp("ns", "UTC")),
    }
)


def values(measure: str, source: Any, rest: str = "PATTERN (A+)") -> list[Any]:
    """A measure of each row of the result."""
    text = f"MATCH_RECOGNIZE (MEASURES {measure} AS m ALL ROWS PER MATCH {rest})"
    return both(text, source).to_arrow()["m"].to_pylist()


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("A.s.a", [5, 3, None, 7]),
        ("A.S.A", [5, 3, None, 7]),
        ('A.s."In".b', ["x", None, None, "y"]),
        ("A.s.in.b", ["x", None, None, "y"]),
        ("A.l[1]", [1, None, None, 4]),
        ("A.l[2] + A.s.a", [7, None, None, None]),
        ("FIRST(A.s.a)", [5, 5, 5, 5]),
        ("PREV(A.s.a, 2)", [None, None, 5, 3]),
        ("sum(A.s.a)", [5, 8, 8, 15]),
        ("FINAL max(A.s.a)", [7, 7, 7, 7]),
    ],
)
def test_parts_of_structs_and_lists_in_measures(measure, expected):
    assert values(measure, NESTED) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("B.s.a > 4", [4]),
        ("B.s.a > A.s.a", [4]),
        ("B.s.a < PREV(B.s.a)", [2]),
        ("B.l[1] IS NULL", [2, 3]),
        ("B.s.in.b <> A.s.in.b", [4]),
    ],
)
def test_parts_of_structs_and_lists_in_conditions(condition, expected):
    text = f"MATCH_RECOGNIZE (MEASURES B.t AS t PATTERN (A Z*? B) DEFINE B AS {condition})"
    found = both(text.replace("MEASURES", "MEASURES MATCH_NUMBER() AS n,"), NESTED).to_dicts()
    assert [row["t"] for row in found] == expected[:1]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("A.s.c", "'s' has no field 'c'"),
        ("A.t.a", "'t' is an integer, not a struct"),
        ("A.s[1]", "'s' is a value of another data type, not a list"),
        ("A.l[0]", "the first element of a list has number 1, not 0"),
    ],
)
def test_parts_that_do_not_exist_are_faults(part, message):
    with pytest.raises(QuerySemanticError) as error:
        cep.query(f"MATCH_RECOGNIZE (MEASURES {part} AS m PATTERN (A))").match(NESTED)
    assert [fault.message for fault in error.value.faults] == [message]


def test_a_field_needs_its_variable():
    with pytest.raises(QuerySemanticError, match="the pattern has no variable 'S'"):
        cep.query("MATCH_RECOGNIZE (MEASURES s.a AS m PATTERN (A))")


def test_parts_are_printed():
    text = 'MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS A.s."In b".c[2] > 1)'
    query = cep.query(text)
    assert 'A.s."In b".c[2] > 1' in str(query)
    assert cep.query(str(query)).tree == query.tree


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("FINAL min(t)", 1),
        ("FINAL max(t)", 2_100),
        ("FINAL min(d)", 1_500),
        ("FINAL max(d)", 2_100),
    ],
)
def test_extremes_of_times_keep_their_nanoseconds(measure, expected):
    text = f"MATCH_RECOGNIZE (MEASURES {measure} AS m PATTERN (A+))"
    column = both(text, TIMES).to_arrow()["m"]
    assert column.type == TIMES["t" if "(t)" in measure else "d"].type
    assert column.cast(pa.int64()).to_pylist() == [expected]


def test_expressions_use_whole_microseconds():
    """As the conditions and arithmetic of SASE+ queries do."""
    labels = "MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN (A B+) DEFINE B AS t {} {})"
    for other in ("PREV(t)", "A.t"):
        assert [row["n"] for row in both(labels.format(">", other), TIMES)] == [2]
        assert [row["n"] for row in both(labels.format("=", other), TIMES)] == [2]
    assert [each.microseconds for each in values("LAST(t) - FIRST(t)", TIMES)[:3]] == [0, 0, 1]


def test_the_number_of_the_match_can_be_in_a_navigation_or_aggregate():
    source = {"x": [1, 2, 3, 4]}
    assert values("sum(x * MATCH_NUMBER())", source, "PATTERN (A A)") == [1, 3, 6, 14]
    assert values("PREV(x + MATCH_NUMBER())", source, "PATTERN (A A)") == [None, 2, 4, 5]
    for condition in ("PREV(x + MATCH_NUMBER()) < 4", "sum(MATCH_NUMBER()) < 3"):
        define = f"PATTERN (A B) DEFINE B AS {condition}"
        assert values("MATCH_NUMBER()", source, define) == [1, 1]


def test_mod_is_the_remainder():
    assert values("MOD(x, 3)", {"x": [1, 3, 5]}) == [1, 0, 2]


def test_moments_may_have_the_word_of_sql():
    source = {"t": pa.array([0, 2, 4], pa.timestamp("s"))}
    define = "PATTERN (A) DEFINE A AS t < {} '1970-01-01 00:00:03'"
    for word in ("TIMESTAMP", "timestamp /* of */", ""):
        assert len(values("t", pa.table(source), define.format(word))) == 2
    assert values("t", {"date": [1], "t": [2]}, "PATTERN (A) DEFINE A AS date > 0") == [2]
