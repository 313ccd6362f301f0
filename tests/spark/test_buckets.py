"""A bucket of a stream gives the matches of a local run, however its events come."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from agreement.strategies import Case, cases
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from spark.rows import local_rows

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.runtime import session
from cepheid.runtime.events import order_events
from cepheid.spark.arrow_schemas import result_schema
from cepheid.spark.bucket import Bucket, Step
from cepheid.spark.worker_settings import WorkerSettings

START_MS = 1_000_000
EVER_MS = 10**12
COLUMNS = ("ts", "type", "x", "y", "k", "s", "seq")


@pytest.fixture(autouse=True)
def _little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and texts of the past are forgotten at the first opportunity."""
    monkeypatch.setattr(session, "_FEW_NUMBERS", 0)


def in_milliseconds(case: Case) -> tuple[str, pa.Table]:
    """The query and the stream with its numbers taken for milliseconds."""
    table = case.table()
    ticks = [(START_MS + tick) * 1_000 for tick in table.column("ts").to_pylist()]
    table = table.set_column(0, "ts", pa.array(ticks, pa.timestamp("us", "UTC")))
    table = table.append_column("seq", pa.array(range(len(table)), pa.int64()))
    return re.sub(r"(WITHIN \d+)$", r"\1 milliseconds", case.query.rstrip()), table


def worker_settings(query: cep.CompiledQuery, table: pa.Table, output: str) -> WorkerSettings:
    empty = order_events(table.slice(0, 0), time="ts", type="type")
    return WorkerSettings(
        text=str(query),
        time="ts",
        type="type",
        tie_break=("seq",),
        ties=("seq",),
        evaluation="auto",
        output=output,
        time_unit=None,
        schema=None,
        options={},
        result=result_schema(query.tree, empty, match_id=True).serialize().to_pybytes(),
        match_id=True,
    )


class Stream:
    """A bucket as the operator runs it: stored after every step, with the watermarks of Spark."""

    def __init__(self, settings: WorkerSettings, lateness: int, prompt: bool) -> None:
        self.settings, self.lateness, self.prompt = settings, lateness, prompt
        self.stored = None
        self.due: int | None = None
        self.watermark = 0
        self.newest = 0
        self.late = 0
        self.found: list[pa.RecordBatch] = []

    def micro_batch(self, events: pa.Table) -> None:
        newest_ms = [int(moment.timestamp() * 1_000) for moment in events.column("ts").to_pylist()]
        self.newest = max([self.newest, *newest_ms])
        reached = max(self.newest - self.lateness, 0)
        self._step([events], self.watermark, reached if self.prompt else 0)
        self.watermark = reached

    def timers(self) -> None:
        if self.due is not None and self.due <= self.watermark:
            self._step([], self.watermark, self.watermark)
            assert self.due is None or self.due > self.watermark

    def end(self) -> None:
        self.watermark = EVER_MS
        self.timers()

    def _step(self, fresh: list[pa.Table], before: int, after: int) -> None:
        bucket = Bucket(self.settings, COLUMNS, self.stored)
        step: Step = bucket.step(fresh, before, after)
        self.found.extend(step.matches)
        self.late += 0 if step.late is None else step.late.num_rows
        self.stored, self.due = bucket.stored(), bucket.due

    def rows(self) -> Counter[Any]:
        schema = self.settings.result_schema
        return local_rows(pa.Table.from_batches(self.found, schema))


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(
    cases(),
    st.lists(st.integers(0, 6), min_size=12, max_size=12),
    st.integers(0, 6),
    st.lists(st.integers(1, 4), min_size=12, max_size=12),
    st.booleans(),
    st.sampled_from(("all", "all", "non_overlapping")),
)
def test_matches_are_those_of_a_local_run(
    case: Case, delays: list[int], lateness: int, sizes: list[int], prompt: bool, output: str
) -> None:
    text, table = in_milliseconds(case)
    try:
        query = cep.query(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cep.CepheidWarning)
            expected = query.match(table, tie_break="seq", output=output).to_arrow()
        query.session().feed(table.slice(0, 0))
    except (cep.QuerySemanticError, cep.EvaluationError) as error:
        event(f"refused: {type(error).__name__}")
        return
    if "EVENTS" in text and any(each.waits for each in analyse(query.tree, None).alternatives):
        event("waits for events")  # A local run has an end, after which none come.
        return
    # An event that is delayed by no more than the lateness is behind no more than that.
    arrival = sorted(
        range(len(table)),
        key=lambda ix: case.rows[ix][0] + min(delays[ix % len(delays)], lateness),
    )
    came = table.take(pa.array(arrival, pa.int64()))
    stream = Stream(worker_settings(query, table, output), lateness, prompt)
    at = 0
    for size in sizes:
        if at < len(came):
            stream.micro_batch(came.slice(at, size))
        stream.timers()
        at += size
    if at < len(came):
        stream.micro_batch(came.slice(at))
    stream.end()
    assert stream.late == 0
    found = pa.Table.from_batches(stream.found, stream.settings.result_schema)
    assert local_rows(found.drop_columns("match_id")) == local_rows(expected)
    assert len(set(found.column("match_id").to_pylist())) == len(found)
    window = query.tree.window
    if window is not None and "EVENTS" not in text:
        event("forgotten")
        assert stream.stored is None
