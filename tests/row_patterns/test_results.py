"""The rows and columns of results: partitions, order, rows per match, WITHIN, skip errors."""

from datetime import datetime, timedelta

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from row_patterns.row_cases import both, table

import cepheid as cep
from cepheid.errors import EvaluationError, EventError, LimitError, OptionError

TICKS = {
    "ts": [1, 2, 3, 4, 1, 2, 3],
    "symbol": ["X", "X", "X", "X", "Y", "Y", "Y"],
    "price": [9, 7, 5, 6, 3, 2, 4],
}


def rows(clause: str, source: object = None, **keywords: object) -> list[tuple[object, ...]]:
    found = both(f"MATCH_RECOGNIZE ({clause})", TICKS if source is None else source, **keywords)
    return [tuple(row.values()) for row in found]


def columns(clause: str) -> list[str]:
    return cep.query(f"MATCH_RECOGNIZE ({clause})").match(TICKS).columns


# --- partitions and order


def test_each_partition_is_matched_by_itself():
    clause = """PARTITION BY symbol ORDER BY ts MEASURES A.ts AS s, LAST(D.ts) AS e
        PATTERN (A D+) DEFINE D AS price < PREV(price)"""
    assert rows(clause) == [("X", 1, 3), ("Y", 1, 2)]


def test_without_partition_by_all_rows_are_one_partition():
    assert rows("MEASURES count(*) AS n PATTERN (A+)") == [(7,)]


def test_nulls_are_a_partition_and_nan_is_null():
    source = {"k": [1.0, None, float("nan"), 1.0, -0.0, 0.0]}
    clause = "PARTITION BY k MEASURES count(*) AS n PATTERN (A+)"
    assert [row[1] for row in rows(clause, source)] == [2, 2, 2]


def test_partitions_come_in_the_order_of_their_first_rows():
    source = {"k": ["b", "a", "b"], "j": [1, 1, 2]}
    clause = "PARTITION BY k, j MEASURES count(*) AS n PATTERN (A+)"
    assert rows(clause, source) == [("b", 1, 1), ("a", 1, 1), ("b", 2, 1)]


def test_match_numbers_begin_anew_in_each_partition():
    clause = "PARTITION BY symbol ORDER BY ts MEASURES MATCH_NUMBER() AS n PATTERN (A A)"
    assert rows(clause) == [("X", 1), ("X", 2), ("Y", 1)]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("v", [1, 2, 2, 3, None]),
        ("v ASC", [1, 2, 2, 3, None]),
        ("v DESC", [3, 2, 2, 1, None]),
        ("v NULLS FIRST", [None, 1, 2, 2, 3]),
        ("v DESC NULLS FIRST", [None, 3, 2, 2, 1]),
        ("v DESC NULLS LAST", [3, 2, 2, 1, None]),
    ],
)
@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
def test_order(order, expected, kind):
    source = pa.table({"v": pa.array([2, None, 3, 1, 2]).cast(kind), "row": [0, 1, 2, 3, 4]})
    found = rows(f"ORDER BY {order} ALL ROWS PER MATCH PATTERN (A+)", source)
    plain = [None if value is None else float(value) for value, _ in found]
    assert plain == expected
    assert [row for value, row in found if value is not None and float(value) == 2] == [0, 4]


def test_several_columns_order_rows():
    source = {"a": [1, 1, 2, 2], "b": [1, 2, 1, 2]}
    clause = "ORDER BY a DESC, b ALL ROWS PER MATCH PATTERN (A+)"
    assert rows(clause, source) == [(2, 1), (2, 2), (1, 1), (1, 2)]


def test_booleans_and_dictionaries_can_be_ordered():
    source = pa.table({"b": [True, False], "d": pa.array(["y", "x"]).dictionary_encode()})
    assert rows("ORDER BY b ALL ROWS PER MATCH PATTERN (A+)", source)[0] == (False, "x")
    assert rows("ORDER BY d ALL ROWS PER MATCH PATTERN (A+)", source)[0] == ("x", False)
    assert len(rows("PARTITION BY b, d MEASURES 1 AS n PATTERN (A)", source)) == 2


# --- rows and columns


def test_columns_of_one_row_per_match():
    clause = "PARTITION BY SYMBOL ORDER BY ts MEASURES A.price AS P, 1 AS One PATTERN (A)"
    assert columns(clause) == ["symbol", "P", "One"]


def test_columns_of_all_rows_per_match():
    clause = "PARTITION BY symbol ORDER BY TS MEASURES 1 AS m ALL ROWS PER MATCH PATTERN (A)"
    assert columns(clause) == ["symbol", "ts", "m", "price"]


def test_a_column_of_partition_and_order_comes_once():
    clause = "PARTITION BY symbol ORDER BY symbol, ts ALL ROWS PER MATCH PATTERN (A)"
    assert columns(clause) == ["symbol", "ts", "price"]


