"""Queries in SQL give the matches that ``q.match`` gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from spark.rows import spark_rows

import cepheid as cep
from cepheid.spark import create_function, create_view, register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore:cep_match is for exploration")

QUERY = """PATTERN SEQ(A a, B b) WHERE [id] AND a.x < b.x WITHIN 5 minutes
RETURN a.id AS id, b.ts - a.ts AS after, a"""


@pytest.fixture
def events(spark: SparkSession) -> str:
    spark.sql(
        """SELECT timestamp_seconds(1700000000 + 60 * id) AS ts, if(id % 3 = 0, 'A', 'B') AS type,
        id % 4 AS id, cast(id % 7 AS double) AS x, id AS unused FROM range(60)"""
    ).createOrReplaceTempView("events")
    return "events"


def test_the_table_function_gives_what_match_gives(spark: SparkSession, events: str) -> None:
    register(spark)
    found = spark.sql(f"SELECT * FROM cep_match(TABLE({events}), '{QUERY}')")
    expected = cep.query(QUERY).match(spark.table(events))
    assert found.schema == expected.schema
    assert spark_rows(found) == spark_rows(expected)
    assert len(found.collect()) > 5


def test_the_slow_function_says_so_once(spark: SparkSession) -> None:
    with pytest.warns(cep.CepheidWarning, match="explore is for exploration"):
        register(spark, "explore")
    register(spark, "explore")


def test_the_table_function_can_be_in_a_view(spark: SparkSession, events: str) -> None:
    register(spark)
    spark.sql(
        f"""CREATE OR REPLACE TEMPORARY VIEW risen AS SELECT id FROM cep_match(
            TABLE({events}),
            'PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 2 minutes RETURN a.id AS id',
            time => 'ts', tie_break => 'id')"""
    )
    assert spark.sql("SELECT count(*) AS n FROM risen").first()["n"] > 0


def test_a_view_is_the_matches_under_a_name(spark: SparkSession, events: str) -> None:
    create_view(spark, "matches", QUERY, events)
    assert spark_rows(spark.sql("SELECT * FROM matches")) == spark_rows(
        cep.query(QUERY).match(spark.table(events))
    )


def test_a_fault_of_the_query_is_told(spark: SparkSession, events: str) -> None:
    register(spark)
    with pytest.raises(Exception, match="no attribute"):
        spark.sql(f"SELECT * FROM cep_match(TABLE({events}), 'PATTERN A a WHERE a.idd = 1')")


def test_a_created_function_gives_what_match_gives(spark: SparkSession, events: str) -> None:
    create_function(spark, "rises", QUERY, spark.table(events).schema, match_id=True)
    expected = cep.query(QUERY).match(spark.table(events), match_id=True)
    found = spark.sql(f"SELECT * FROM rises(TABLE({events}) PARTITION BY id ORDER BY ts)")
    assert found.schema == expected.schema
    assert spark_rows(found) == spark_rows(expected)
    by_bucket = "PARTITION BY pmod(hash(id), 2)"  # It sorts by time if nobody else does.
    for partitioned in (by_bucket, "WITH SINGLE PARTITION"):
        found = spark.sql(f"SELECT * FROM rises(TABLE({events}) {partitioned})")
        assert spark_rows(found) == spark_rows(expected)


def test_a_created_function_refuses_tables_with_other_columns(
    spark: SparkSession, events: str
) -> None:
    create_function(
        spark, "rises", QUERY, "ts timestamp, type string, id bigint, x double, unused bigint"
    )
    table = f"SELECT ts, type, cast(id AS int) AS id, unused FROM {events}"
    with pytest.raises(Exception, match=r"rises was created .* id \(int32\) and x \(missing\)"):
        spark.sql(f"SELECT * FROM rises(TABLE({table}) PARTITION BY id)").collect()
    with pytest.raises(cep.OptionError, match="'slices'"):
        create_function(spark, "rises", QUERY, spark.table(events).schema, slices=2)
