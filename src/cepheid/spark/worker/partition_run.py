"""One partition of a DataFrame in a Python worker: events in time order in, matches out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

import numpy as np
import pyarrow as pa

from cepheid.engines.base.evaluation import AUTO
from cepheid.sessions.first_runs import is_first_run
from cepheid.sessions.run_settings import RunSettings
from cepheid.spark.worker.worker_session import Answers, WorkerSession
from cepheid.spark.worker.worker_settings import WorkerSettings

SLICE = "cepheid slice"
"""The column with the index of the time slice that a copy of an event belongs to."""

FEED_ROWS = 65_536
"""The number of events collected before they are fed; Spark sends about 10,000 at a time."""


def run_partition(
    settings: WorkerSettings,
    batches: Iterable[pa.RecordBatch],
    starts: tuple[float, float] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The matches among the events of a partition, which arrive in time order.

    ``starts`` is the half-open interval of ticks in which the wanted matches start. Few events are
    answered by the definition in a worker that has compiled nothing yet.
    """
    if not settings.has_session:
        whole = list(batches)
        if whole:
            events = pa.Table.from_batches(whole)
            yield from _together(settings, settings.run_here(), events, starts)
        return
    session: WorkerSession | None = None
    for events in gathered(batches, FEED_ROWS):
        if session is None:
            # A table with fewer than FEED_ROWS is the only one.
            if settings.may_be_first and is_first_run(settings.run.evaluation, len(events)):
                run = replace(settings.run, evaluation=AUTO)
                with warnings.catch_warnings(action="ignore"):  # They were given in the driver.
                    yield from list(_together(settings, run, events, starts))
                return
            session = WorkerSession(settings, starts=starts)
        yield from session.feed(events)
    if session is not None:
        yield from session.advance()


def _together(
    settings: WorkerSettings, run: RunSettings, events: pa.Table, starts: tuple[float, float] | None
) -> Iterator[pa.RecordBatch]:
    """The matches among all events of a partition, which are read together."""
    compiled = settings.compiled()
    found = compiled.run(events, run)
    answers = Answers(compiled.script, settings)
    yield from answers.batches([each.matches for each in found], starts)


def run_slices(
    bounds: Sequence[int], settings: WorkerSettings, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The matches that start in the slices of a partition.

    The events arrive slice by slice, and in time order within each. ``bounds`` are the ticks at
    which one slice ends and the next begins. A match belongs to the slice in which it starts. A
    match that starts in the overlap is left out here, because its own slice finds it.
    """
    for number, parts in groupby(pieces(batches, SLICE), key=itemgetter(0)):
        events = (events for _, events in parts)
        yield from run_partition(settings, events, starts_in(bounds, number))


def starts_in(bounds: Sequence[int], number: int) -> tuple[float, float]:
    """The ticks at which a slice begins and at which the next one does.

    >>> starts_in([10, 20], 1)
    (10, 20)
    """
    ends = (-math.inf, *bounds, math.inf)
    return ends[number], ends[number + 1]


def gathered(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """The same events in fewer tables, each of at least so many rows except the last."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            count += batch.num_rows
        if count >= rows:
            yield pa.Table.from_batches(waiting)
            waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def pieces(batches: Iterable[pa.RecordBatch], column: str) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The events in runs with the same number in a column, with that number and without it."""
    for batch in batches:
        numbers = batch.column(column).to_numpy()
        rest = batch.drop_columns([column])
        cuts = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
        for low, high in zip([0, *cuts], [*cuts, len(numbers)], strict=True):
            if high > low:
                yield int(numbers[low]), rest.slice(low, high - low)