def test_no_columns_are_rows_nevertheless():
    found = cep.query("MATCH_RECOGNIZE (PATTERN (A A))").match({"x": [1, 2, 3, 4]})
    assert len(found) == 2
    assert found.to_dicts() == [{}, {}]


EMPTY = """ORDER BY t MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS c {} PATTERN ({})
    DEFINE A AS k = 'a'"""


@pytest.mark.parametrize(
    ("per_match", "pattern", "letters", "expected"),
    [
        ("ONE ROW PER MATCH", "A*", "aab", [(1, "A"), (2, None)]),
        ("ALL ROWS PER MATCH", "A*", "aab", [(0, 1, "A"), (1, 1, "A"), (2, 2, None)]),
        ("ALL ROWS PER MATCH SHOW EMPTY MATCHES", "A*", "ab", [(0, 1, "A"), (1, 2, None)]),
        ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", "A*", "bab", [(1, 2, "A")]),
        ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", "A", "ab", [(0, 1, "A")]),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS", "A", "bab",
         [(0, None, None), (1, 1, "A"), (2, None, None)]),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS", "A*", "ba", [(0, 1, None), (1, 2, "A")]),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW", "A X", "aab",
         [(0, 1, "A"), (1, 1, "X"), (1, 2, "A"), (2, 2, "X")]),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW", "A X", "abb",
         [(0, 1, "A"), (1, 1, "X"), (2, None, None)]),
    ],
)  # fmt: skip
def test_rows_per_match(per_match, pattern, letters, expected):
    found = rows(EMPTY.format(per_match, pattern), table(letters))
    assert [row[:3] if "ALL" in per_match else row for row in found] == expected


def test_the_number_of_matches_counts_empty_ones():
    q = cep.query(
        "MATCH_RECOGNIZE (ALL ROWS PER MATCH OMIT EMPTY MATCHES PATTERN (A*) DEFINE A AS k = 'a')"
    )
    found = q.match(table("aab"))
    assert (len(found), found.count, q.count(table("aab"))) == (2, 2, 2)
    assert repr(found).startswith("2 matches\n{'t': 0, 'k': 'a'}")


# --- names


def test_names_without_quotes_are_the_same_in_any_case():
    clause = """MEASURES CLASSIFIER() AS c, Up.PRICE AS p PATTERN (strt UP)
        DEFINE up AS uP.Price > STRT.price"""
    assert rows(clause, {"Price": [1, 2]}) == [("UP", 2)]


def test_quoted_names_are_taken_exactly():
    clause = 'MEASURES CLASSIFIER() AS c, "Up"."a b" AS "The Sum" PATTERN ("Up" UP)'
    found = cep.query(f"MATCH_RECOGNIZE ({clause})").match({"a b": [1, 2]})
    assert found.to_dicts() == [{"c": "UP", "The Sum": 1}]
    assert rows('MEASURES "A".x AS y PATTERN (a)', {"x": [1]}) == [(1,)]
    assert rows('MEASURES "say ""x""" AS y PATTERN (a)', {'say "x"': [1]}) == [(1,)]
    assert rows("MEASURES `a b` AS y PATTERN (a)", {"a b": [1]}) == [(1,)]


def test_the_exact_name_wins_over_one_in_another_case():
    assert rows("MEASURES x AS y, X AS z PATTERN (a)", {"x": [1], "X": [2]}) == [(1, 2)]


def test_words_of_the_language_can_be_names():
    source = {"first": [1], "final": [2], "interval": [3], "match": [4], "pattern": [5]}
    clause = """MEASURES first + A.final AS row, interval AS define, match AS "as", A.pattern AS one
        PATTERN (A) DEFINE A AS interval > 0 AND final > 1"""
    assert rows(clause, source) == [(3, 3, 4, 5)]


# --- WITHIN


@pytest.mark.parametrize(
    ("interval", "expected"),
    [("'2' SECOND", [2, 2]), ("'1.5' SECONDS", [2, 2]), ("'1' SECOND", [1, 1, 1, 1]),
     ("'1' MINUTE", [4]), ("3 SECONDS", [3, 1]), ("'3001 ms'", [4])],
)  # fmt: skip
def test_within_bounds_the_time_from_first_to_last(interval, expected):
    clause = f"ORDER BY t MEASURES count(*) AS n PATTERN (A+) WITHIN INTERVAL {interval}"
    moments = [datetime(2024, 5, 1) + timedelta(seconds=second) for second in range(4)]
    assert [row[0] for row in rows(clause, {"t": moments})] == expected
    assert [row[0] for row in rows(clause, {"t": [0, 1, 2, 3]}, time_unit="s")] == expected


def test_within_is_tested_with_every_row():
    clause = """ORDER BY t MEASURES count(*) AS n PATTERN (A+ B) WITHIN INTERVAL '2' SECOND
        DEFINE B AS k = 'b'"""
    assert rows(clause, {"t": [0, 1, 5, 6], "k": list("aaab")}, time_unit="s") == [(2,)]


