"""What is known of a running stream: counts of each micro-batch, for logs and dashboards."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from cepheid.rule_sets.metrics import RuleMetrics

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SUMS = ("matches", "late", "waiting", "runs", "state_bytes", "milliseconds")
_OLDEST = "oldest_waiting_us"
"""A number: a time is a string in some of the shapes in which Spark gives its progress."""
_RULES = "rules"
_GAUGES = {
    "events": "Events read in the last micro-batch.",
    "matches": "Matches found in the last micro-batch.",
    "late": "Events of the last micro-batch that arrived too late.",
    "waiting": "Events that wait for the watermark.",
    "oldest_waiting_timestamp_seconds": "Time of the oldest event that waits.",
    "runs": "Most runs or instances at a time, summed over buckets.",
    "state_bytes": "Bytes of the state, uncompressed.",
    "milliseconds": "Milliseconds in which buckets were advanced, of all tasks.",
    "batch_milliseconds": "Milliseconds of the last micro-batch.",
}
_TOTALS = {
    "events": "Events read since the stream was started.",
    "matches": "Matches found since the stream was started.",
    "late": "Events that arrived too late since the stream was started.",
    "milliseconds": "Milliseconds in which buckets were advanced since the stream was started.",
}
"""What is also added up: a micro-batch may end between two looks at the newest counts."""


def observed_columns(has_rules: bool) -> list[Column]:
    """What Spark's progress shows of the counts of a micro-batch."""
    sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in _SUMS]
    rules = [F.collect_list(_RULES).alias(_RULES)] if has_rules else []
    return [*sums, F.min("oldest_us").alias(_OLDEST), *rules]


@dataclass(frozen=True)
class StreamMetrics:
    """The counts of one query in one micro-batch.

    ``stream`` is the name of the streaming query, or its id, and ``metrics`` the name that
    ``match(…, metrics=…)`` was given. ``waiting``, ``oldest_waiting`` and ``state_bytes`` are of
    the buckets that the micro-batch reached; the times are in ISO format.
    """

    stream: str
    metrics: str
    batch: int
    at: str
    events: int
    matches: int
    late: int
    waiting: int
    oldest_waiting: str | None
    runs: int
    state_bytes: int
    milliseconds: int
    batch_milliseconds: int

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


def stream_metrics(progress: StreamingQueryProgress) -> list[StreamMetrics]:
    """The counts of each query of cepheid in the progress of a stream, also through Connect.

    Example::

        for each in running.recentProgress:
            print(*(counted.to_json() for counted in cep.spark.stream_metrics(each)))
    """
    found = []
    for name, row in progress.observedMetrics.items():
        counts: dict[str, Any] = row.asDict()
        if not {*_SUMS} <= counts.keys():
            continue  # observed by somebody else
        oldest = counts.get(_OLDEST)  # Spark leaves out what is null.
        found.append(
            StreamMetrics(
                stream=progress.name or str(progress.id),
                metrics=name,
                batch=progress.batchId,
                at=progress.timestamp,
                events=progress.numInputRows,
                oldest_waiting=None if oldest is None else _moment(oldest),
                batch_milliseconds=int(progress.durationMs.get("triggerExecution", 0)),
                **{count: counts[count] for count in _SUMS},
            )
        )
    return found


def rule_metrics(progress: StreamingQueryProgress) -> list[RuleMetrics]:
    """What each rule of a stream of rules has cost in a micro-batch, the most expensive one first.

    ``events``, ``partial_matches``, ``matches`` and ``seconds`` are of the micro-batch, ``memory``
    is that of the buckets that it reached, and ``last_match`` is a string. Rules to which nothing
    happened are not there.

    Example::

        for each in cep.spark.rule_metrics(running.lastProgress)[:10]:
            print(each.rule, each.seconds, each.matches, each.suspended)
    """
    found: dict[str, RuleMetrics] = {}
    for row in progress.observedMetrics.values():
        counts: dict[str, Any] = row.asDict()
        for text in counts.get(_RULES, ()) if {*_SUMS} <= counts.keys() else ():
            for fields in json.loads(text):
                each = RuleMetrics(**fields)
                found[each.rule] = each.with_other(found.get(each.rule))
    return sorted(found.values(), key=lambda each: -each.seconds)


