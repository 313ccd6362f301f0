"""SQL's own forms of expressions: CAST, EXTRACT, IS TRUE, and the names that databases have."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from row_patterns.row_cases import both, labels

import cepheid as cep
from cepheid.errors import QueryError

TABLE = pa.table(
    {
        "t": pa.array([datetime(2026, 5, 4, 10, 30), datetime(2026, 5, 4, 11, 45)]),
        "x": pa.array([7, None], pa.int64()),
        "y": pa.array([1.25, 2.5]),
        "d": pa.array([Decimal("1.254"), Decimal("2.5")], pa.decimal128(10, 3)),
        "k": pa.array(["straße", None]),
        "ok": pa.array([True, None]),
    }
)


def measured(expression: str) -> list[Any]:
    """The values of an expression in the two rows, which a printed clause also has."""
    text = f"MATCH_RECOGNIZE (ORDER BY t MEASURES {expression} AS v PATTERN (A))"
    found = [row["v"] for row in both(text, TABLE)]
    printed = str(cep.query(text))
    assert str(cep.query(printed)) == printed
    assert [row["v"] for row in both(printed, TABLE)] == found
    return found


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("CAST(k AS VARCHAR(5))", ["straß", None]),
        ("CAST(lower(CLASSIFIER()) || '_label' AS varchar(3))", ["a_l", "a_l"]),
        ("CAST(k AS string) || '!'", ["straße!", None]),
        ("CAST(x AS DOUBLE PRECISION)", [7.0, None]),
        ("try_cast(x AS double) / 2", [3.5, None]),
        ("x::float", [7.0, None]),
        ("-A.x::double", [-7.0, None]),
        ("CAST(d AS DECIMAL(10, 2))", [1.25, 2.5]),
        ("CAST(y AS NUMERIC)", [1.0, 3.0]),
        ("CAST(t AS DATE)", [datetime(2026, 5, 4)] * 2),
        ("CAST(t AS TIMESTAMP(3)) = t", [True, True]),
        ("t > CAST('2026-05-04 11:00:00' AS TIMESTAMP)", [False, True]),
        ("t::date = '2026-05-04'::date", [True, True]),
        ("EXTRACT(HOUR FROM t)", [10, 11]),
        ("extract(minute from LAST(A.t))", [30, 45]),
        (
            "t + INTERVAL '1:30' HOUR TO MINUTE",
            [datetime(2026, 5, 4, 12), datetime(2026, 5, 4, 13, 15)],
        ),
        ("t - t < INTERVAL '1 00:00:00.5' DAY(2) TO SECOND(3)", [True, True]),
        ("t - INTERVAL '90' MINUTE(4) < t", [True, True]),
        ("ok IS TRUE", [True, False]),
        ("ok IS NOT TRUE", [False, True]),
        ("ok IS FALSE", [False, False]),
        ("(x > 5) IS NOT FALSE", [True, True]),
        ("x IS DISTINCT FROM 7", [False, True]),
        ("x IS NOT DISTINCT FROM NULL", [False, True]),
        ("k IS DISTINCT FROM NULL", [True, False]),
        ("k IS NOT DISTINCT FROM PREV(k)", [False, False]),
        ("PREV(x) IS NOT DISTINCT FROM NEXT(x)", [True, False]),
        ("NVL(x, 0)", [7, 0]),
        ("ifnull(k, '')", ["straße", ""]),
        ("CEILING(y)", [2, 3]),
        ("SUBSTR(k, 2, 2)", ["tr", None]),
        ("CHAR_LENGTH(k)", [6, None]),
        ("POW(x, 2)", [49.0, None]),
    ],
)
def test_forms_of_sql(expression, values):
    assert measured(expression) == values


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("A{,} B", ["0:AAB"]), ("A{,}? B", ["0:AAB"]), ("A{,}?", ["0:", "1:", "2:"])],
)
def test_a_quantifier_without_bounds(pattern, expected):
    assert labels(pattern, "aab") == expected


def test_conditions_on_matched_rows_are_compiled():
    query = cep.query("""MATCH_RECOGNIZE (ORDER BY t MEASURES B.x AS x PATTERN (A B) DEFINE
        B AS B.x IS DISTINCT FROM A.x AND EXTRACT(HOUR FROM B.t) > 10 AND A.y::double < B.y)""")
    assert "row_pattern: backtracking" in query.explain(TABLE.schema)
    assert query.match(TABLE).to_dicts() == [{"x": None}]


@pytest.mark.parametrize(
    ("expression", "message", "place", "advice"),
    [
        ("CAST(y AS INTEGER)", "some systems round in a cast to INTEGER, and others truncate",
         "INTEGER", "Write round(x), floor(x) or ceil(x)."),
        ("y::varchr", "there is no type 'VARCHR'", "varchr", "Did you mean 'VARCHAR'?"),
        ("CAST(y AS BLOB)", "there is no type 'BLOB'", "BLOB",
         "The types are VARCHAR, VARCHAR2, CHAR, CHARACTER, STRING, TEXT, DOUBLE, FLOAT, REAL, "
         "DECIMAL, NUMERIC, NUMBER, TIMESTAMP, DATETIME and DATE."),
        ("EXTRACT(EPOCH FROM t)", "EXTRACT has no part 'EPOCH'", "EPOCH",
         "The parts are MINUTE, HOUR, DAY, MONTH and YEAR."),
        ("abs(x AS DOUBLE)", "AS in abs(…)", "abs(x AS DOUBLE)", "Only CAST(x AS type) has it."),
        ("trim(k FROM k)", "FROM in trim(…)", "trim(k FROM k)",
         "Only EXTRACT(HOUR FROM x) has it."),
        ("t + INTERVAL '90' HOUR TO MINUTE", "this is not an interval",
         "INTERVAL '90' HOUR TO MINUTE", "Write it like INTERVAL '1:30' HOUR TO MINUTE."),
        ("t + INTERVAL '1:30' MINUTE TO HOUR", "this is not an interval",
         "INTERVAL '1:30' MINUTE TO HOUR", "Write it like INTERVAL '1:30' HOUR TO MINUTE."),
        ("LAG(x)", "there is no function 'LAG'", "LAG(x)", "Write PREV."),
        ("MATCH_SEQUENCE_NUMBER()", "there is no function 'MATCH_SEQUENCE_NUMBER'",
         "MATCH_SEQUENCE_NUMBER()", "Write count(*)."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_form(expression, message, place, advice):
    text = f"MATCH_RECOGNIZE (MEASURES {expression} AS v PATTERN (A))"
    with pytest.raises(QueryError) as error:
        cep.query(text).match(TABLE)
    found = error.value.faults[0]
    assert found.span is not None
    assert (found.message, text[found.span.start : found.span.end]) == (message, place)
    assert found.advice() == advice


def test_a_cast_checks_the_kind():
    with pytest.raises(QueryError, match="concat"):
        measured("CAST(x AS VARCHAR)")
