"""Queries in SQL give the matches that ``q.match`` gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from spark.rows import spark_rows

import cepheid as cep
from cepheid.spark import create_view, register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
