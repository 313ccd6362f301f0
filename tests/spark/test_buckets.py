"""A bucket of a stream gives the matches of a local run, however its events come."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from agreement.strategies import Case, absence_cases, cases
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues
from spark.rows import local_rows

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.events.events import order_events
from cepheid.sessions.run_settings import RunSettings
from cepheid.spark.batch.arrow_schemas import result_schema
from cepheid.spark.stream.bucket_operator import BucketOperator
from cepheid.spark.stream.bucket_store import ENTRY, HEAD
from cepheid.spark.stream.packing import from_blob, to_blobs
from cepheid.spark.stream.timing import Timing
from cepheid.spark.worker.worker_settings import WorkerSettings

START_MS = 1_000_000
EVER_MS = 10**12


@pytest.fixture(autouse=True)
def _little_room(tune: Callable[..., None]) -> None:
    """Keys and texts of the past are forgotten at the first opportunity, and blobs are small."""
    tune(few_strings=0, few_events=0, blob_bytes=100)


def in_milliseconds(case: Case) -> tuple[str, pa.Table]:
    """The query and the stream with its numbers taken for milliseconds."""
    table = case.table()
    ticks = [(START_MS + tick) * 1_000 for tick in table.column("ts").to_pylist()]
    table = table.set_column(0, "ts", pa.array(ticks, pa.timestamp("us", "UTC")))
    table = table.append_column("seq", pa.array(range(len(table)), pa.int64()))
    return re.sub(r"(WITHIN \d+)(?=[,)]|$)", r"\1 milliseconds", case.query.rstrip()), table


def worker_settings(
    query: cep.CompiledQuery, table: pa.Table, output: str, gap: str | None = None
) -> WorkerSettings:
    empty = order_events(table.slice(0, 0))
    return WorkerSettings(
        text=str(query),
        run=RunSettings.of({"tie_break": "seq", "output": output, "at_most_once_per": gap}),
        ties=("seq",),
        columns=tuple(table.column_names),
        result_schema=result_schema(query.tree, empty).append(pa.field("match_id", pa.string())),
        match_id=True,
    )


class State:
    """A state of Spark's: a value, or a map."""

    def __init__(self, kept: dict[Any, Any]) -> None:
        self.kept = kept

    def get(self) -> Any:
        return self.kept.get("value")

    def update(self, value: Any) -> None:
        self.kept["value"] = value

    def getValue(self, key: Any) -> Any:  # noqa: N802
        return self.kept.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.kept[key] = value

    def clear(self) -> None:
        self.kept.clear()


