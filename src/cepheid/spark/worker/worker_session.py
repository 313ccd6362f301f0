"""A query or a script in a Python worker of Spark: Arrow batches in, batches of matches out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from cepheid.matches.ids import MatchIds
from cepheid.matches.matches import Matches, ScriptMatches
from cepheid.sessions.script import Script
from cepheid.sessions.scripts.merged_stream import without_places
from cepheid.sessions.stream import StreamSession
from cepheid.spark.batch.arrow_schemas import MATCH_ID
from cepheid.spark.worker.worker_settings import WorkerSettings

QUERY = "query"
"""The column with the number of the query that a match of a script belongs to."""


class WorkerSession:
    """A session that answers with batches of exactly the schema that Spark was given.

    Events are fed in time order, with exactly the columns that the queries need: match ids are
    computed from them. ``starts`` is the half-open interval of ticks in which the wanted matches
    start. ``session`` has the state.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        snapshot: bytes | memoryview | None = None,
        starts: tuple[float, float] | None = None,
    ) -> None:
        script = settings.compiled().script
        self.session: StreamSession[Any, Any] = StreamSession(script, settings.run_here(), snapshot)
        self._answers = Answers(script, settings)
        self._starts = starts
        self._task = f"{settings.text} {settings.run}"
        self._is_warm = False

    def feed(self, events: pa.Table | pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The matches that these events complete."""
        if not self._is_warm:
            from cepheid.cache import first_time  # loads numba

            # All processes of a user share the folder of compiled code. Without this, every worker
            # that does not find the conditions there would compile them, all at the same time.
            with first_time(f"{self._task} {events.schema}"):
                self.session.feed(events.slice(0, 0))
            self._is_warm = True
        yield from self._batches(self.session.feed(events))

    def advance(self, time: Any = None) -> Iterator[pa.RecordBatch]:
        """The matches that are complete because no later event has an earlier time.

        If the time is None, the stream has ended.
        """
        yield from self._batches(
            self.session.advance() if time is None else self.session.settle(time)
        )

    @property
    def runs(self) -> int:
        """The most runs or instances that there were at a time."""
        counted = self.session.metrics
        each = counted.values() if isinstance(counted, dict) else [counted]
        return sum(metrics.runs_peak for metrics in each)

    def _batches(self, found: Matches | ScriptMatches) -> Iterator[pa.RecordBatch]:
        matches = [found] if isinstance(found, Matches) else list(found.values())
        yield from self._answers.batches(matches, self._starts)


class Answers:
    """Matches as batches of the schema that Spark was given.

    The matches of each query of a script are in a separate column, which is null in the rows of
    the other queries.
    """

    def __init__(self, script: Script, settings: WorkerSettings) -> None:
        self._script = script
        self._schema = settings.result_schema
        self._match_id = settings.match_id

    def batches(
        self, found: Sequence[Matches], starts: tuple[float, float] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The matches of each query, in batches; only matches that start in an interval."""
        for number, matches in enumerate(found):
            if len(matches):
                for table in self._tables(number, matches, starts):
                    yield from table.cast(self._schema).combine_chunks().to_batches()

    def _tables(
        self, number: int, matches: Matches, starts: tuple[float, float] | None
    ) -> Iterator[pa.Table]:
        ids = self._ids(number, matches) if self._match_id else None
        wanted = self._schema.names if self._script.is_single else None
        for part, table in matches.pieces(wanted=wanted):
            if not len(part):
                continue
            own_ids = None if ids is None else ids.of(part)
            if not self._script.is_single:
                table = self._nested(number, table, own_ids)
            elif own_ids is not None:
                table = table.append_column(self._schema.field(len(self._schema) - 1), own_ids)
            are_here = None if starts is None else part.times.start_in(*starts)
            if are_here is not None:
                table = table.filter(pa.array(are_here))
            yield table

    def _nested(self, number: int, table: pa.Table, ids: pa.Array | None) -> pa.Table:
        """The matches of a query of a script, in its column."""
        own = self._schema.field(column_of(number))
        items = table.cast(pa.schema(list(own.type))).combine_chunks().to_struct_array()
        given = {QUERY: pa.repeat(number, len(table)), own.name: items, MATCH_ID: ids}
        columns = {
            field.name: given.get(field.name, pa.nulls(len(table), field.type))
            for field in self._schema
        }
        return pa.table(columns)

    def _ids(self, number: int, matches: Matches) -> MatchIds:
        each = self._script.queries[number]
        events, parts = matches.parts()
        if self._script.is_single:
            return MatchIds(each.query, events, parts)
        return MatchIds(each.query, without_places(events), parts, each.name)


def column_of(number: int) -> str:
    """The column with the matches of a query of a script.

    It is not the query's name, because Spark ignores case in the names of columns.
    """
    return f"q{number}"
