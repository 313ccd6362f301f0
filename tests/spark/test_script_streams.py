"""A script over a streaming DataFrame gives the matches of a local run, or says why it does not."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from agreement.script_strategies import script_cases
from agreement.strategies import Case
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from spark.rows import local_rows, plain
from spark.test_buckets import Stream, in_milliseconds
from spark.test_streams import Feed, readings

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.spark.batch.arrow_schemas import spark_schema
from cepheid.spark.batch.preparation import prepare
from cepheid.spark.stream.timing import Timing
from cepheid.spark.worker.worker_settings import WorkerSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.filterwarnings("ignore:no fast evaluation runs this query")


@pytest.fixture(autouse=True)
def _little_room(tune: Callable[..., None]) -> None:
    """Keys and texts of the past are forgotten at the first opportunity."""
    tune(few_strings=0, few_events=0)


def script_settings(script: cep.CompiledScript, table: pa.Table) -> WorkerSettings:
    return prepare(script, spark_schema(table.schema), tie_break="seq", match_id=True).settings


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=25)
@given(
    script_cases(),
    st.lists(st.integers(0, 6), min_size=12, max_size=12),
    st.integers(0, 6),
    st.lists(st.integers(1, 4), min_size=12, max_size=12),
    st.booleans(),
)
def test_a_bucket_gives_the_matches_of_a_local_run(
    case: Case, delays: list[int], lateness: int, sizes: list[int], prompt: bool
) -> None:
    _, table = in_milliseconds(case)
    text = re.sub(r"(WITHIN \d+)(?! EVENTS)\b", r"\1 milliseconds", case.query)
    try:
        script = cep.script(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cep.CepheidWarning)
            expected = script.match(table, tie_break="seq")
        script.session().feed(table.slice(0, 0))
    except (cep.QuerySemanticError, cep.EvaluationError) as error:
        event(f"refused: {type(error).__name__}")
        return
    waits = (each.waits for q in script.queries.values() for each in analyse(q, None).alternatives)
    if "EVENTS" in text and any(waits):
        event("waits for events")  # A local run has an end, after which none come.
        return
    # An event that is delayed by no more than the lateness is behind no more than that.
    arrival = sorted(
        range(len(table)),
        key=lambda ix: case.rows[ix][0] + min(delays[ix % len(delays)], lateness),
    )
    came = table.take(pa.array(arrival, pa.int64()))
    timing = Timing(lateness * 1_000) if prompt else Timing()
    stream = Stream(script_settings(script, table), timing, lateness)
    at = 0
    for size in sizes:
        if at < len(came):
            stream.micro_batch(came.slice(at, size))
        stream.timers()
        at += size
    if at < len(came):
        stream.micro_batch(came.slice(at))
    stream.end()
    # What is made at the end may be remembered for another window.
    while stream.states.timers:
        stream.watermark_ms = max(stream.states.timers)
        stream.timers()
    assert stream.late == 0
    found = pa.Table.from_batches(stream.found, stream.settings.result_schema)
    for number, matches in enumerate(expected.values()):
        own = found.filter(pa.compute.equal(found.column("query"), number))
        rows = Counter(map(plain, own.column(f"q{number}").to_pylist()))
        assert rows == local_rows(matches.to_arrow()), text
        event(f"query {number} found something" if rows else f"query {number} found nothing")
    ids = found.column("match_id").to_pylist()
    assert len(set(ids)) == len(ids)
    if "EVENTS" not in text:
        assert not stream.has_state


SCRIPT = """
    PATTERN SEQ(A a, B b, ~(C c)) WHERE [id] AND a.x < b.x WITHIN 5 seconds
    RETURN Rise(id = a.id, by = b.x - a.x);
    PATTERN SEQ(Rise r, A a) WHERE [id] AND a.x > r.by WITHIN 9 seconds
"""


def test_a_script_is_one_stream_of_the_matches_of_all_queries(
    rocksdb: SparkSession, tmp_path: Path
) -> None:
    rows = [(n / 2, "AABBC"[n * 7 % 5], n % 3, n * 11 % 7) for n in range(60)]
    table = readings(*rows, (9_999, "Z", 0, 0))
    script = cep.script(SCRIPT)
    feed = Feed(rocksdb, tmp_path)
    for low in (0, 20, 40):
        feed.put(table.slice(low, 20 if low < 40 else None))
    matches = script.match(feed.events, lateness="2 seconds")
    assert matches.columns == ["query", "Rise", "query_2", "match_id"]
    found: list[Any] = []

    def collect(batch: DataFrame, _: int) -> None:
        found.extend(batch.toArrow().to_pylist())

    progress = feed.run(matches, collect)
    local = script.match(table)
    for name, expected in local.items():
        got = [row for row in found if row["query"] == name]
        assert Counter(plain(row[name]) for row in got) == local_rows(expected.to_arrow())
        assert len(expected)
        assert all(row[other] is None for row in got for other in local if other != name)
    assert len({row["match_id"] for row in found}) == len(found)
    assert sum(each.observedMetrics["cepheid"]["matches"] for each in progress) == len(found)
    batch = script.match(rocksdb.createDataFrame(table), match_id=True)
    together = batch.together
    assert together.columns == matches.columns
    ids = {(row["query"], row["match_id"]) for row in together.collect()}
    assert ids == {(row["query"], row["match_id"]) for row in found}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PATTERN A a; PATTERN B b WHERE [id]", "'query_1' has none"),
        (
            "PATTERN A a WHERE [id]; PATTERN B b WHERE [x]",
            r"there are \[id\] in 'query_1' and \[x\] in 'query_2'",
        ),
        (
            "PATTERN A a WHERE [id] RETURN Q(id = a.id + 1); PATTERN SEQ(Q q, B b) WHERE [id]",
            "'Q' makes composite events without id = ….id",
        ),
        (
            "PATTERN A a WHERE [id] RETURN Qq(id = a.id); "
            "PATTERN SEQ(Qq q, B b) WHERE [id] RETURN QQ(id = q.id)",
            "called 'QQ', and so is the column 'Qq'",
        ),
    ],
)
def test_what_one_operator_cannot_run_is_refused(
    rocksdb: SparkSession, tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(cep.OptionError, match=message):
        cep.script(text).match(Feed(rocksdb, tmp_path).events, lateness="1 second")
