"""A query over a DataFrame: what is sent to the workers, what is refused, what comes back."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812
from spark.rows import found_together, local_rows, spark_rows

import cepheid as cep
from cepheid.spark.batch.preparation import prepare
from cepheid.spark.worker.partition_run import SLICE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "ts long, type string, id long, x double, s string"


def events(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), SCHEMA)


def kept(frame: DataFrame, query: str) -> list[int]:
    """The times of the events that are sent to the workers."""
    prepared = prepare(cep.query(query), frame.schema)
    return sorted(row["ts"] for row in prepared.relevant(frame).collect())


@pytest.mark.parametrize("mark", [".", " ", "-ü"])
@pytest.mark.parametrize("keywords", [{}, {"slices": 2}])
def test_columns_may_have_any_name(
    spark: SparkSession, mark: str, keywords: dict[str, Any]
) -> None:
    time, type_, key = (name.replace("_", mark) for name in ("t_s", "ty_pe", "user_id"))
    frame = spark.createDataFrame([(1, "A", 7), (2, "B", 8), (3, "B", 7)], [time, type_, key])
    query = cep.query(f"PATTERN SEQ(A a, B b) WHERE [`{key}`] WITHIN 5 RETURN a.`{key}` AS id, b")
    [row] = query.match(frame, time=time, type=type_, tie_break=key, **keywords).collect()
    assert (row["id"], row["b"].asDict()) == (7, {time: 3, type_: "B", key: 7})
    script = cep.script(f"PATTERN SEQ(A a, B b) WHERE [`{key}`] RETURN a.`{key}` AS id")
    [row] = script.match(frame, time=time, type=type_)["query_1"].collect()
    assert row["id"] == 7


def test_only_rows_that_can_match_are_sent(spark: SparkSession) -> None:
    frame = events(
        spark,
        (1, "A", 1, 5.0, "u"),
        (2, "A", 1, float("nan"), "u"),
        (3, "A", None, 5.0, "u"),
        (4, "B", 1, 5.0, "v%"),
        (5, "B", 1, None, None),
        (6, "Z", 1, 5.0, "u"),
    )
    by_query = {
        "PATTERN SEQ(A a, B b)": [1, 2, 3, 4, 5],
        "PATTERN SEQ(A a, B b) WHERE [id]": [1, 2, 4, 5],
        "PATTERN SEQ(A a, B b) WHERE a.x > 1 AND b.x IS NULL": [1, 3, 5],
        "PATTERN SEQ(A a, B b) WHERE NOT a.x > 1 AND b.s LIKE 'v_'": [4],
        "PATTERN SEQ(A a, B+ b[]) WHERE b[i].x < 9 AND a.s IN ('u', 'w')": [1, 2, 3, 4],
        "PATTERN SEQ(A a, B+ b[]) WHERE b[2].x < 9 AND a.x % 2 = 0": [1, 2, 3, 4, 5],
        "PATTERN SEQ(A a, ~(B b), A c) WHERE b.x > 7": [1, 2, 3],
        "PATTERN SEQ(A a, B b) WHERE strict_contiguity { a.x > 7 }": [1, 2, 3, 4, 5, 6],
        "PATTERN SEQ(A a, B b) WHERE a.x > 7 WITHIN 3 EVENTS": [1, 2, 3, 4, 5, 6],
        "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { a.x < b.x OR a.x > 7 }": [
            1,
            2,
            3,
            4,
            5,
        ],
    }
    assert {query: kept(frame, query) for query in by_query} == by_query


def test_only_columns_that_the_query_needs_are_sent(spark: SparkSession) -> None:
    frame = events(spark)
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] RETURN a.x")
    assert prepare(query, frame.schema).settings.columns == ("ts", "type", "id", "x")
    whole = prepare(cep.query("PATTERN A a"), frame.schema).settings
    assert whole.columns == tuple(frame.columns)


def test_events_of_equal_time_are_ordered_by_their_other_columns(spark: SparkSession) -> None:
    rows = [(1, "A", 1, 2.0, "u"), (1, "A", 1, 1.0, "u"), (1, "B", 1, 0.0, "u")]
    query = cep.query("PATTERN SEQ(A+ a[], B b) WHERE strict_contiguity {[id]} RETURN a[].x AS xs")
    frames = [events(spark, *rows), events(spark, *rows[::-1])]
    with pytest.warns(cep.CepheidWarning, match="all events go to one worker"):
        matches = [query.match(frame) for frame in frames]
    found, again = found_together(matches)
    assert (
        found
        == again
        == {
            (("start", 1), ("end", 1), ("xs", (1.0, 2.0))): 1,
            (("start", 1), ("end", 1), ("xs", (2.0,))): 1,
        }
    )


KINDS = pa.table(
    {
        "at": pa.array([0, 60_000_000, 120_000_000], pa.timestamp("us", "UTC")),
        "local": pa.array([0, 60_000_000, 120_000_000], pa.timestamp("us")),
        "day": pa.array([0, 1, 2], pa.date32()),
        "seconds": pa.array([0.0, 60.0, 120.0]),
        "kind": ["A", "B", "B"],
        "cost": pa.array([Decimal("1.50"), Decimal("2.25"), None], pa.decimal128(10, 2)),
        "tags": [["p"], [], None],
        "data": [b"x", None, b"y"],
    }
)


@pytest.mark.parametrize(
    ("time", "window"),
    [("at", "90 seconds"), ("local", "90 seconds"), ("day", "36 hours"), ("seconds", "90")],
)
def test_times_and_values_of_every_kind_come_back(
    spark: SparkSession, time: str, window: str
) -> None:
    query = cep.query(f"PATTERN SEQ(A a, B b) WHERE a.cost < b.cost WITHIN {window}")
    local = query.match(KINDS, time=time, type="kind").to_arrow()
    frame = spark.createDataFrame(KINDS).withColumn("local", F.col("local").cast("timestamp_ntz"))
    found = query.match(frame, time=time, type="kind", slices=2).toArrow()
    assert found.column_names == local.column_names
    assert local_rows(found) == local_rows(local)
    assert found.num_rows == 1


@pytest.mark.parametrize(
    ("query", "sure"),
    [
        ("SEQ(A a, B b) RETURN a.ts AS a, b.ts AS b, b.x", {"start", "end", "a", "b"}),
        ("SEQ(A a, ANY(A, B) b) RETURN b.ts, a.type", {"start", "end", "b.ts"}),
        ("SEQ(A a, B+ b[]) RETURN b[1].ts AS b, a.ts + 1 AS a", {"start", "end"}),
        ("OR(A a, B b) RETURN a.ts, b.ts AS b", {"start", "end"}),
        ("SEQ(A a, B b) RETURN a.x AS start, b.ts AS end", {"end"}),
        ("SEQ(A a, B b)", {"start", "end"}),
    ],
)
def test_columns_that_are_never_null_are_declared_so(
    spark: SparkSession, query: str, sure: set[str]
) -> None:
    frame = events(spark, (1, "A", 1, None, None), (2, "B", 1, None, None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        found = cep.query(f"PATTERN {query}").match(frame)
    assert {field.name for field in found.schema if not field.nullable} == sure
    local = cep.query(f"PATTERN {query}").match(frame.toArrow()).to_arrow()
    assert spark_rows(found) == local_rows(local)


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("SEQ(A a, B b) WITHIN 9 RETURN b.ts, a.ts", ["b.ts", "a.ts"]),
        ("SEQ(A a, B b) WITHIN 9 RETURN a.ts AS `from`, a.x", ["end", "from", "a.x"]),
        ("A a WITHIN 9 RETURN a.ts AS t", ["t"]),
        ("SEQ(A a, B+ b[]) WITHIN 9 RETURN a.ts AS t, b[1].ts AS u", ["end", "t", "u"]),
        ("SEQ(A a, ~(B b)) WITHIN 3 RETURN a.ts AS t", ["end", "t"]),
        ("SEQ(A a, B b) WITHIN 9 RETURN a.x AS start, b.ts AS u", ["start", "end", "u"]),
        ("AND(A a, B b) WITHIN 9 RETURN a.ts AS t, b.ts AS u", ["start", "end", "t", "u"]),
        ("SEQ(A a, B* b[]) WITHIN 9 RETURN a.ts AS t", ["start", "end", "t"]),
        ("SEQ(A a, B b) WITHIN 9", ["start", "end", "a", "b"]),
    ],
)
def test_times_that_are_returned_are_sent_once(
    spark: SparkSession, query: str, sent: list[str]
) -> None:
    frame = events(spark, *((n, "AB"[n % 2], 1, 1.0, "u") for n in range(8)))
    compiled = cep.query(f"PATTERN {query}")
    assert prepare(compiled, frame.schema).sending.result_schema.names == sent
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        found = compiled.match(frame)
    local = compiled.match(frame.toArrow()).to_arrow()
    assert found.columns == local.column_names
    assert spark_rows(found) == local_rows(local)


def test_a_match_has_the_same_id_however_it_is_found(spark: SparkSession) -> None:
    rows = [(n, "AB"[n % 2], n % 3, 1.0, "u") for n in range(12)] + [(3, "B", 0, 1.0, "u")]
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 7")
    frame = events(spark, *rows)
    by_key, by_slice = found_together(
        [query.match(frame, match_id=True), query.match(frame, match_id=True, slices=3)]
    )
    assert by_key == by_slice
    ids = [dict(row)["match_id"] for row in by_key.elements()]
    assert len(set(ids)) == len(ids) == len(query.match(frame.toArrow()))


def test_a_table_for_each_type(spark: SparkSession) -> None:
    tables = {
        "A": pa.table({"ts": [1, 2], "id": [1, 2], "x": [5, 6]}),
        "B": pa.table({"ts": [3, 4], "id": [1, 2], "y": [0.5, None]}),
    }
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] RETURN a.x, b.y")
    frames = {name: spark.createDataFrame(table) for name, table in tables.items()}
    assert spark_rows(query.match(frames)) == local_rows(query.match(tables).to_arrow())


def test_a_registered_function_goes_along(spark: SparkSession) -> None:
    cep.register_function("twice", lambda x: 2 * x)
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] AND twice(a.x) = b.x RETURN b.ts AS ts")
    frame = events(spark, (1, "A", 1, 2.0, "u"), (2, "B", 1, 4.0, "u"), (3, "B", 1, 5.0, "u"))
    assert [row["ts"] for row in query.match(frame).collect()] == [2]


def test_what_cannot_be_run_is_refused_with_the_reason(spark: SparkSession) -> None:
    frame = events(spark, (1, "A", 1, 2.0, "u"))
    query = cep.query("PATTERN SEQ(A a, B b)")
    with pytest.raises(
        cep.OptionError, match="cannot be divided into time slices: the query has no"
    ):
        query.match(frame, slices=2)
    with pytest.raises(cep.OptionError, match="is an object in memory"):
        query.match(frame, output="compressed")
    with pytest.raises(cep.EventError, match="no time column 'time'"):
        query.match(frame, time="time")
    with pytest.raises(cep.QuerySemanticError, match="have no attribute 'z'"):
        cep.query("PATTERN A a WHERE a.z = 1").match(frame)
    with pytest.raises(cep.OptionError, match="returns a column 'match_id' of its own"):
        cep.query("PATTERN A a RETURN a.x AS match_id").match(frame, match_id=True)


def test_an_event_without_time_or_type_is_an_error_and_not_left_out(spark: SparkSession) -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id]")
    for row, said in (((None, "A", 1, 1.0, "u"), "time column"), ((1, None, 1, 1.0, "u"), "type")):
        with pytest.raises(Exception, match=f"{said}.* is null in 1 of 1 events") as raised:
            query.match(events(spark, row)).collect()
        # The sentence comes first, and no stack before it.
        message = str(raised.value).partition("\tat org.apache.spark")[0]
        assert "cepheid.errors.EventError: " in message
        assert "Traceback" not in message


SCRIPT = """
    PATTERN SEQ(A a, B b) WHERE [id] AND a.x < b.x WITHIN 5 RETURN Rise(id = a.id, by = b.x - a.x);
    PATTERN SEQ(Rise r, A a) WHERE [id] AND a.x > r.by WITHIN 9
