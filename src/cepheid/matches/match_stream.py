"""Matches computed while they are read, so that only a part of them is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

import pyarrow as pa

from cepheid.matches.matches import Match, Matches
from cepheid.matches.metrics import Metrics
from cepheid.tuning import tuning

_BATCH_BYTES = 32 << 20
"""A batch of this size is returned even if it has fewer matches than requested."""


class Running(Protocol):
    """What finds the matches."""

    events_done: int

    @property
    def metrics(self) -> Metrics:
        """Metrics of the evaluation so far."""


class MatchStream:
    """The matches of a query, one by one or in batches; they can be read only once.

    >>> import cepheid as cep
    >>> events = {"ts": [1, 2, 3], "type": ["A", "B", "B"], "x": [5, 6, 7]}
    >>> query = cep.query("PATTERN SEQ(A a, B b) RETURN b.x - a.x AS rise")
    >>> stream = query.match_stream(events)
    >>> for batch in stream.to_batches():
    ...     print(batch.to_pydict())
    {'start': [1, 1], 'end': [2, 3], 'rise': [1, 2]}
    >>> stream.found
    2
    """

    def __init__(self, nothing: Matches, parts: Iterator[Matches], run: Running) -> None:
        self.found = 0
        self._nothing = nothing
        self._parts = self._counted(parts)
        self._run = run

    @property
    def metrics(self) -> Metrics:
        """Metrics of the evaluation so far."""
        return self._run.metrics

    @property
    def progress(self) -> tuple[int, int]:
        """The number of events that have been matched so far, and of all events."""
        return self._run.events_done, len(self._nothing.parts()[0])

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns of the batches."""
        return self._nothing.arrow_schema

    def __iter__(self) -> Iterator[Match]:
        for part in self._parts:
            yield from part

    def to_batches(self, size: int | None = None) -> Iterator[pa.RecordBatch]:
        """The matches as Arrow batches of this size, or smaller if matches are large."""
        size = size or tuning().batch_matches
        waiting: list[pa.RecordBatch] = []
        rows = volume = 0
        for part in self._parts:
            for batch in part.to_batches(size):
                if rows + batch.num_rows > size:
                    yield _joined(waiting)
                    waiting, rows, volume = [], 0, 0
                waiting.append(batch)
                rows += batch.num_rows
                volume += batch.nbytes
                if rows >= size or volume >= _BATCH_BYTES:
                    yield _joined(waiting)
                    waiting, rows, volume = [], 0, 0
        if waiting:
            yield _joined(waiting)

    def row_tables(self, limit: int | None = None) -> Iterator[pa.Table]:
        """The long form of all or the first matches in parts, the first one without rows."""
        yield from self._nothing.row_tables()
        number = 0
        while limit is None or number < limit:
            part = next(self._parts, None)
            if part is None:
                return
            left = None if limit is None else limit - number
            yield from islice(part.row_tables(number, left), 1, None)
            number += len(part) if left is None else min(left, len(part))

    def exhaust(self) -> int:
        """Read and discard the remaining matches, and return the total number of matches."""
        for _ in self._parts:
            pass
        return self.found

    def _counted(self, parts: Iterator[Matches]) -> Iterator[Matches]:
        for part in parts:
            self.found += len(part)
            if len(part):
                yield part


def _joined(batches: list[pa.RecordBatch]) -> Any:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