def test_a_row_without_a_time_is_within_nothing():
    clause = "ORDER BY t MEASURES count(*) AS n PATTERN (A+) WITHIN INTERVAL '9' SECOND"
    assert rows(clause, {"t": [0, 1, None]}, time_unit="s") == [(2,)]


def test_within_needs_to_know_what_numbers_count():
    clause = "ORDER BY t PATTERN (A+) WITHIN INTERVAL '9' SECOND"
    with pytest.raises(OptionError, match="column 't' has plain numbers: say what they count"):
        rows(clause, {"t": [1]})


# --- errors at run time


@pytest.mark.parametrize(
    ("skip", "pattern", "message"),
    [
        ("TO FIRST A", "A+ X", "AFTER MATCH SKIP TO FIRST A: match 1 of its partition, from row 1 "
         "to row 3 (counting from 0), has A as its first row, where the same match would be found "
         "again"),
        ("TO B", "A+ B? X", "AFTER MATCH SKIP TO LAST B: match 1 of its partition, from row 1 to "
         "row 3 (counting from 0), has no row of B"),
    ],
)  # fmt: skip
def test_a_skip_that_cannot_go_on_names_the_match_and_the_row(skip, pattern, message):
    clause = f"""ORDER BY t AFTER MATCH SKIP {skip} PATTERN ({pattern})
        DEFINE A AS k = 'a'{", B AS k = 'b'" if "B" in pattern else ""}"""
    with pytest.raises(EvaluationError) as error:
        rows(clause, table("caac"))
    assert str(error.value) == message


def test_the_step_budget_names_the_variable_that_costs_it():
    clause = """ORDER BY t PATTERN ((A | B)+ C) DEFINE A AS sum(A.t) < 10000,
        B AS count(B.*) < 10000, C AS k = 'c'"""
    with pytest.raises(LimitError) as error:
        rows(clause, table("a" * 40), max_steps=5_000)
    assert str(error.value).startswith(
        "the search for a match from row 0 (counting from 0) took more than 5,000 steps. Most of "
        "them are for the variable "
    )
    assert "To allow more, raise max_steps." in str(error.value)


def test_a_long_partition_needs_no_deep_stack():
    assert rows("MEASURES count(A.*) AS n PATTERN (A* B?)", {"x": [1] * 20_000}) == [(20_000,)]
    clause = "MEASURES count(*) AS n PATTERN ((A B?)+ C) DEFINE B AS FALSE, C AS FALSE"
    assert rows(clause, {"x": [1] * 300}) == []


# --- sources and shapes


def test_sources_of_every_kind(tmp_path):
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES sum(price) AS total PATTERN (A+))"
    arrow = pa.table(TICKS)
    pq.write_table(arrow, tmp_path / "ticks.parquet")
    pd.DataFrame(TICKS).to_csv(tmp_path / "ticks.csv", index=False)
    pd.DataFrame(TICKS).to_csv(tmp_path / "semicolons.csv", index=False, sep=";")
    sources = [arrow, pd.DataFrame(TICKS), pl.DataFrame(TICKS), arrow.to_pylist(), TICKS,
               tmp_path / "ticks.parquet", str(tmp_path / "ticks.csv")]  # fmt: skip
    for source in sources:
        assert cep.query(clause).match(source).to_dicts() == [{"total": 36}]
    found = cep.query(clause).match(tmp_path / "semicolons.csv", sep=";")
    assert found.to_dicts() == [{"total": 36}]


def test_a_table_per_type_is_refused():
    with pytest.raises(EventError, match="a table per event type cannot be read as one table"):
        rows("PATTERN (A)", {"X": pa.table(TICKS), "Y": pa.table(TICKS)})


def test_shapes_of_a_result():
    q = cep.query("MATCH_RECOGNIZE (MEASURES A.x AS x PATTERN (A))")
    found = q.match({"x": list(range(12))})
    assert found.to_pandas()["x"].tolist() == found.to_polars()["x"].to_list() == list(range(12))
    assert sum(batch.num_rows for batch in found.to_batches(5)) == 12
    assert (found[0], found[-1], len(list(found))) == ({"x": 0}, {"x": 11}, 12)
    assert repr(found).splitlines()[0] == "12 matches"
    assert repr(found).endswith("… and 2 more")
    assert "<th>x</th>" in found._repr_html_()
    with pytest.raises(IndexError):
        found[12]


def test_an_empty_table_gives_an_empty_result():
    found = cep.query("MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES A.t AS t PATTERN (A))")
    result = found.match(pa.table({"k": pa.array([], pa.string()), "t": pa.array([], pa.int64())}))
    assert (result.columns, len(result), result.count) == (["k", "t"], 0, 0)


def test_within_over_an_empty_table_finds_nothing():
    clause = "MATCH_RECOGNIZE (ORDER BY t PATTERN (A) WITHIN INTERVAL '1' SECOND)"
    assert cep.query(clause).count(pa.table({"t": pa.array([], pa.timestamp("us"))})) == 0
