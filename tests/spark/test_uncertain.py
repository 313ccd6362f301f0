"""Uncertain times on Spark give the matches and confidences of a local run."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from agreement.test_imprecise import Case, cases
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from spark.test_buckets import START_MS, Stream
from spark.test_streams import Feed, readings

import cepheid as cep
from cepheid.spark.batch.arrow_schemas import spark_schema
from cepheid.spark.batch.preparation import Prepared, prepare
from cepheid.spark.stream.timing import Timing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore:no fast evaluation runs this query")

INTERVAL = {"time": ("lo", "hi"), "granularity": "1 ms"}
AROUND = {"time": "lo", "granularity": "1 ms", "uncertainty": {"A": "2 ms", "B": "1 ms"}}


def shown(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The rows in order, with the digits of a confidence that do not depend on rounding."""
    rows = [{**row, "confidence": round(row["confidence"], 9), "match_id": None} for row in rows]
    return sorted(tuple(map(repr, row.values())) for row in rows)


def prepared_for(query: cep.CompiledQuery, table: pa.Table, keywords: dict[str, Any]) -> Prepared:
    return prepare(query, spark_schema(table.schema), match_id=True, **keywords)


class UncertainStream(Stream):
    """A bucket whose events have uncertain times."""

    def __init__(self, prepared: Prepared, lateness: int, prompt: bool) -> None:
        timing = Timing(lateness * 1_000) if prompt else Timing()
        super().__init__(prepared.settings, timing, lateness)

    def micro_batch(self, events: pa.Table) -> None:
        super().micro_batch(events.append_column("ts", events.column("lo")))


@settings(suppress_health_check=list(HealthCheck), max_examples=40)
@given(
    cases(),
    st.lists(st.integers(0, 6), min_size=5, max_size=5),
    st.integers(1, 6),  # With 0, events of equal time have to come in the order of their ties.
    st.lists(st.integers(1, 3), min_size=5, max_size=5),
    st.booleans(),
    st.sampled_from((INTERVAL, AROUND)),
)
def test_a_bucket_gives_the_matches_of_a_local_run(
    case: Case,
    delays: list[int],
    lateness: int,
    sizes: list[int],
    prompt: bool,
    keywords: dict[str, Any],
) -> None:
    text = re.sub(r"(WITHIN \d+)$", r"\1 milliseconds", case.query)
    table = case.table().drop_columns("p")
    for place, name in enumerate(("lo", "hi")):
        ticks = [(START_MS + tick) * 1_000 for tick in table.column(name).to_pylist()]
        table = table.set_column(place, name, pa.array(ticks, pa.timestamp("us", "UTC")))
    try:
        query = cep.query(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cep.CepheidWarning)
            expected = query.match(table, **keywords).to_arrow()
    except (cep.QuerySemanticError, cep.EvaluationError) as error:
        event(f"refused: {type(error).__name__}")
        return
    arrival = sorted(
        range(len(table)), key=lambda ix: case.rows[ix]["lo"] + min(delays[ix], lateness)
    )
    came = table.take(pa.array(arrival, pa.int64()))
    stream = UncertainStream(prepared_for(query, table, keywords), lateness, prompt)
    at = 0
    for size in sizes:
        if at < len(came):
            stream.micro_batch(came.slice(at, size))
        stream.timers()
        at += size
    stream.end()
    assert stream.late == 0
    found = pa.Table.from_batches(stream.found, stream.settings.result_schema)
    expected = expected.append_column("match_id", pa.nulls(len(expected)))
    if query.tree.window is not None or not stream.has_state:
        assert shown(found.to_pylist()) == shown(expected.to_pylist())
        assert not stream.has_state
    event(f"found {min(len(found), 3)}")


ROWS = [(n, n + n % 4, "ABAC"[n % 4], n * 7 % 3, n % 5) for n in range(60)]
COLUMNS = "lo long, hi long, type string, id long, x long"


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 9 RETURN a.x AS x, b.x AS y",
        "PATTERN SEQ(A a, ~(C c), B b) WHERE [id] WITHIN 9 WITH CONFIDENCE > 10%",
        "PATTERN SEQ(A a, B b) WHERE [id] AND skip_till_next_match WITHIN 9",
    ],
)
def test_a_dataframe_gives_the_matches_of_a_local_run(spark: SparkSession, text: str) -> None:
    frame = spark.createDataFrame(ROWS, COLUMNS)
    query = cep.query(text)
    local = query.match(frame.toArrow(), time=("lo", "hi")).to_arrow()
    found = query.match(frame, time=("lo", "hi"))
    assert found.columns == local.column_names
    rows = found.toArrow().to_pylist()
    assert shown(rows) == shown(local.to_pylist())
    assert rows


def test_what_spark_does_not_do_with_uncertain_times_is_said(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS[:9], COLUMNS)
    query = cep.query("PATTERN SEQ(A a, B b) WITHIN 9 RETURN a.x AS x")
    with pytest.warns(cep.CepheidWarning, match="an event of uncertain time can be in several"):
        query.match(frame, time=("lo", "hi"))
    with pytest.raises(cep.OptionError, match="an event of uncertain time can be in several"):
        query.match(frame, time=("lo", "hi"), slices=2)
    with pytest.raises(cep.OptionError, match=r"orderBy\(F.desc\('confidence'\)\).limit\(3\)"):
        query.match(frame, time=("lo", "hi"), top_k=3)
    with pytest.raises(cep.EventError, match="no column 'high' for the latest time"):
        query.match(frame, time=("lo", "high"))


def test_a_stream_gives_the_matches_of_a_local_run(rocksdb: SparkSession, tmp_path: Path) -> None:
    rows = [(n, "ABAC"[n % 4], n * 7 % 3, n % 5) for n in range(40)]
    table = readings(*rows, (9_999, "Z", 0, 0))
    feed = Feed(rocksdb, tmp_path)
    feed.put(table.slice(0, 20))
    feed.put(table.slice(20))
    query = cep.query("PATTERN SEQ(A a, ~(C c), B b) WHERE [id] WITHIN 12 seconds RETURN a.x AS x")
    said = {"uncertainty": {"A": "3 seconds", "C": "1 second"}, "granularity": "1 second"}
    found: list[dict[str, Any]] = []
    matches = query.match(feed.events, lateness="2 seconds", **said)
    feed.run(matches, lambda batch, _: found.extend(batch.toArrow().to_pylist()))
    local = query.match(table, **said).to_arrow()
    assert matches.columns == [*local.column_names, "match_id"]
    assert shown(found) == shown([{**row, "match_id": None} for row in local.to_pylist()])
    assert found
    with pytest.raises(cep.OptionError, match="probabilities='p' cannot be used with the columns"):
        query.match(
            feed.events.selectExpr("*", "ts AS hi", "array(1D) AS p"),
            time=("ts", "hi"),
            probabilities="p",
            lateness="2 seconds",
        )
