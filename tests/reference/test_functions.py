"""What functions and CASE mean, case by case."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import cepheid as cep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOMENT = datetime(2024, 2, 29, 23, 58, 59, 123456)  # a Thursday


def value(expression: str, **attributes: Any) -> Any:
    """The value of an expression over one event."""
    columns = {name: pa.array([each]) for name, each in attributes.items()}
    events = pa.table({"ts": [1], "type": ["A"], **columns})
    return cep.query(f"EVENT A a RETURN {expression} AS v").match(events).to_arrow()["v"][0].as_py()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("CASE WHEN a.x > 2 THEN 'many' WHEN a.x > 0 THEN 'few' ELSE 'none' END", "many"),
        ("CASE WHEN a.x > 5 THEN 'many' END", None),
        ("CASE WHEN a.n > 5 THEN 'many' ELSE 'few' END", "few"),
        ("case when a.x = 3 then a.n else 1 end", None),
        ("coalesce(a.n, a.x, 9)", 3),
        ("coalesce(a.n, NULL)", None),
        ("nullif(a.x, 3)", None),
        ("nullif(a.x, 4)", 3),
        ("nullif(a.x, a.n)", None),
        ("concat(a.s, '-', a.s)", "Straße-Straße"),
        ("concat(a.s, a.none)", None),
        ("substring(a.s, 2)", "traße"),
        ("substring(a.s, 2, 3)", "tra"),
        ("substring(a.s, 0, 3)", "St"),
        ("substring(a.s, 9)", ""),
        ("substring(a.s, 2, -1)", ""),
        ("trim('  a b\t')", "a b"),
        ("replace(a.s, 'a', 'o')", "Stroße"),
        ("upper(a.s)", "STRASSE"),
        ("starts_with(a.s, 'St')", True),
        ("ends_with(a.s, 'St')", False),
        ("contains(a.s, 'ra')", True),
        ("contains(a.s, a.none)", None),
        ("regexp_like(a.s, '^S.r')", True),
        ("regexp_like(a.s, '^r')", False),
        ("in_network('10.1.2.3', '10.0.0.0/8')", True),
        ("in_network('10.1.2.3', '10.1.2.3')", True),
        ("in_network('11.1.2.3', '10.0.0.0/8')", False),
        ("in_network('FE80::0:1', 'fe80::/10')", True),
        ("in_network('::1', '0.0.0.0/0')", False),
        ("in_network(a.s, '10.0.0.0/8')", False),
        ("in_network(a.none, '10.0.0.0/8')", None),
        ("greatest(a.x, a.n)", None),
        ("greatest(a.s, 'Z', 'A')", "Z"),
        ("least(a.s, 'Z')", "Straße"),
        ("least(a.s, a.none)", None),
        ("greatest(2 hours, 90 minutes) = 2 hours", True),
        ("a.x IN (1, NULL)", None),
        ("a.x IN (3, NULL)", True),
        ("a.x NOT IN (3, NULL)", False),
    ],
)
def test_values(expression: str, expected: Any) -> None:
    none = pa.scalar(None, pa.string()).as_py()
    found = value(
        expression,
        x=3,
        s="Straße",
        n=pa.scalar(None, pa.int64()),
        none=pa.scalar(none, pa.string()),
    )
    assert found == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("hour(a.t)", 23),
        ("minute(a.t)", 58),
        ("day(a.t)", 29),
        ("weekday(a.t)", 4),
        ("month(a.t)", 2),
        ("year(a.t)", 2024),
        ("hour(a.t + 2 minutes)", 0),
        ("day(a.d)", 29),
        ("hour(a.d)", 0),
        ("date_trunc('second', a.t)", datetime(2024, 2, 29, 23, 58, 59)),
        ("date_trunc('minute', a.t)", datetime(2024, 2, 29, 23, 58)),
        ("date_trunc('hour', a.t)", datetime(2024, 2, 29, 23)),
        ("date_trunc('day', a.t)", datetime(2024, 2, 29)),
        ("date_trunc('WEEK', a.t)", datetime(2024, 2, 26)),
        ("date_trunc('month', a.t)", datetime(2024, 2, 1)),
        ("date_trunc('quarter', a.t)", datetime(2024, 1, 1)),
        ("date_trunc('year', a.t)", datetime(2024, 1, 1)),
        ("date_trunc('month', a.d)", datetime(2024, 2, 1)),
    ],
)
def test_parts_of_dates(expression: str, expected: Any) -> None:
    assert value(expression, t=MOMENT, d=MOMENT.date()) == expected


def test_parts_of_dates_are_in_the_zone_of_the_column() -> None:
    zoned = pa.scalar(MOMENT.replace(tzinfo=UTC), pa.timestamp("us", "Europe/Berlin"))
    assert value("hour(a.t)", t=zoned) == 0
    assert value("weekday(a.t)", t=zoned) == 5
    assert value("hour(a.t + 0 hours)", t=zoned) == 23
    assert value("date_trunc('day', a.t)", t=zoned) == datetime(2024, 2, 29, 23)


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("a.x IN (P)", [1, 3], 1),
        ("a.x IN (P)", (1, None), 0),
        ("a.x IN (P)", set(), 0),
        ("NOT a.x IN (P)", [], 1),
        ("a.x IN (2, P)", {3}, 1),
        ("P IS NULL OR a.x > P", None, 1),
        ("a.x > P", None, 0),
        ("a.t > P", MOMENT - timedelta(seconds=1), 1),
        ("a.t > P", MOMENT.replace(tzinfo=UTC) + timedelta(seconds=1), 0),
        ("a.t < P", date(2024, 3, 1), 1),
        ("a.t - '2024-02-29' < P", timedelta(days=1), 1),
        ("a.t - '2024-02-29' > P", -timedelta(days=1), 1),
    ],
)
def test_parameters_of_every_kind(text: str, given: Any, expected: int) -> None:
    if "- '" in text:
        text = text.replace("'2024-02-29'", "a.d")
    events = pa.table({"ts": [1], "type": ["A"], "x": [3], "t": [MOMENT], "d": [MOMENT.date()]})
    query = cep.query(f"PATTERN A a WHERE {text}", parameters={"P": given})
    assert len(query.match(events)) == expected
    assert len(query.match(events, evaluation="reference")) == expected
    assert len(cep.query(str(query)).match(events)) == expected


def test_a_window_may_be_a_duration() -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WITHIN W", parameters={"W": timedelta(minutes=90)})
    assert str(query).endswith("WITHIN 90 minutes")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("substring(a.s, 'x')", "substring takes an integer, but this is a string"),
        ("hour(a.x)", "hour takes a timestamp, but this is an integer"),
        ("coalesce(a.x, a.s)", "the arguments of coalesce are of different kinds"),
        ("CASE WHEN a.x = 1 THEN 1 ELSE 'x' END", "the values of CASE are of different kinds"),
        ("date_trunc('dya', a.ts)", "'dya' is not a part of a date"),
        ("regexp_like(a.s, '(')", "is not a regular expression"),
        ("in_network(a.s, '10.0.0.0/33')", "'10.0.0.0/33' is not a network"),
        ("regexp_like(a.s, a.s)", "the second argument of regexp_like is a string in quotes"),
        ("starts_wiht(a.s, 'x')", "Did you mean 'starts_with'"),
    ],
)
def test_mistakes_are_explained(expression: str, message: str) -> None:
    with pytest.raises(cep.QuerySemanticError, match=message.replace("(", r"\(")):
        value(expression, x=1, s="x")


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("variance(a[].x)", 3.5),
        ("stddev(a[].x)", 3.5**0.5),
        ("variance(a[].one)", None),
        ("stddev(a[].none)", None),
        ("variance(a[].huge)", 3.5),
        ("median(a[].x)", 5.0),
        ("median(a[].y)", 2.5),
        ("median(a[].none)", None),
        ("count(DISTINCT a[].s)", 2),
        ("count(DISTINCT a[].none)", 0),
        ("count(distinct upper(a[].s))", 1),
        ("sum(a[].x * a[].y)", 4 + 2 * 5 + 3 * 8 + 4 * 3),
        ("max(CASE WHEN a[].x < 6 THEN a[].x END)", 5),
        ("avg(a[].x + 1)", 6.0),
        ("count(nullif(a[].x, 5))", 3),
    ],
)
def test_aggregates(aggregate: str, expected: Any) -> None:
    x = [4, 5, 8, 3, 5]
    events = pa.table(
        {
            "ts": [1, 2, 3, 4, 5],
            "type": ["A"] * 5,
            "x": x,
            "y": pa.array([1, 2, 3, 4, None], pa.int64()),
            "one": pa.array([None, 7, None, None, None], pa.int64()),
            "huge": [each + 1e9 for each in x],
            "none": pa.nulls(5, pa.int64()),
            "s": ["p", "P", "p", None, "p"],
        }
    )
    pattern = "PATTERN A{5} a[] WHERE strict_contiguity"
    rows = cep.query(f"{pattern} RETURN {aggregate} AS v").match(events).to_arrow()["v"]
    assert rows.to_pylist() == [None if expected is None else pytest.approx(expected)]
    wanted = "IS NULL" if expected is None else f"BETWEEN {expected - 1e-6} AND {expected + 1e-6}"
    query = cep.query(f"{pattern} {{ {aggregate} {wanted} }}")
    for evaluation in ("auto", "reference"):
        assert len(query.match(events, evaluation=evaluation)) == 1


def test_spark_computes_the_same(spark: SparkSession) -> None:
    events = pa.table(
        {
            "ts": [1, 2, 3, 4],
            "type": list("ABAB"),
            "t": [MOMENT + timedelta(hours=hours) for hours in (0, 1, 30, 700)],
            "s": ["apple", "Apricot", "b", None],
            "x": [1, 2, 3, 4],
        }
    )
    query = cep.query(
        """
        PATTERN SEQ(A a, B+ b[])
        WHERE lower(substring(b[i].s, 1, 2)) = substring(a.s, 1, 2) OR weekday(b[1].t) > P
        WITHIN 9
        RETURN a.x, hour(a.t) AS h, CASE WHEN b.LEN > 1 THEN 'many' ELSE 'one' END AS n,
               stddev(b[].x * 2) AS d, median(b[].x) AS m, date_trunc('month', b[1].t) AS t,
               concat(a.s, '-', coalesce(b[b.LEN].s, 'none')) AS c
        """,
        parameters={"P": 4},
    )
    columns = ["a.x", "h", "n", "d", "m", "t", "c"]
    local = [str(row) for row in query.match(events).to_arrow().select(columns).to_pylist()]
    assert len(local) > 2
    schema = "ts long, type string, t timestamp_ntz, s string, x long"
    frame = spark.createDataFrame([tuple(row.values()) for row in events.to_pylist()], schema)
    found = [
        str(row.asDict())
        for row in query.match(frame).select(*[f"`{c}`" for c in columns]).collect()
    ]
    assert sorted(found) == sorted(local)
