"""``cepheid.spark.sql``: statements with MATCH_RECOGNIZE, run by Spark around the clauses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.spark import sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FALLS = """MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY ts
    MEASURES S.ts AS since, LAST(DOWN.ts) AS until, count(DOWN.*) AS falls
    PATTERN (S DOWN+) DEFINE DOWN AS "price" < PREV(price)
)"""
RISES = FALLS.replace("DOWN", "UP").replace("<", ">").replace("falls", "rises")
TICKS = pa.table(
    {
        "symbol": ["X"] * 6 + ["Y"] * 6,
        "ts": [*range(1, 7), *range(1, 7)],
        "price": [9, 7, 5, 6, 8, 4, 1, 2, 3, 2, 1, 5],
    }
)
COMPANIES = pa.table({"symbol": ["X", "Y", "Z"], "country": ["NO", "PE", "TD"]})


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    spark.createDataFrame(TICKS).createOrReplaceTempView("ticks")
    spark.createDataFrame(COMPANIES).createOrReplaceTempView("companies")
    views = {each.name for each in spark.catalog.listTables()}
    yield spark
    left = {each.name for each in spark.catalog.listTables()} - views
    assert not {name for name in left if "cepheid" in name or "pyspark" in name}
    for name in (*left, "ticks", "companies"):
        spark.catalog.dropTempView(name)


def rows(session: SparkSession, text: str, **keywords: Any) -> list[tuple[Any, ...]]:
    found = sql(session, text, **keywords).toArrow()
    return sorted(tuple(row.values()) for row in found.to_pylist())


def test_a_text_without_a_clause_is_run_by_spark(session: SparkSession):
    assert rows(session, "SELECT 'MATCH_RECOGNIZE (' AS x") == [("MATCH_RECOGNIZE (",)]


def test_a_clause_over_a_table_a_view_or_a_subquery(session: SparkSession):
    expected = [("X", 1, 3, 2), ("X", 5, 6, 1), ("Y", 3, 5, 2)]
    assert rows(session, f"SELECT * FROM ticks {FALLS}") == expected
    assert rows(session, f"SELECT m.* FROM (SELECT * FROM ticks) {FALLS} AS m") == expected
    renamed = f"SELECT a, d FROM ticks {FALLS} AS m (a, b, c, d) WHERE b > 1"
    assert rows(session, renamed) == [("X", 1), ("Y", 2)]


JOINED = f"""
    SELECT f.symbol, f.since, r.until, c.country
    FROM ticks {FALLS} AS f
    JOIN ticks {RISES} r ON r.symbol = f.symbol AND r.since = f.until
    LEFT JOIN companies c ON c.symbol = f.symbol