"""


def test_a_script_is_one_job_with_the_matches_of_each_query(spark: SparkSession) -> None:
    rows = [(n, "AB"[n % 2], n % 3, float(n * 7 % 5), "u") for n in range(40)]
    script, frame = cep.script(SCRIPT), events(spark, *rows)
    local = script.match(frame.toArrow())
    found = script.match(frame)
    assert list(found) == list(local) == ["Rise", "query_2"]
    counted = found_together(list(found.values()))
    assert counted == [local_rows(matches.to_arrow()) for matches in local.values()]
    assert all(counted)


def test_a_script_that_is_cached_runs_once(spark: SparkSession) -> None:
    rows = [(n, "ABZ"[n % 3], n % 4, float(n * 7 % 5), "u") for n in range(40)]
    script, frame = cep.script(SCRIPT), events(spark, *rows)
    found = script.match(frame)

    def plan(name: str) -> str:
        return str(found[name]._jdf.queryExecution().executedPlan().toString())  # type: ignore[operator]

    assert "InMemoryTableScan" not in plan("Rise")
    found = script.match(frame).cache()
    assert all("InMemoryTableScan" in plan(name) for name in found)
    counted = [spark_rows(each) for each in found.values()]
    local = script.match(frame.toArrow())
    assert counted == [local_rows(matches.to_arrow()) for matches in local.values()]
    found.unpersist()
    prepared = prepare(script, frame.schema)
    assert {row["type"] for row in prepared.relevant(frame).collect()} == {"A", "B"}
    strict = "PATTERN SEQ(A a, B b) WHERE strict_contiguity { a.x < b.x } WITHIN 5"
    all_rows = prepare(cep.script(f"{SCRIPT}; {strict}"), frame.schema)
    assert all_rows.rows is None


def test_a_script_whose_composite_events_lose_the_key_runs_in_one_worker(
    spark: SparkSession,
) -> None:
    rows = [(n, "AB"[n % 2], n % 3, float(n * 7 % 5), "u") for n in range(20)]
    script = cep.script(SCRIPT.replace("id = a.id", "id = a.id + 1"))
    frame = events(spark, *rows)
    with pytest.warns(cep.CepheidWarning, match="all events go to one worker"):
        found = script.match(frame)
    local = script.match(frame.toArrow())
    counted = found_together(list(found.values()))
    assert counted == [local_rows(matches.to_arrow()) for matches in local.values()]


def test_a_heavy_key_is_found_and_cut_by_time(
    spark: SparkSession, tune: Callable[..., None]
) -> None:
    tune(slice_events=100)
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [k] WITHIN 4 RETURN a.ts AS t, b.ts AS u")
    for heavy, is_cut in ((9, True), (1, False)):
        frame = spark.range(1_000).selectExpr(
            "id AS ts", "if(id % 3 = 0, 'A', 'B') AS type", f"if(id % 10 < {heavy}, 0, id) AS k"
        )
        found = query.match(frame, slices="auto")
        assert (SLICE in found._jdf.queryExecution().toString()) is is_cut
        assert spark_rows(found) == local_rows(query.match(frame.toArrow()).to_arrow())


def at_seconds(spark: SparkSession, *rows: tuple[int, str, int]) -> DataFrame:
    frame = spark.createDataFrame(list(rows), "at long, type string, id long")
    return frame.select(F.col("at").cast("timestamp").alias("ts"), "type", "id")


def test_matches_over_a_frame_are_counted_by_spark(spark: SparkSession) -> None:
    frame = at_seconds(spark, (1, "A", 1), (2, "B", 1), (3, "B", 1), (4, "B", 2))
    query = cep.query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10 seconds")
    assert query.count(frame) == 2
    assert query.count(frame, slices=2) == 2
    assert query.count(frame, output="non_overlapping") == 1
    by_type = {name: frame.where(F.col("type") == name).drop("type") for name in "AB"}
    assert query.count(by_type) == 2


def test_matches_of_a_stream_are_not_counted(rocksdb: SparkSession) -> None:
    stream = rocksdb.readStream.format("rate").load()
    frame = stream.select(F.col("timestamp").alias("ts"), F.lit("A").alias("type"), "value")
    with pytest.raises(
        cep.OptionError, match="a stream does not end, so its matches have no final"
    ):
        cep.query("PATTERN A a WITHIN 10 seconds").count(frame, lateness="1 minute")


def test_what_does_not_run_on_spark_says_how_events_get_there(spark: SparkSession) -> None:
    frame = at_seconds(spark, (1, "A", 1), (2, "B", 1))
    query = cep.query("PATTERN SEQ(A a, B b)")
    script = cep.script("EVENT A RETURN X(id = A.id); PATTERN SEQ(X x, X y)")
    for read in (
        query.diagnose,
        query.match_stream,
        query.stacks,
        query.session().feed,
        script.session().feed,
        lambda events: script.diagnose(events, "X"),
    ):
        for given in (frame, {"A": frame}, {"A": frame, "B": {"ts": [1]}}):
            with pytest.raises(cep.EventError) as raised:
                read(given)
            assert "a Spark DataFrame is not read here" in str(raised.value)
            assert "df.limit(100_000).toArrow()" in str(raised.value)
    assert len(query.session().feed(frame.toArrow())) == 1