def _moment(time_us: int) -> str:
    return (_EPOCH + timedelta(microseconds=time_us)).isoformat()


def prometheus_text(counted: Iterable[StreamMetrics], totals: Iterable[StreamMetrics] = ()) -> str:
    """The counts of micro-batches, and those of whole streams, in the text format of Prometheus.

    >>> one = StreamMetrics("s", "cepheid", 3, "", 10, 2, 0, 5, None, 4, 900, 7, 80)
    >>> print(*prometheus_text([one]).splitlines()[3:6], sep="\\n")
    # HELP cepheid_matches Matches found in the last micro-batch.
    # TYPE cepheid_matches gauge
    cepheid_matches{stream="s",metrics="cepheid"} 2
    """
    newest, whole = list(counted), list(totals)
    lines: list[str] = []
    for name, meaning in _GAUGES.items():
        lines += _metric(f"cepheid_{name}", "gauge", meaning, name, newest)
    for name, meaning in _TOTALS.items() if whole else ():
        lines += _metric(f"cepheid_{name}_total", "counter", meaning, name, whole)
    return "\n".join(lines) + "\n"


def _metric(
    shown: str, kind: str, meaning: str, name: str, counted: Iterable[StreamMetrics]
) -> list[str]:
    """The lines of one count of all streams."""
    lines = [f"# HELP {shown} {meaning}", f"# TYPE {shown} {kind}"]
    for each in counted:
        value = _gauge(each, name)
        if value is not None:
            labels = f"stream={_label(each.stream)},metrics={_label(each.metrics)}"
            lines.append(f"{shown}{{{labels}}} {value}")
    return lines


def _gauge(counted: StreamMetrics, name: str) -> float | int | None:
    if name == "oldest_waiting_timestamp_seconds":
        oldest = counted.oldest_waiting
        return None if oldest is None else datetime.fromisoformat(oldest).timestamp()
    value: int = getattr(counted, name)
    return value


def _sums(before: StreamMetrics, counted: StreamMetrics) -> dict[str, int]:
    return {name: getattr(before, name) + getattr(counted, name) for name in _TOTALS}


def _label(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


class MetricsListener(StreamingQueryListener):
    """Writes the counts of every micro-batch to files, for all streams of a session.

    ``json_lines`` is a file to which a line is added for each query and micro-batch.
    ``prometheus`` is a file that always has the newest counts of every stream, and their sums
    since it was started, for the textfile collector of Prometheus' node exporter.

    Example::

        spark.streams.addListener(cep.spark.MetricsListener("metrics.jsonl", "cepheid.prom"))
    """

    def __init__(
        self, json_lines: str | Path | None = None, prometheus: str | Path | None = None
    ) -> None:
        super().__init__()
        self._json_lines = None if json_lines is None else Path(json_lines)
        self._prometheus = None if prometheus is None else Path(prometheus)
        self._newest: dict[tuple[str, str, str], StreamMetrics] = {}
        self._totals: dict[tuple[str, str, str], StreamMetrics] = {}

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Called by Spark when a stream starts."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Called by Spark after a micro-batch."""
        counted = stream_metrics(event.progress)
        if counted and self._json_lines is not None:
            with self._json_lines.open("a", encoding="utf-8") as file:
                file.writelines(f"{each.to_json()}\n" for each in counted)
        run = str(event.progress.runId)
        for each in counted:
            key = (run, each.stream, each.metrics)
            self._newest[key] = each
            before = self._totals.get(key)
            sums: dict[str, Any] = {} if before is None else _sums(before, each)
            self._totals[key] = replace(each, **sums)
        if counted:
            self._write()

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Called by Spark if a stream has nothing to do."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Called by Spark when a stream ends; its counts are no longer shown."""
        run = str(event.runId)
        for known in (self._newest, self._totals):
            for key in [key for key in known if key[0] == run]:
                del known[key]
        self._write()

    def _write(self) -> None:
        """Replace the file for Prometheus, so that a reader never sees a part of it."""
        if self._prometheus is None:
            return
        text = prometheus_text(self._newest.values(), self._totals.values())
        descriptor, beside = tempfile.mkstemp(dir=self._prometheus.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(beside).chmod(0o644)
        Path(beside).replace(self._prometheus)