"""


def test_two_clauses_over_a_table_are_joined_as_in_a_local_run(
    session: SparkSession, tmp_path: Path
):
    place = tmp_path / "table"
    session.sql(f"CREATE TABLE saved_ticks USING parquet LOCATION '{place}' AS FROM ticks")
    try:
        found = rows(session, JOINED.replace("ticks", "default.saved_ticks"))
    finally:
        session.sql("DROP TABLE saved_ticks")
    assert found == [("X", 1, 5, "NO"), ("Y", 3, 6, "PE")]
    pytest.importorskip("duckdb", reason="cep.sql needs DuckDB")
    local = cep.sql(JOINED, ticks=TICKS, companies=COMPANIES).to_pylist()
    assert sorted(tuple(row.values()) for row in local) == found


def test_a_clause_over_a_clause(session: SparkSession):
    text = f"""SELECT * FROM (SELECT symbol, falls FROM ticks {FALLS} WHERE falls > 0)
        MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY falls MEASURES count(*) AS n PATTERN (A+))"""
    assert rows(session, text) == [("X", 2), ("Y", 1)]


def test_common_table_expressions_are_in_scope(session: SparkSession):
    text = f"""WITH ticks AS (SELECT * FROM ticks WHERE symbol = 'Y'),
        falls AS (SELECT * FROM ticks {FALLS})
        SELECT falls.*, r.rises FROM falls, ticks {RISES} AS r WHERE r.since < falls.until"""
    assert rows(session, text) == [("Y", 3, 5, 2, 2)]


def test_clauses_in_subqueries_of_conditions_and_unions(session: SparkSession):
    exists = f"""SELECT symbol FROM companies c WHERE EXISTS (
        SELECT 1 FROM ticks {FALLS} AS m WHERE m.symbol = c.symbol AND m.falls = 2)"""
    assert rows(session, exists) == [("X",), ("Y",)]
    within = f"SELECT symbol FROM companies WHERE symbol NOT IN (SELECT symbol FROM ticks {FALLS})"
    assert rows(session, within) == [("Z",)]
    union = f"SELECT falls FROM ticks {FALLS} UNION ALL SELECT -rises FROM ticks {RISES}"
    assert len(rows(session, union)) == 6


def test_braces_and_colons_around_a_clause_are_left_alone(session: SparkSession):
    text = f"SELECT '{{x}} {{' AS b, symbol FROM ticks {FALLS} WHERE symbol RLIKE '^Y{{1,2}}$'"
    assert rows(session, text) == [("{x} {", "Y")]


def test_temporary_views_and_tables_keep_the_result(session: SparkSession, tmp_path: Path):
    sql(session, f"CREATE TEMP VIEW fell (s, n) AS SELECT symbol, falls FROM ticks {FALLS}")
    assert rows(session, "SELECT max(n), s FROM fell GROUP BY s") == [(2, "X"), (2, "Y")]
    sql(session, f"CREATE OR REPLACE TEMPORARY VIEW fell AS SELECT falls FROM ticks {FALLS}")
    assert rows(session, "SELECT sum(falls) FROM fell") == [(5,)]
    place = tmp_path / "table"
    sql(session, f"CREATE TABLE saved USING parquet LOCATION '{place}' AS "
        f"SELECT * FROM ticks {FALLS}")  # fmt: skip
    try:
        sql(session, f"INSERT INTO saved SELECT * FROM ticks {RISES}")
        assert rows(session, "SELECT count(*) FROM saved") == [(6,)]
    finally:
        session.sql("DROP TABLE saved")


def test_a_view_that_is_kept_is_refused(session: SparkSession):
    with pytest.raises(cep.QuerySyntaxError) as raised:
        sql(session, f"CREATE VIEW v AS\nSELECT * FROM ticks {FALLS}")
    assert str(raised.value) == (
        "query:1:8: MATCH_RECOGNIZE cannot be in a view that is kept\n"
        "  1 | CREATE VIEW v AS\n"
        "    |        ^^^^\n"
        "Only cepheid can read the text of the view. Create a temporary view, or a table."
    )


def test_faults_have_their_places_in_the_statement(session: SparkSession):
    text = f"SELECT *\nFROM companies\nJOIN ticks {FALLS.replace('PREV(price)', 'PREV(prize)')}"
    with pytest.raises(cep.QuerySemanticError, match="query:6:53: the table has no column 'prize'"):
        sql(session, text)
    with pytest.raises(Exception, match=r"TABLE_OR_VIEW_NOT_FOUND.*`tocks`"):
        sql(session, f"SELECT * FROM tocks {FALLS}")


def test_parameters_and_options_are_for_each_clause(session: SparkSession):
    text = """SELECT x FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts
        MEASURES sum(price) AS x PATTERN (A+) WITHIN INTERVAL '3' SECOND DEFINE A AS price > LOW)"""
    found = rows(session, text, parameters={"LOW": 4}, time_unit="s", tie_break="price")
    assert found == [(5,), (14,), (21,)]


def test_double_quotes_are_names_in_a_clause_and_strings_around_it(session: SparkSession):
    text = """SELECT "price" AS word, m.* FROM ticks MATCH_RECOGNIZE (
        PARTITION BY `symbol` MEASURES max("price") AS "top price" PATTERN (A+)) m"""
    assert rows(session, text) == [("price", "X", 9), ("price", "Y", 5)]


@pytest.mark.filterwarnings("ignore:the pattern has no longest match")
def test_a_clause_over_a_stream(rocksdb: SparkSession, session: SparkSession, tmp_path: Path):
    ticks = session.sql("SELECT symbol, timestamp_seconds(ts) AS ts, price FROM ticks")
    ticks.coalesce(1).write.parquet(str(tmp_path / "ticks"))
    stream = rocksdb.readStream.schema(ticks.schema).parquet(str(tmp_path / "ticks"))
    stream.createOrReplaceTempView("live")
    cheap = "(SELECT * FROM live WHERE price < 9)"
    text = f"SELECT m.symbol, 10 * falls AS n FROM {cheap} {FALLS} AS m"
    found = sql(rocksdb, text, lateness="1 second")
    assert found.isStreaming
    running = (
        found.writeStream.format("memory").queryName("found")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True).start()
    )  # fmt: skip
    running.awaitTermination(120)
    done = {(row["symbol"], row["n"]) for row in session.table("found").collect()}
    # The last rows, which end the other matches, are not a second old.
    assert done == {("X", 10)}
