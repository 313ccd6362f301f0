"""A query in a Python worker of Spark: Arrow batches in, matches with the declared schema out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from cepheid.language import syntax as ast
from cepheid.matches.ids import MatchIds
from cepheid.matches.matches import Matches
from cepheid.snapshots import Parts
from cepheid.spark.worker.warm_kernels import compiled_once
from cepheid.spark.worker.worker_settings import WorkerSettings


class WorkerSession:
    """A session whose answers are batches of exactly the schema that Spark was told.

    Events are fed in the order of their times, with the columns that the query needs and no
    others: they are what a match's id is made of. ``starts`` is the interval of ticks, its end
    excluded, in which the matches begin that are wanted.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        snapshot: bytes | memoryview | None = None,
        starts: tuple[float, float] | None = None,
    ) -> None:
        query, reading = settings.query(), settings.reading()
        self._session = (
            query.session(**reading) if snapshot is None else query.restore(snapshot, **reading)
        )
        self._answers = Answers(query.tree, settings)
        self._starts = starts
        self._task = f"{settings.text} {reading}"
        self._is_warm = False

    def feed(self, events: pa.Table | pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The matches that these events complete."""
        if not self._is_warm:
            with compiled_once(f"{self._task} {events.schema}"):
                self._session.feed(events.slice(0, 0))
            self._is_warm = True
        yield from self._answers.batches(self._session.feed(events), self._starts)

    def advance(self, time: Any = None) -> Iterator[pa.RecordBatch]:
        """The matches that are complete because no event to come has an earlier time.

        None: the stream has ended.
        """
        matches = self._session.advance() if time is None else self._session.settle(time)
        yield from self._answers.batches(matches, self._starts)

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


class Answers:
    """Matches as batches of the declared schema."""

    def __init__(self, query: ast.Query, settings: WorkerSettings) -> None:
        self._query = query
        self._schema = settings.result_schema
        self._match_id = settings.match_id

    def batches(
        self, matches: Matches, starts: tuple[float, float] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The matches, some ten thousand at a time; only those that start in an interval."""
        if not len(matches):
            return
        ids = MatchIds(self._query, *matches.parts()) if self._match_id else None
        for part, table in matches.pieces(wanted=self._schema.names):
            if not len(part):
                continue
            if ids is not None:
                id_field = self._schema.field(len(self._schema) - 1)
                table = table.append_column(id_field, ids.of(part))
            are_here = None if starts is None else part.times.start_in(*starts)
            if are_here is not None:
                table = table.filter(pa.array(are_here))
            yield from table.cast(self._schema).combine_chunks().to_batches()
