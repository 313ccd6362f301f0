"""MATCH_RECOGNIZE over DataFrames: Spark returns what a local run returns."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from row_patterns.clause_strategies import clauses, tables
from spark.rows import found_together, local_rows, spark_rows
from spark.test_agreement import draw

import cepheid as cep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CLAUSES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "24"))
TOGETHER = 12
ONE_WORKER = "ignore:all rows go to one worker"
TICKS = pa.table(
    {
        "symbol": ["X", "Y", None, "X", "Y", None, "X", None, "Y"],
        "ts": [1, 1, 1, 2, 2, 2, 3, 3, 3],
        "price": [9.0, 5.0, 4.0, 7.0, 6.0, 3.0, 8.0, 2.0, 4.0],
        "note": list("abcdefghi"),
    }
)
FALLS = """MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES S.ts AS since, LAST(DOWN.price) AS low, count(DOWN.*) AS falls
  PATTERN (S DOWN+) DEFINE DOWN AS price < PREV(price)
)"""


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table)


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().optimizedPlan().toString())  # type: ignore[operator]


@pytest.fixture
def ticks(spark: SparkSession) -> DataFrame:
    return frame_of(spark, TICKS)


def test_nulls_are_one_partition_and_the_columns_are_known_before_it_runs(ticks: DataFrame):
    found = cep.query(FALLS).match(ticks)
    assert [(each.name, each.dataType.simpleString()) for each in found.schema] == [
        ("symbol", "string"), ("since", "bigint"), ("low", "double"), ("falls", "bigint"),
    ]  # fmt: skip
    assert spark_rows(found) == local_rows(cep.query(FALLS).match(TICKS).to_arrow())
    assert spark_rows(found)[("symbol", None), ("since", 1), ("low", 2.0), ("falls", 2)] == 1


def test_all_rows_have_the_columns_of_a_local_run(ticks: DataFrame):
    query = cep.query(
        "MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES CLASSIFIER() AS v "
        "ALL ROWS PER MATCH PATTERN (S D) DEFINE D AS price < PREV(price))"
    )
    found = query.match(ticks)
    assert found.columns == ["symbol", "ts", "v", "price", "note"]
    assert spark_rows(found) == local_rows(query.match(TICKS).to_arrow())
    assert query.count(ticks) == query.count(TICKS) == 3


def test_only_the_columns_of_the_clause_are_sent(ticks: DataFrame):
    plan = plan_of(cep.query(FALLS).match(ticks))
    sent = next(line for line in plan.splitlines() if "MapInArrow" in line)
    assert "note" not in plan[plan.index(sent) + len(sent) :].partition("Sort")[0]
    assert "Repartition" in plan


def test_without_partition_by_one_worker_runs_it_and_a_warning_says_so(ticks: DataFrame):
    query = cep.query("MATCH_RECOGNIZE (ORDER BY ts, price PATTERN (A A A))")
    with pytest.warns(cep.CepheidWarning, match="all rows go to one worker, because"):
        found = query.match(ticks)
    assert found.columns == []
    assert found.count() == 3
    assert "on Spark, one worker" in query.explain()
    with pytest.warns(cep.CepheidWarning, match="one worker"):
        assert query.count(ticks) == 3


@pytest.mark.filterwarnings(ONE_WORKER)
def test_tie_break_orders_rows_that_are_equal_in_order_by(spark: SparkSession):
    table = pa.table({"t": [1] * 6, "seq": [5, 3, 1, 0, 2, 4], "k": list("fdbace")})
    query = cep.query("MATCH_RECOGNIZE (ORDER BY t MEASURES A.k || B.k AS s PATTERN (A B))")
    frame = frame_of(spark, table).repartition(3)
    found = query.match(frame, tie_break="seq").collect()
    assert sorted(row["s"] for row in found) == ["ab", "cd", "ef"]
    found = query.match(frame).collect()  # The columns that the clause names.
    assert sorted(row["s"] for row in found) == ["ab", "cd", "ef"]
    with pytest.raises(cep.EventError, match="no tie-break column 'sek'"):
        query.match(frame, tie_break="sek")
    with pytest.raises(cep.OptionError, match="tie_break is for Spark DataFrames"):
        query.match(table, tie_break="seq")


def test_faults_are_found_before_anything_runs(ticks: DataFrame):
    with pytest.raises(cep.QuerySemanticError) as raised:
        cep.query(FALLS.replace("price", "prize")).match(ticks)
    assert "query:3:37: the table has no column 'prize'" in str(raised.value)
    within = FALLS.replace("DEFINE", "WITHIN INTERVAL '1' SECOND DEFINE")
    with pytest.raises(cep.OptionError, match="say what they count"):
        cep.query(within).match(ticks)
    assert cep.query(within).match(ticks, time_unit="ms").count() == 3
    with pytest.raises(cep.OptionError, match="one DataFrame, not over one for each event type"):
        cep.query(FALLS).match({"A": ticks})
    with pytest.raises(cep.OptionError, match="sep is for CSV files"):
        cep.query(FALLS).match(ticks, sep=";")
    with pytest.raises(cep.OptionError, match="more than one column 'ts'"):
        cep.query(FALLS).match(ticks.select("*", "ts"))


def test_an_error_in_a_worker_reaches_the_user(ticks: DataFrame):
    from cepheid.spark.faults import fault_of

    query = cep.query(
        "MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.ts AS t "
        "AFTER MATCH SKIP TO FIRST A PATTERN (A B))"
    )
    with pytest.raises(Exception, match=r"cepheid\.errors\.EvaluationError") as raised:
        query.match(ticks).collect()
    said = str(fault_of(raised.value))
    assert said.startswith("AFTER MATCH SKIP TO FIRST A")


def test_types_of_measures_are_those_of_spark(spark: SparkSession):
    frame = spark.sql(
        "SELECT 1 AS g, id AS t, array(id) AS l, timestamp_seconds(id) AS ts, "
        "cast(id AS decimal(5, 2)) AS d, cast(id AS float) AS f, date_from_unix_date(int(id)) AS y,"
        " named_struct('a', id) AS s FROM range(4)"
    )
    query = cep.query(
        """MATCH_RECOGNIZE (PARTITION BY g ORDER BY t
        MEASURES LAST(l) AS l, CASE WHEN A.t = 0 THEN A.l END AS c, max(ts) AS ts, max(d) AS d,
            avg(f) AS f, FIRST(y) AS y, A.s AS s, ts - FIRST(ts) AS during, NULL AS n
        PATTERN (A B))"""
    )
    found = query.match(frame)
    types = {each.name: each.dataType.simpleString() for each in found.schema}
    assert types["c"] == types["l"] == "array<bigint>"
    assert (types["ts"], types["s"], types["y"]) == ("timestamp", "struct<a:bigint>", "date")
    local = query.match(frame.toArrow()).to_arrow()
    assert sorted(map(repr, found.toArrow().to_pylist())) == sorted(map(repr, local.to_pylist()))


def test_names_that_spark_would_misread(spark: SparkSession):
    frame = spark.createDataFrame([(1, 2, 3)], ["user.id", "a`b", "t"])
    query = cep.query(
        'MATCH_RECOGNIZE (PARTITION BY "user.id" ORDER BY `t` '
        'MEASURES A."a`b" AS "x.y" PATTERN (A))'
    )
    assert query.match(frame).toArrow().to_pylist() == [{"user.id": 1, "x.y": 2}]


def test_registered_functions_reach_the_workers(ticks: DataFrame):
    cep.register_function("halved", lambda x: x / 2)
    query = cep.query(
        "MATCH_RECOGNIZE (PARTITION BY symbol MEASURES halved(A.price) AS h PATTERN (A $))"
    )
    assert query.match(ticks).count() == 3


@pytest.mark.filterwarnings(ONE_WORKER)
def test_random_clauses_return_what_a_local_run_returns(spark: SparkSession):
    expected, found = [], []
    for text, table in draw(st.tuples(clauses(), tables()), CLAUSES):
        query = cep.query(text)
        assert isinstance(query, cep.RowPatternQuery)
        try:
            local = query.match(table, time_unit="s").to_arrow()
        except (cep.EvaluationError, cep.LimitError):
            continue  # AFTER MATCH SKIP cannot go on.
        mixed = table.take(pa.array(sorted(range(len(table)), key=lambda ix: ix * 7 % 11), "int64"))
        frame = spark.createDataFrame(mixed)
        expected.append((text, local_rows(local)))
        found.append(query.match(frame, tie_break="seq", time_unit="s"))
    assert len(expected) > CLAUSES / 2
    for start in range(0, len(found), TOGETHER):
        together = found_together(found[start : start + TOGETHER])
        for (text, rows), same in zip(expected[start : start + TOGETHER], together, strict=True):
            assert Counter(map(without_nan, same.elements())) == rows, text


def without_nan(row: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    """JSON has a string for NaN, and the language null."""
    return tuple((name, None if value == "NaN" else value) for name, value in row)


def test_match_ids_are_those_of_a_local_run(ticks: DataFrame):
    found = cep.query(FALLS).match(ticks, match_id=True)
    assert found.columns[-1] == "match_id"
    local = cep.query(FALLS).match(TICKS, match_id=True)
    assert spark_rows(found) == local_rows(local.to_arrow())
    assert cep.query(FALLS).count(ticks, match_id=True) == 3


def test_a_dataframe_is_made_without_compiling(ticks: DataFrame, monkeypatch: pytest.MonkeyPatch):
    from cepheid.row_patterns.compiled.execution import Execution

    monkeypatch.delattr(Execution, "__init__")
    assert cep.query(FALLS).match(ticks).columns[0] == "symbol"
