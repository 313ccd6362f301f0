"""What measures are: navigation, aggregates, CLASSIFIER, RUNNING and FINAL. Derived by hand."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from row_patterns.row_cases import measured, table

import cepheid as cep

X = [5, 3, 8, 1]
ALL = "ALL ROWS PER MATCH"


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        # over A B B C with x = 5 3 8 1, at the last row
        ("A.x", 5),
        ("B.x", 8),
        ("x", 1),
        ("t", 3),
        ("FIRST(B.x)", 3),
        ("FIRST(B.x, 1)", 8),
        ("FIRST(B.x, 2)", None),
        ("LAST(B.x)", 8),
        ("LAST(B.x, 1)", 3),
        ("LAST(B.x, 2)", None),
        ("FIRST(x)", 5),
        ("FIRST(x, 3)", 1),
        ("LAST(x, 3)", 5),
        ("LAST(x, 4)", None),
        ("FIRST(B.x * 2 + B.t)", 7),
        ("PREV(x)", 8),
        ("PREV(x, 3)", 5),
        ("PREV(x, 4)", None),
        ("PREV(x, 0)", 1),
        ("NEXT(x)", None),
        ("PREV(B.x)", 3),
        ("NEXT(B.x)", 1),
        ("NEXT(A.x, 2)", 8),
        ("PREV(A.x)", None),
        ("PREV(FIRST(B.x))", 5),
        ("NEXT(FIRST(B.x), 2)", 1),
        ("PREV(LAST(B.x, 1), 1)", 5),
        ("NEXT(LAST(B.x))", 1),
        ("PREV(FINAL LAST(x), 2)", 3),
        ("PREV(LAST(B.x, 5))", None),
        ("PREV(x + t, 1)", 10),
        ("LAST(B.x) - FIRST(B.x)", 5),
        ("S.x", 8),
        ("FIRST(S.x)", 5),
        ("LAST(S.x, 2)", 5),
        ("CLASSIFIER()", "C"),
        ("CLASSIFIER(S)", "B"),
        ("CLASSIFIER(A)", "A"),
        ("FIRST(CLASSIFIER())", "A"),
        ("LAST(CLASSIFIER(), 1)", "B"),
        ("FIRST(CLASSIFIER(S), 1)", "B"),
        ("PREV(CLASSIFIER())", "B"),
        ("PREV(CLASSIFIER(), 3)", "A"),
        ("NEXT(CLASSIFIER())", None),
        ("PREV(CLASSIFIER(A))", None),
        ("LAST(CLASSIFIER() || k)", "Cc"),
        ("MATCH_NUMBER()", 1),
        ("count(*)", 4),
        ("count(B.*)", 2),
        ("count(S.*)", 3),
        ("count(x)", 4),
        ("count(B.x)", 2),
        ("COUNT(DISTINCT k)", 3),
        ("sum(x)", 17),
        ("sum(B.x)", 11),
        ("sum(B.x * B.t)", 19),
        ("sum(S.x)", 16),
        ("avg(B.x)", 5.5),
        ("min(x)", 1),
        ("max(B.x)", 8),
        ("min(B.k)", "b"),
        ("sum(1)", 4),
        ("median(x)", 4.0),
        ("median(B.x)", 5.5),
        ("variance(B.x)", 12.5),
        ("stddev(A.x)", None),
        ("sum(x) / count(*)", 4.25),
        ("max(B.x) > A.x", True),
        ("A.x BETWEEN 1 AND 5 AND B.k LIKE 'b%'", True),
        ("B.x IN (3, 8)", True),
        ("A.x IS NOT NULL", True),
        ("NOT A.x = 5", False),
        ("CASE WHEN A.x > 9 THEN 'high' ELSE 'low' END", "low"),
        ("CASE A.k WHEN 'a' THEN 1 WHEN 'b' THEN 2 END", 1),
        ("CASE A.k WHEN 'c' THEN 1 END", None),
        ("A.k || '-' || C.k", "a-c"),
        ("abs(A.x - B.x)", 3),
        ("coalesce(LAST(B.x, 9), 0)", 0),
        ("A.x / 0", None),
        ("-A.x", -5),
        ("A.x % 3", 2),
        ("2 + 3 * A.x", 17),
        ("7", 7),
        ("'text'", "text"),
        ("NULL", None),
    ],
)  # fmt: skip
def test_at_the_last_row(measure, expected):
    assert measured(measure, "A B+ C", "abbc", x=X) == [expected]


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("x", [5, 3, 8, 1]),
        ("A.x", [5, 5, 5, 5]),
        ("B.x", [None, 3, 8, 8]),
        ("C.x", [None, None, None, 1]),
        ("FIRST(B.x)", [None, 3, 3, 3]),
        ("FIRST(x, 2)", [None, None, 8, 8]),  # RUNNING FIRST sees rows up to the current one only
        ("FINAL FIRST(x, 2)", [8, 8, 8, 8]),
        ("RUNNING LAST(B.x)", [None, 3, 8, 8]),
        ("FINAL LAST(B.x)", [8, 8, 8, 8]),
        ("FINAL LAST(B.x, 1)", [3, 3, 3, 3]),
        ("PREV(x)", [None, 5, 3, 8]),
        ("NEXT(x)", [3, 8, 1, None]),
        ("NEXT(FINAL LAST(B.x))", [1, 1, 1, 1]),
        ("CLASSIFIER()", ["A", "B", "B", "C"]),
        ("NEXT(CLASSIFIER())", ["B", "B", "C", None]),
        ("FINAL LAST(CLASSIFIER())", ["C", "C", "C", "C"]),
        ("count(*)", [1, 2, 3, 4]),
        ("FINAL count(*)", [4, 4, 4, 4]),
        ("count(B.*)", [0, 1, 2, 2]),
        ("RUNNING sum(x)", [5, 8, 16, 17]),
        ("FINAL sum(B.x)", [11, 11, 11, 11]),
        ("avg(B.x)", [None, 3.0, 5.5, 5.5]),
        ("MATCH_NUMBER()", [1, 1, 1, 1]),
        ("FINAL LAST(x) - x", [-4, -2, -7, 0]),
    ],
)
def test_at_each_row(measure, expected):
    assert measured(measure, "A B+ C", "abbc", rows=ALL, x=X) == expected


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("A.x", None),
        ("x", None),
        ("CLASSIFIER()", None),
        ("MATCH_NUMBER()", 1),
        ("count(*)", 0),
        ("sum(x)", None),
        ("FIRST(x)", None),
        ("PREV(x)", None),
    ],
)
def test_of_an_empty_match(measure, expected):
    assert measured(measure, "A*", "b", x=[1]) == [expected]
    assert measured(measure, "A*", "b", rows=ALL, x=[1]) == [expected]


def test_of_excluded_rows_they_are_part_of_the_match():
    found = measured("count(*); sum(x)".replace("; ", ";"), "A {- B+ -} C", "abbc", rows=ALL, x=X)
    assert found == [(1, 5), (4, 17)]


def test_nulls_are_left_out_of_aggregates():
    values = [5, None, 8, None]
    measures = "count(x);count(*);sum(x);avg(x);min(C.x)"
    assert measured(measures, "A B+ C", "abbc", x=values) == [(2, 4, 13, 6.5, None)]


def test_nan_is_null():
    values = [5.0, float("nan"), 8.0, 1.0]
    assert measured("count(x);max(x)", "A B+ C", "abbc", x=values) == [(3, 8.0)]


def test_a_sum_that_does_not_fit_is_null():
    assert measured("sum(x)", "A B+ C", "abbc", x=[2**62] * 4) == [None]


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("A.i", pa.int32()), ("FIRST(f)", pa.float32()), ("PREV(s)", pa.large_string()),
        ("A.ns", pa.timestamp("ns", "Europe/Berlin")), ("A.l", pa.list_(pa.int8())),
        ("i + 1", pa.int64()), ("f + 1", pa.float64()), ("i / 2", pa.float64()),
        ("i > 1", pa.bool_()), ("CLASSIFIER()", pa.string()), ("MATCH_NUMBER()", pa.int64()),
        ("count(*)", pa.int64()), ("avg(i)", pa.float64()), ("sum(f)", pa.float64()),
        ("ns - PREV(ns)", pa.duration("us")), ("max(ns)", pa.timestamp("ns", "Europe/Berlin")),
        ("d", pa.date32()), ("A.ns + INTERVAL '1' HOUR", pa.timestamp("us")),
    ],
)  # fmt: skip
def test_types_of_columns(expression, kind):
    moment = pa.array([1, 2], pa.timestamp("ns", "Europe/Berlin"))
    rows = pa.table(
        {
            "i": pa.array([1, 2], pa.int32()),
            "f": pa.array([1, 2], pa.float32()),
            "s": pa.array(["a", "b"], pa.large_string()),
            "ns": moment,
            "l": pa.array([[1], [2]], pa.list_(pa.int8())),
            "d": pa.array([1, 2], pa.date32()),
        }
    )
    clause = f"MATCH_RECOGNIZE (MEASURES {expression} AS m PATTERN (A+))"
    assert cep.query(clause).match(rows).arrow_schema.field("m").type == kind
    assert cep.query(clause).match(rows.slice(0, 0)).arrow_schema.field("m").type == kind


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        # over the rows so far of A A B A B, in two matches
        ("count(DISTINCT x)", [1, 2, 2, 2, 3, 1, 1]),
        ("count(DISTINCT B.x)", [0, 0, 1, 1, 2, 0, 1]),
        ("FINAL count(DISTINCT A.x)", [2, 2, 2, 2, 2, 1, 1]),
        ("sum(DISTINCT x)", [5, 8, 8, 8, 9, 5, 5]),
        ("median(x)", [5.0, 4.0, 5.0, 4.0, 3.0, 5.0, 5.0]),
        ("median(DISTINCT x)", [5.0, 4.0, 4.0, 4.0, 3.0, 5.0, 5.0]),
        ("FINAL median(B.x)", [3.0, 3.0, 3.0, 3.0, 3.0, 5.0, 5.0]),
        ("median(B.x)", [None, None, 5.0, 5.0, 3.0, None, 5.0]),
        ("count(DISTINCT k)", [1, 1, 2, 2, 2, 1, 2]),
    ],
)
def test_running_aggregates_of_distinct_values_and_medians(measure, expected):
    rows = {"k": list("aababab"), "x": [5, 3, 5, 3, 1, 5, 5]}
    clause = f"""MATCH_RECOGNIZE (MEASURES {measure} AS m {ALL} PATTERN (A A B A B | A B)
        DEFINE A AS k = 'a', B AS k = 'b')"""
    for evaluation in ("row_pattern", "reference"):
        found = cep.query(clause).match(rows, evaluation=evaluation)
        assert [row["m"] for row in found] == expected


def test_distinct_values_and_medians_of_a_long_match_are_computed_in_columns():
    rows = pa.table({"x": [each * 7919 % 100 for each in range(50_000)]})
    clause = "MATCH_RECOGNIZE (MEASURES count(DISTINCT x) AS d, median(x) AS m {} PATTERN (A+))"
    found = cep.query(clause.format(ALL)).match(rows).to_dicts()
    assert found[99:200:100] == [{"d": 100, "m": 49.5, "x": rows["x"][99].as_py()},
                                 {"d": 100, "m": 49.5, "x": rows["x"][199].as_py()}]  # fmt: skip


def test_nanoseconds_are_kept():
    rows = pa.table({"t": pa.array([1, 2], pa.timestamp("ns"))})
    found = cep.query("MATCH_RECOGNIZE (ORDER BY t MEASURES LAST(t) AS m PATTERN (A+))").match(rows)
    assert found.to_arrow()["m"].cast(pa.int64()).to_pylist() == [2]


def test_times_are_in_utc_and_functions_of_them_in_the_zone_of_the_column():
    noon = datetime(2024, 7, 1, 12, tzinfo=UTC)
    zoned = pa.array([noon, noon + timedelta(hours=1)], pa.timestamp("us", "Europe/Berlin"))
    clause = """MATCH_RECOGNIZE (ORDER BY t MEASURES hour(t) AS h, hour(FIRST(A.t)) AS f,
        t - FIRST(t) AS d, t > '2024-07-01 12:30:00' AS late PATTERN (A+))"""
    found = cep.query(clause).match(pa.table({"t": zoned}))
    assert found.to_dicts() == [{"h": 15, "f": 14, "d": timedelta(hours=1), "late": True}]


def test_a_registered_function_can_be_called():
    cep.register_function("half_of_row", lambda x: x / 2)
    assert measured("half_of_row(sum(x))", "A B+ C", "abbc", x=X) == [8.5]


def test_parameters_have_values():
    text = "MATCH_RECOGNIZE (MEASURES A.x * F AS y PATTERN (A) DEFINE A AS x IN (known) AND x > T)"
    q = cep.query(text, parameters={"F": 2, "T": 1, "known": [1, 3]})
    assert q.match({"x": [1, 2, 3]}).to_dicts() == [{"y": 6}]


def test_a_quoted_name_is_no_parameter():
    q = cep.query('MATCH_RECOGNIZE (MEASURES "T" AS y, T AS z PATTERN (A))', parameters={"T": 7})
    assert q.match(table("a", T=[1])).to_dicts() == [{"y": 1, "z": 7}]
