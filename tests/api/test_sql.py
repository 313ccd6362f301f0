"""``cep.sql``: statements with MATCH_RECOGNIZE over tables in memory and files."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep

pytest.importorskip("duckdb", reason="cep.sql needs DuckDB")

FALLS = """MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY ts
    MEASURES S.ts AS since, LAST(DOWN.ts) AS until, count(DOWN.*) AS falls
    PATTERN (S DOWN+) DEFINE DOWN AS "price" < PREV(price)
)"""
RISES = FALLS.replace("DOWN", "UP").replace("<", ">").replace("falls", "rises")
TICKS = {
    "symbol": ["X"] * 6 + ["Y"] * 6,
    "ts": [*range(1, 7), *range(1, 7)],
    "price": [9, 7, 5, 6, 8, 4, 1, 2, 3, 2, 1, 5],
}
EXPECTED = [("X", 1, 3, 2), ("X", 5, 6, 1), ("Y", 3, 5, 2)]


def rows(text: str, *tables: Any, **keywords: Any) -> list[tuple[Any, ...]]:
    found = cep.sql(text, *tables, **keywords)
    assert isinstance(found, pa.Table)
    return sorted(tuple(row.values()) for row in found.to_pylist())


def test_tables_of_every_kind(tmp_path):
    table = pa.table(TICKS)
    path = tmp_path / "ticks.parquet"
    pq.write_table(table, path)
    text = f"SELECT * FROM ticks {FALLS}"
    for given in (TICKS, table, table.to_pylist(), pd.DataFrame(TICKS), pl.DataFrame(TICKS), path):
        assert rows(text, ticks=given) == EXPECTED
        assert rows(text, {"ticks": given}) == EXPECTED
    for relation in (f"'{path}'", f"read_parquet('{path}')", f"(FROM '{path}')"):
        assert rows(f"SELECT * FROM {relation} {FALLS}") == EXPECTED
    assert rows(f'FROM "a table" {FALLS}', {"a table": TICKS}) == EXPECTED


def test_clauses_are_joined_nested_and_in_common_table_expressions():
    names = {"symbol": ["X", "Y"], "country": ["NO", "PE"]}
    joined = f"""SELECT f.symbol, f.since, r.until, c.country FROM ticks {FALLS} AS f
        JOIN ticks {RISES} r ON r.symbol = f.symbol AND r.since = f.until
        LEFT JOIN names c ON c.symbol = f.symbol"""
    assert rows(joined, ticks=TICKS, names=names) == [("X", 1, 5, "NO"), ("Y", 3, 6, "PE")]
    nested = f"""SELECT * FROM (SELECT symbol, falls FROM ticks {FALLS} WHERE falls > 0)
        MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY falls MEASURES count(*) AS n PATTERN (A+))"""
    assert rows(nested, ticks=TICKS) == [("X", 2), ("Y", 1)]
    scoped = f"""WITH ticks AS (SELECT * FROM ticks WHERE symbol = 'Y'),
        falls AS MATERIALIZED (SELECT * FROM ticks {FALLS})
        SELECT falls.*, r.rises FROM falls, ticks {RISES} AS r WHERE r.since < falls.until"""
    assert rows(scoped, ticks=TICKS) == [("Y", 3, 5, 2, 2)]
    exists = f"""SELECT symbol FROM names c WHERE EXISTS (
        SELECT 1 FROM ticks {FALLS} AS m (s, a, b, n) WHERE m.s = c.symbol AND m.n = 1)"""
    assert rows(exists, ticks=TICKS, names=names) == [("X",)]


def test_a_text_without_a_clause_is_run_by_duckdb():
    assert rows("SELECT count(*) AS n FROM ticks", ticks=TICKS) == [(12,)]


def test_rows_of_equal_order_keep_that_of_the_table():
    table = {"t": [1] * 6, "k": list("fdbace")}
    text = "FROM x MATCH_RECOGNIZE (ORDER BY t MEASURES A.k || B.k AS s PATTERN (A B))"
    assert rows(text, x=table) == [("ba",), ("ce",), ("fd",)]


def test_types_survive_the_way_through_duckdb():
    table = pa.table(
        {
            "ts": pa.array([datetime(2024, 1, 1), datetime(2024, 1, 3)], pa.timestamp("us", "UTC")),
            "wait": pa.array([timedelta(days=40), None], pa.duration("us")),
            "kind": pa.array(["a", "b"]).dictionary_encode(),
        }
    )
    text = """SELECT m.*, wait + wait AS twice FROM x MATCH_RECOGNIZE (ORDER BY ts
        MEASURES LAST(ts) - FIRST(ts) AS took, FIRST(wait) AS wait, LAST(ts) AS ts,
            CLASSIFIER() AS c
        PATTERN (A B) DEFINE A AS wait > INTERVAL '39' DAY) AS m"""
    found = cep.sql(text, x=table)
    assert found.schema.field("ts").type == pa.timestamp("us", "UTC")
    assert found.schema.field("took").type == found.schema.field("twice").type == pa.duration("us")
    (row,) = found.to_pylist()
    assert (row["took"], row["wait"], row["c"]) == (timedelta(days=2), timedelta(days=40), "B")
    assert row["twice"] == timedelta(days=80)
    months = cep.sql("SELECT INTERVAL 1 MONTH AS m, INTERVAL (i) DAY AS d FROM range(2) t(i)")
    assert months.schema.field("m").type == pa.month_day_nano_interval()
    assert months["d"].to_pylist() == [timedelta(0), timedelta(days=1)]


def test_faults_have_their_places_in_the_statement():
    text = f"SELECT *\nFROM ticks {FALLS.replace('PREV(price)', 'PREV(prize)')}"
    with pytest.raises(cep.QuerySemanticError) as raised:
        cep.sql(text, ticks=TICKS, source="falls.sql")
    assert str(raised.value) == (
        "falls.sql:5:53: the table has no column 'prize'\n"
        '  5 |     PATTERN (S DOWN+) DEFINE DOWN AS "price" < PREV(prize)\n'
        "    |                                                     ^^^^^\n"
        "It has symbol, ts and price. Did you mean 'price'?"
    )
    with pytest.raises(cep.EvaluationError, match=r"DuckDB cannot run the statement: .*tocks"):
        cep.sql(f"SELECT * FROM tocks {FALLS}", ticks=TICKS)
    with pytest.raises(cep.EvaluationError, match=r"DuckDB cannot run the statement: .*nothing"):
        cep.sql(f"SELECT nothing FROM ticks {FALLS}", ticks=TICKS)
    correlated = "SELECT (SELECT n FROM (FROM ticks WHERE ts > t.ts) {}) FROM ticks AS t"
    with pytest.raises(cep.EvaluationError, match="is run on its own, and sees no other table"):
        cep.sql(correlated.format(FALLS), ticks=TICKS)
    with pytest.raises(cep.QuerySyntaxError, match="cannot be in a view that is kept"):
        cep.sql(f"CREATE VIEW v AS FROM ticks {FALLS}", ticks=TICKS)
    with pytest.raises(cep.OptionError, match="a statement is a string"):
        cep.sql(b"SELECT 1")


def test_a_clause_without_columns_has_rows():
    clause = "ticks MATCH_RECOGNIZE (PATTERN (A A))"
    assert cep.sql(f"SELECT count(*) AS n FROM {clause}", ticks=TICKS).to_pylist() == [{"n": 6}]
    found = cep.sql(f"SELECT * FROM {clause}", ticks=TICKS)
    assert (found.num_rows, found.num_columns) == (6, 0)
    joined = cep.sql(f"SELECT * FROM {clause} CROSS JOIN (SELECT 1 AS x, 2 AS x)", ticks=TICKS)
    assert (joined.num_rows, joined.num_columns) == (6, 2)


def test_variables_of_the_program_are_no_tables():
    with pytest.raises(cep.EvaluationError, match="given"):
        cep.sql("SELECT * FROM given")


def test_parameters_and_time_units_are_for_clauses():
    text = """SELECT x FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts
        MEASURES sum(price) AS x PATTERN (A+) WITHIN INTERVAL '3' SECOND DEFINE A AS price > LOW)"""
    assert rows(text, ticks=TICKS, parameters={"LOW": 4}, time_unit="s") == [(5,), (14,), (21,)]


def test_the_step_budget_can_be_set():
    text = "FROM ticks MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN ((A | B)+ C) DEFINE C AS {})"
    text = text.format("sum(price) < 0")
    with pytest.raises(cep.LimitError, match="max_steps"):
        cep.sql(text, ticks=TICKS, max_steps=50)


def test_without_duckdb_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(cep.OptionError, match=r"pip install 'cepheid\[sql\]'"):
        cep.sql("SELECT 1")
