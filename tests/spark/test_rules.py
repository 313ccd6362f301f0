"""A set of rules over a DataFrame finds what it finds over a table in memory."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from spark.random_rules import SCHEMA, random_batches, random_rule
from spark.rows import local_rows, spark_rows

import cepheid as cep
from cepheid.matches.shapes import flat

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = int(os.environ.get("CEPHEID_SPARK_RULE_SETS", "3"))
JOINS = (
    "PATTERN SEQ(A a, B b) WHERE a.id = b.s WITHIN 9",
    "PATTERN SEQ(A a, ~(C c), B b) WHERE a.id = b.id AND c.id = a.id WITHIN 9 RETURN a.x AS z",
    "PATTERN SEQ(C a, D b) WHERE a.x = b.x WITHIN 9",
    "PATTERN SEQ(C a, D b) WHERE [id, x] WITHIN 30 RETURN b",
    "PATTERN D a WHERE a.x > 4",
    """MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts, seq MEASURES LAST(x) AS x, count(*) AS n
       PATTERN (F G+) DEFINE G AS x > PREV(x))""",
    """MATCH_RECOGNIZE (ORDER BY ts, seq MEASURES F.x AS y ALL ROWS PER MATCH
       PATTERN (F G) DEFINE G AS x > F.x)""",
)


def local_alerts(found: cep.RuleMatches) -> Counter[Any]:
    """The rows of a local result, with JSON in the columns that have it on Spark."""
    rows = [flat.plain(row) for row in found.to_dicts()]
    return Counter(_comparable(row) for row in rows)


def spark_alerts(rows: Iterable[Any]) -> Counter[Any]:
    """The matches among rows of a result of Spark."""
    found = [row if isinstance(row, dict) else row.asDict(recursive=True) for row in rows]
    read = [
        {**flat.plain(row), "key": json.loads(row["key"]), "values": json.loads(row["values"])}
        for row in found
        if row["fault"] is None
    ]
    return Counter(_comparable(row) for row in read)


def _comparable(row: dict[str, Any]) -> str:
    """The row as a text; JSON does not tell 6 from 6.0."""
    text = json.dumps({name: row[name] for name in row if name != "fault"}, sort_keys=True)
    return json.dumps(json.loads(text, parse_float=_number))


def _number(text: str) -> float:
    return int(float(text)) if float(text).is_integer() else float(text)


def numbered(random: Random) -> pa.Table:
    """Random events with a column that orders them."""
    table = pa.concat_tables(random_batches(random, SCHEMA))
    return table.append_column("seq", pa.array(range(len(table)), pa.int64()))


@pytest.mark.filterwarnings("ignore::cepheid.errors.CepheidWarning")
@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_spark_finds_what_a_local_run_finds(spark: SparkSession, seed: int) -> None:
    random = Random(seed)
    drawn: dict[str, Any] = {f"rule {number}": random_rule(random, "") for number in range(12)}
    joins = {f"join {number}": text for number, text in enumerate(JOINS)}
    rules = cep.rules({**drawn, **joins})
    table = numbered(random)
    expected = rules.match(table, tie_break="seq")
    found = rules.match(spark.createDataFrame(table), tie_break="seq")
    rows = found.collect()
    assert spark_alerts(rows) == local_alerts(expected)
    assert {row["rule"] for row in rows if row["fault"]} <= {each.rule for each in expected.faults}
    for name in random.sample(sorted(expected.rules), 2):
        own = spark_rows(rules.typed(found, name).drop("match_id"))
        assert own == local_rows(expected[name].to_arrow()), rules[name]


def test_the_events_are_read_once_and_shuffled_together(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = numbered(Random(1))
    spark.createDataFrame(table).write.parquet(str(tmp_path / "events"))
    frame = spark.read.parquet(str(tmp_path / "events"))
    rules = cep.rules(
        {
            "one": "PATTERN SEQ(A a, B b) WHERE [id] AND a.x > 3 WITHIN 9",
            "two": "PATTERN SEQ(A a, B b) WHERE [id, x] WITHIN 9",
            "three": "PATTERN SEQ(A a, B b) WHERE [s] WITHIN 9 RETURN b.x",
            "four": "PATTERN SEQ(A a, B b) WITHIN 9",
        }
    )
    found = rules.match(frame)
    plan = found._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    assert plan.count("FileScan") == 1
    assert plan.count("Exchange hashpartitioning") == 1
    assert "PushedFilters: [Or(" in plan or "In(type" in plan
    same = cep.rules({name: rules[name].query for name in ("one", "two")}).match(frame)
    plan = same._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    assert "Generate explode" not in plan
    assert plan.count("Exchange") == 1


EVENTS = pa.table(
    {
        "ts": pa.array(
            [datetime(2024, 3, 1, 9, minute, tzinfo=UTC) for minute in range(3)],
            pa.timestamp("us", "UTC"),
        ),
        "type": ["A", "A", "B"],
        "f": [1.5, float("inf"), -2.0],
        "d": pa.array(
            [Decimal("1.50"), None, Decimal("123456789012345678.25")], pa.decimal128(20, 2)
        ),
        "b": pa.array([b"\x00\xff", None, b""]),
        "l": [[1, None], [], None],
        "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "t": ['say "hi"\n', "ü", None],
        "w": pa.array([timedelta(microseconds=5), timedelta(days=40), None], pa.duration("us")),
        "o": pa.array([True, None, False]),
        "n": pa.array([datetime(1, 1, 1), None, datetime(2024, 1, 1, 1, 1, 1, 7)]),
    }
)


def test_typed_views_keep_all_values(spark: SparkSession, tmp_path: Path) -> None:
    rules = cep.rules(
        {
            "whole": "PATTERN SEQ(A a, B b)",
            "apart": "PATTERN SEQ(A a, B b) RETURN b.ts - a.ts AS apart, a.w AS w, a.f AS start",
        }
    )
    frame = spark.createDataFrame(EVENTS)
    expected = rules.match(frame.toArrow())
    found = rules.match(frame)
    found.write.parquet(str(tmp_path / "alerts"))
    again = spark.read.parquet(str(tmp_path / "alerts"))
    for name in rules:
        own = rules.typed(again, name)
        assert own.columns[0] == "match_id"
        assert local_rows(own.drop("match_id").toArrow()) == local_rows(expected[name].to_arrow())
    with pytest.raises(KeyError, match="Did you mean"):
        rules.typed(again, "apar")
    with pytest.raises(cep.OptionError, match="not the result of a set of rules"):
        rules.typed(spark.createDataFrame(EVENTS), "apart")


def test_faults_do_not_stop_the_others(spark: SparkSession) -> None:
    rules = cep.rules(
        {
            "column": "PATTERN SEQ(A a, B b) WHERE a.y < b.y",
            "many": "PATTERN SEQ(A a, B+ b[])",
            "b": {"query": "PATTERN B b", "severity": "low", "tags": ["x", "y"]},
            "off": {"query": "PATTERN B b", "enabled": False},
        }
    )
    rows = [(number, "AB"[number > 1], 1) for number in range(12)]
    frame = spark.createDataFrame(rows, "ts long, type string, x long")
    with pytest.warns(cep.CepheidWarning, match="no attribute 'y'"):
        found = rules.match(frame, max_matches=100).collect()
    assert Counter(row["rule"] for row in found) == {"b": 10, "many": 1}
    [fault] = [row for row in found if row["fault"] is not None]
    assert fault["rule"] == "many"
    assert "more than 100 matches" in fault["fault"]
    assert {(row["severity"], *row["tags"]) for row in found if row["rule"] == "b"} == {
        ("low", "x", "y")
    }


def test_ids_do_not_depend_on_other_rules() -> None:
    table = numbered(Random(5))
    one = {"one": "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 9 RETURN a.x"}
    other = {"other": "PATTERN SEQ(A a, B b) WITHIN 9 RETURN a.s"}
    alone = {match.match_id for match in cep.rules(one).match(table)}
    both = {match.match_id for match in cep.rules(one | other).match(table) if match.rule == "one"}
    session = cep.rules(one | other).session()
    fed = {match.match_id for match in session.feed(table) if match.rule == "one"}
    assert alone == both == fed
    assert alone


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"output": "first"}, "is a field of a rule"),
        ({"time": ("ts", "x")}, "needs certain times"),
        ({"tie_break": "y"}, "no column 'y'"),
        ({"time": "tz"}, "no column 'tz'"),
        ({"sep": ";"}, "sep"),
        ({"max_step": 5}, "max_step"),
        ({"slices": 5}, "slices"),
    ],
)
def test_what_cannot_be_is_refused(
    spark: SparkSession, keywords: dict[str, Any], message: str
) -> None:
    frame = spark.createDataFrame([(1, "A", 1)], "ts long, type string, x long")
    with pytest.raises(cep.CepheidError, match=message):
        cep.rules({"a": "PATTERN A a"}).match(frame, **keywords)


def test_an_empty_set_finds_nothing(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "A", 1)], "ts long, type string, x long")
    assert cep.rules({}).match(frame).collect() == []
    found = cep.rules({"a": "PATTERN A a RETURN a.x"}).match({"A": frame.drop("type")})
    assert [json.loads(row["values"]) for row in found.collect()] == [{"a.x": 1}]


def test_rules_are_read_from_a_dataframe(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("pair", "PATTERN SEQ(A a, B b)", "low", ["t"]), ("off", "PATTERN A a", None, None)]
    table = spark.createDataFrame(
        rows, "name string, query string, severity string, tags array<string>"
    )
    rules = cep.rules(table)
    assert (list(rules), rules["pair"].severity, rules["pair"].tags) == (
        ["pair", "off"],
        "low",
        ("t",),
    )
    with pytest.raises(cep.OptionError, match="changes="):
        cep.rules(spark.readStream.text(str(tmp_path)))