class StateStore:
    """The states of a bucket by their names, and its timers, as an operator is given them."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[Any, Any]] = {}
        self.timers: set[int] = set()

    def getValueState(self, name: str, _schema: str) -> State:  # noqa: N802
        return State(self.kept.setdefault(name, {}))

    def getMapState(self, name: str, _key: str, _schema: str) -> State:  # noqa: N802
        return State(self.kept.setdefault(name, {}))

    def registerTimer(self, timer: int) -> None:  # noqa: N802
        assert timer not in self.timers
        self.timers.add(timer)

    def deleteTimer(self, timer: int) -> None:  # noqa: N802
        self.timers.remove(timer)

    def copied(self) -> StateStore:
        """The same states, as they are committed."""
        store = StateStore()
        store.kept = {name: dict(kept) for name, kept in self.kept.items()}
        store.timers = set(self.timers)
        return store


class Stream:
    """A bucket as Spark runs it: stored after every micro-batch, with the watermarks of Spark.

    Every bucket is logged and, where there is a folder, copied. ``troubles`` says for each step
    whether it is tried twice: an attempt that fails leaves its copy of the bucket behind, and the
    state as it was. ``clock_ms`` is the time of the micro-batch in the offset log.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        timing: Timing,
        lateness: int,
        folder: Path | None = None,
        troubles: Sequence[bool] = (False, False, True) * 9,
    ) -> None:
        self.settings, self.timing, self.lateness = settings, timing, lateness
        self.folder, self.troubles = folder, list(troubles)
        self.states = StateStore()
        self.watermark_ms = 0
        self.clock_ms = 1
        self.newest_us = 0
        self.late = 0
        self.found: list[pa.RecordBatch] = []

    def micro_batch(self, events: pa.Table) -> None:
        """Spark runs a micro-batch with events; it knows their watermark after it."""
        newest_us = pc.max(events.column("ts").cast(pa.int64())).as_py()
        rows = [Row(part=0, newest_us=newest_us, data=blob) for blob in to_blobs(events)]
        self._step(rows or [Row(part=0, newest_us=newest_us, data=None)])
        self.newest_us = max(self.newest_us, newest_us or 0)
        self.watermark_ms = max(self.newest_us // 1_000 - self.lateness, 0)

    def timers(self) -> None:
        """Spark runs a micro-batch without events."""
        self._step([])

    def end(self) -> None:
        """Time passes, by whatever it is measured."""
        self.watermark_ms = self.clock_ms = EVER_MS
        self.timers()

    def _step(self, rows: list[Row]) -> None:
        if self.troubles and self.troubles.pop():
            committed = self.states.copied()
            self._attempt(rows)
            self.states = committed
        for answer in self._attempt(rows):
            self.late += answer["late"] or 0
            if answer["data"] is not None:
                self.found.extend(from_blob(answer["data"]).to_batches())

    def _attempt(self, rows: list[Row]) -> list[Row]:
        folder = "" if self.folder is None else str(self.folder)
        with patch.dict(os.environ, SPARK_LOCAL_DIRS=folder):
            return list(self._answers(rows))

    def _answers(self, rows: list[Row]) -> Iterator[Row]:
        handle: Any = self.states
        operator = BucketOperator(self.settings, {}, "stream", 0, self.timing, False)
        operator.init(handle)
        values = TimerValues(self.clock_ms, self.watermark_ms)
        if rows:
            yield from operator.handleInputRows((0,), iter(rows), values)
        mode = self.timing.mode
        now = self.watermark_ms if mode == "EventTime" else self.clock_ms
        for timer in sorted(self.states.timers) if mode != "None" else ():
            if timer <= now:
                yield from operator.handleExpiredTimer((0,), values, ExpiredTimerInfo(timer))
                self.states.deleteTimer(timer)
                assert all(each > now for each in self.states.timers)

    @property
    def has_state(self) -> bool:
        return any(self.states.kept.values())

    def rows(self) -> Counter[Any]:
        schema = self.settings.result_schema
        return local_rows(pa.Table.from_batches(self.found, schema))


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(
    st.one_of(cases(), absence_cases()),
    st.lists(st.integers(0, 6), min_size=12, max_size=12),
    st.integers(0, 6),
    st.lists(st.integers(1, 4), min_size=12, max_size=12),
    st.sampled_from(("watermark", "lateness", "in order", "idle", "in order, idle")),
    st.sampled_from(("all", "all", "first", "longest", "leftmost", "non_overlapping")),
    st.sampled_from((None, None, "2 milliseconds")),
    st.booleans(),
    st.lists(st.booleans(), max_size=12),
)
def test_matches_are_those_of_a_local_run(
    tmp_path_factory: pytest.TempPathFactory,
    case: Case,
    delays: list[int],
    lateness: int,
    sizes: list[int],
    way: str,
    output: str,
    gap: str | None,
    has_copies: bool,
    troubles: list[bool],
) -> None:
    text, table = in_milliseconds(case)
    try:
        query = cep.query(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cep.CepheidWarning)
            said = {"output": output, "at_most_once_per": gap}
            expected = query.match(table, tie_break="seq", **said).to_arrow()
        query.session().feed(table.slice(0, 0))
    except (cep.QuerySemanticError, cep.EvaluationError) as error:
        event(f"refused: {type(error).__name__}")
        return
    negations = [each for part in analyse(query.tree, None).alternatives for each in part.negations]
    if "EVENTS" in text and any(each.waits and not each.own_window for each in negations):
        event("waits for events")  # A local run has an end, after which none come.
        return
    if output in ("longest", "leftmost") and (query.tree.window is None or "EVENTS" in text):
        event("waits for a run to end")
        return
    waits = output != "all" or gap is not None or any(each.waits for each in negations)
    timing = {
        "watermark": Timing(),
        "lateness": Timing(lateness * 1_000),
        "in order": Timing(None if waits else 0, in_order=True, waits=waits),
        "idle": Timing(lateness * 1_000, idle_ms=5),
        "in order, idle": Timing(5_000, in_order=True, idle_ms=5),
    }[way]
    lateness = 0 if timing.in_order else lateness
    # An event that is delayed by no more than the lateness is behind no more than that.
    arrival = sorted(
        range(len(table)),
        key=lambda ix: case.rows[ix][0] + min(delays[ix % len(delays)], lateness),
    )
    came = table.take(pa.array(arrival, pa.int64()))
    folder = tmp_path_factory.mktemp("copies") if has_copies else None
    stream = Stream(worker_settings(query, table, output, gap), timing, lateness, folder, troubles)
    at = 0
    for size in sizes:
        if at < len(came):
            stream.clock_ms += size
            stream.micro_batch(came.slice(at, size))
        stream.clock_ms += 1  # never idle before the end
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
    if window is not None and "EVENTS" not in text and timing.is_known_to_spark:
        event("forgotten")
        assert not stream.has_state
        assert folder is None or not list(folder.iterdir())


def test_events_that_are_all_too_late_leave_nothing_that_waits() -> None:
    moments = pa.array([START_MS * 1_000, START_MS * 1_000 + 9_000_000], pa.timestamp("us", "UTC"))
    table = pa.table({"ts": moments, "type": ["A", "A"], "seq": [0, 1]})
    query = cep.query("PATTERN SEQ(A a, A b) WITHIN 1 seconds")
    settings = worker_settings(query, table, "all")
    stream = Stream(settings, Timing(1_000_000), 1_000)
    stream.micro_batch(table.slice(1))
    stream.end()
    stream.micro_batch(table.slice(0, 1))
    assert stream.late == 1
    assert not stream.has_state


def test_what_spark_compares_with_a_checkpoint_stays_the_same() -> None:
    # It would refuse another before the version of the state is read, and advise to turn that off.
    assert HEAD == "made_by string, token string, timer long, steps long, stored long, logged long"
    assert ENTRY == (
        "session binary, waiting binary, reached long, blobs array<binary>, before long, after long"
    )


def a_stored_stream() -> Stream:
    """A bucket with a session, with events that wait, and with a step in its log."""
    moments = [(START_MS + second * 1_000) * 1_000 for second in (0, 1, 8, 9)]
    table = pa.table(
        {
            "ts": pa.array(moments, pa.timestamp("us", "UTC")),
            "type": ["A", "A", "A", "A"],
            "seq": [0, 1, 2, 3],
        }
    )
    query = cep.query("PATTERN SEQ(A a, A b) WITHIN 60 seconds")
    settings = worker_settings(query, table, "all")
    stream = Stream(settings, Timing(4_000_000), 4_000, troubles=())
    for row in range(len(table)):
        stream.micro_batch(table.slice(row, 1))
    return stream


def damaged_entries(entry: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The entry of a log, each time with damage to another of its bytes."""
    found = []
    for field, value in enumerate(entry):
        for octets in [value] if isinstance(value, bytes) else value or () if field == 3 else ():
            for at in range(0, len(octets), max(len(octets) // 20, 1)):
                broken = octets[:at] + bytes([octets[at] ^ 0x41]) + octets[at + 1 :]
                changed: Any = [broken] if field == 3 else broken
                found.append((*entry[:field], changed, *entry[field + 1 :]))
            cut: Any = [octets[:9]] if field == 3 else octets[:9]
            found.append((*entry[:field], cut, *entry[field + 1 :]))
    return found


def test_a_damaged_state_of_a_bucket_is_an_error_that_says_what_to_do() -> None:
    stored = a_stored_stream().states.kept["log"]
    assert len(stored) > 1
    moment = pa.array([(START_MS + 20_000) * 1_000], pa.timestamp("us", "UTC"))
    later = pa.table({"ts": moment, "type": ["A"], "seq": [9]})
    messages = []
    for key, entry in stored.items():
        for broken in [None, *damaged_entries(entry)]:
            stream = a_stored_stream()
            stream.states.kept["log"] = stored | {key: broken}
            try:
                stream.micro_batch(later)
            except cep.SnapshotError as error:
                messages.append(str(error))
    assert len(messages) > 20
    assert all("another checkpointLocation" in message for message in messages)
