"""One partition of a DataFrame in a Python worker: events in time order in, matches out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from cepheid.spark.worker.worker_session import Answers, WorkerSession
from cepheid.spark.worker.worker_settings import WorkerSettings

SLICE = "cepheid slice"
"""The column with the index of the time slice that a copy of an event belongs to."""

FEED_ROWS = 65_536
"""The number of events collected before they are fed; Spark sends about 10,000 at a time."""


def run_partition(
    settings: WorkerSettings, has_session: bool, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The matches among the events of a partition, which arrive in time order."""
    yield from run_slice(settings, has_session, batches, None)


def run_slices(
    settings: WorkerSettings,
    has_session: bool,
    bounds: Sequence[int],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The matches that start in the slices of a partition.

    The events arrive slice by slice, and in time order within each. ``bounds`` are the ticks at
    which one slice ends and the next begins. A match belongs to the slice in which it starts. A
    match that starts in the overlap is left out here, because its own slice finds it.
    """
    for number, events in _slices(batches):
        yield from run_slice(settings, has_session, events, starts_in(bounds, number))


def starts_in(bounds: Sequence[int], number: int) -> tuple[float, float]:
    """The ticks at which a slice begins and at which the next one does.

    >>> starts_in([10, 20], 1)
    (10, 20)
    """
    ends = (-math.inf, *bounds, math.inf)
    return ends[number], ends[number + 1]


def run_slice(
    settings: WorkerSettings,
    has_session: bool,
    batches: Iterable[pa.RecordBatch],
    starts: tuple[float, float] | None,
) -> Iterator[pa.RecordBatch]:
    """The matches that start in a slice, among events that arrive in time order."""
    if not has_session:
        whole = list(batches)
        if whole:
            compiled = settings.compiled()
            found = compiled.run(pa.Table.from_batches(whole), settings.run)
            answers = Answers(compiled.script, settings)
            yield from answers.batches([each.matches for each in found], starts)
        return
    session: WorkerSession | None = None
    for events in gathered(batches):
        if session is None:
            session = WorkerSession(settings, starts=starts)
        yield from session.feed(events)
    if session is not None:
        yield from session.advance()


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The same events in fewer, larger tables."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            count += batch.num_rows
        if count >= FEED_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _slices(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
    """The events of each slice without its index; slices must be read one after the other."""
    pieces = _pieces(batches)
    current = next(pieces, None)
    while current is not None:
        number = current[0]

        def events(number: int = number) -> Iterator[pa.RecordBatch]:
            nonlocal current
            while current is not None and current[0] == number:
                yield current[1]
                current = next(pieces, None)

        yield number, events()


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    for batch in batches:
        numbers = batch.column(SLICE).to_numpy()
        rest = batch.drop_columns([SLICE])
        cuts = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
        for low, high in zip([0, *cuts], [*cuts, len(numbers)], strict=True):
            if high > low:
                yield int(numbers[low]), rest.slice(low, high - low)
