"""A script in a Python worker of Spark: Arrow batches in, the matches of all its queries out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from cepheid.events.events import Events
from cepheid.matches.ids import MatchIds
from cepheid.matches.matches import Matches
from cepheid.scripts import CompiledScript
from cepheid.sessions.merged_stream import ANCHOR, PLACE
from cepheid.snapshots import Parts
from cepheid.spark.batch.arrow_schemas import MATCH_ID
from cepheid.spark.worker.partition_run import gathered
from cepheid.spark.worker.warm_kernels import compiled_once
from cepheid.spark.worker.worker_settings import ScriptSettings

QUERY = "query"
"""The column with the number of the query that a match is of."""


class ScriptWorkerSession:
    """The session of a script whose answers are batches of exactly the schema Spark was told."""

    def __init__(
        self, settings: ScriptSettings, snapshot: bytes | memoryview | None = None
    ) -> None:
        script, reading = settings.script(), settings.reading()
        self._session = (
            script.session(**reading) if snapshot is None else script.restore(snapshot, **reading)
        )
        self._answers = ScriptAnswers(script, settings)
        self._task = f"{settings.text} {reading}"
        self._is_warm = False

    def feed(self, events: pa.Table | pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The matches that these events complete."""
        if not self._is_warm:
            with compiled_once(f"{self._task} {events.schema}"):
                self._session.feed(events.slice(0, 0))
            self._is_warm = True
        yield from self._answers.batches(self._session.feed(events))

    def advance(self, time: Any = None) -> Iterator[pa.RecordBatch]:
        """The matches that are complete because time has passed; None: the stream has ended."""
        yield from self._answers.batches(self._session.advance(time))

    def snapshot_parts(self) -> Parts:
        """The state as parts of a snapshot, for the next session; valid until this goes on."""
        return self._session.snapshot_parts()

    @property
    def next_completion(self) -> int | None:
        """The first time, in ticks, that completes a match if no event comes before."""
        return self._session.next_completion

    @property
    def forgotten_from(self) -> int | None:
        """The time, in ticks, from which on nothing that was fed matters any more."""
        return self._session.forgotten_from


class ScriptAnswers:
    """The matches of each query in a column of their own, null in the rows of the others."""

    def __init__(self, script: CompiledScript, settings: ScriptSettings) -> None:
        self._queries = script.queries
        self._schema = settings.result_schema
        self._match_id = settings.match_id

    def batches(self, answers: Mapping[str, Matches]) -> Iterator[pa.RecordBatch]:
        """All matches, some ten thousand at a time."""
        for number, (name, matches) in enumerate(answers.items()):
            if not len(matches):
                continue
            ids = self._ids(name, matches) if self._match_id else None
            for part, table in matches.pieces():
                if not len(part):
                    continue
                columns: dict[str, pa.Array] = {
                    QUERY: pa.repeat(pa.scalar(number, pa.int32()), len(part))
                }
                own = self._schema.field(column_of(number))
                conformed = table.cast(pa.schema(list(own.type))).combine_chunks()
                columns[own.name] = conformed.to_struct_array().combine_chunks()
                if ids is not None:
                    columns[MATCH_ID] = ids.of(part)
                yield pa.RecordBatch.from_arrays(
                    [
                        columns[field.name]
                        if field.name in columns
                        else pa.nulls(len(part), field.type)
                        for field in self._schema
                    ],
                    schema=self._schema,
                )

    def _ids(self, name: str, matches: Matches) -> MatchIds:
        events, parts = matches.parts()
        return MatchIds(self._queries[name], _as_input(events), parts, name)


def column_of(number: int) -> str:
    """The column with the matches of a query: names that differ in case alone are one to Spark."""
    return f"q{number}"


def run_script_partition(
    settings: ScriptSettings, has_session: bool, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The matches of all queries among the events of a partition."""
    if not has_session:
        whole = list(batches)
        if whole:
            script = settings.script()
            found = script.match(pa.Table.from_batches(whole), **settings.reading())
            yield from ScriptAnswers(script, settings).batches(found)
        return
    session: ScriptWorkerSession | None = None
    for events in gathered(batches):
        if session is None:
            session = ScriptWorkerSession(settings)
        yield from session.feed(events)
    if session is not None:
        yield from session.advance()


def _as_input(events: Events) -> Events:
    """The events without what the script knows of their places: that differs by partition."""
    hidden = [name for name in (ANCHOR, PLACE) if name in events.table.column_names]
    return replace(events, table=events.table.drop_columns(hidden)) if hidden else events
