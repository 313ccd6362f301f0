"""Slices of time: each thread reads a part of a whole stream, and copies nothing.

A match lies within one window. So a slice gets its own events and those of one window before it,
and all matches that end in the slice are found there, with any selection strategy, because a run
depends on no event before its first. Matches that end before the slice are left out: another
slice has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.query_session import SessionTask, WholeRun
from cepheid.events.arrays import PositionArray
from cepheid.events.events import Events
from cepheid.events.own_windows import own_windows
from cepheid.language import syntax as ast
from cepheid.language.computed import reads_positions
from cepheid.matches.bindings import Bindings
from cepheid.matches.matches import Matches
from cepheid.matches.metrics import Metrics, summed_metrics
from cepheid.matches.modes.rule import EVERY_MATCH
from cepheid.planning.registry import evaluation_named
from cepheid.sessions.division.crew import Crew
from cepheid.sessions.division.parts import alone, check_count, in_order, tested_columns
from cepheid.sessions.plan import new_run
from cepheid.tuning import tuning


@dataclass(frozen=True, slots=True)
class Slice:
    """Positions: matches end from ``low`` to ``high``, and events are read from ``begin``."""

    begin: int
    low: int
    high: int

    def own(self, parts: Sequence[Bindings]) -> list[Bindings]:
        """The matches that end in the slice, given all among its events, in order."""
        found = []
        for part in parts:
            completed = part.last_events() if part.completed_at is None else part.completed_at
            kept = part.slice(int(np.searchsorted(completed, self.low - self.begin)), part.count)
            if not len(kept):
                continue
            done = kept.completed_at
            moved = kept.moved(self._moved)
            found.append(moved if done is None else replace(moved, completed_at=done + self.begin))
        return found

    def _moved(self, positions: PositionArray) -> PositionArray:
        is_narrow = self.high <= tuning().narrow_positions
        return np.add(positions, self.begin, dtype=positions.dtype if is_narrow else np.int64)


def slices_of(task: SessionTask, events: Events, count: int) -> list[Slice]:
    """So many slices of about the same length; none if the stream cannot be divided so."""
    if count == 1 or len(events) < count or not _can_be_sliced(task):
        return []
    assert task.window is not None
    own = own_windows(task.query.query, events.time_axis)
    leading = [
        own[each.own_window]
        for alternative in task.query.alternatives
        for each in alternative.negations
        if not each.after and each.own_window is not None
    ]
    reach = task.window + max(leading, default=0)
    bounds = np.linspace(0, len(events), count + 1).astype(int)
    firsts = events.ticks[bounds[:-1]]
    # Any event before the first one is far enough back.
    begins = np.searchsorted(events.ticks, firsts - np.minimum(reach, firsts - events.ticks[0] + 1))
    shared = (bounds[:-1] - begins).sum()
    if shared > tuning().slice_overlap * len(events):
        return []
    places = (each.tolist() for each in (begins, bounds[:-1], bounds[1:]))
    return [Slice(*each) for each in zip(*places, strict=True)]


def _can_be_sliced(task: SessionTask) -> bool:
    query = task.query
    evaluation = evaluation_named(task.evaluation)
    return (
        evaluation.make_engine is not None
        and not evaluation.has_confidence
        and task.window is not None
        and query.query.measure is ast.WindowMeasure.TIME
        and task.rule == EVERY_MATCH
        and not reads_positions(query.query)
        and not _waits(query)
    )


def _waits(query: AnalysedQuery) -> bool:
    return any(negation.waits for each in query.alternatives for negation in each.negations)


class SlicedRun(WholeRun):
    """A query over a whole stream, of which each thread reads slices."""

    def __init__(self, task: SessionTask) -> None:
        super().__init__(task.query)
        self._task = alone(task)
        self._crew = Crew(task.options.workers)
        self._done: list[Metrics] = []

    def run(self, events: Events) -> list[Bindings]:
        """All matches of a whole stream, in the order of their completion."""
        return self._run(events, slices_of(self._task, events, self._crew.size))

    def stream(self, events: Events) -> Iterator[Matches]:
        """All matches of a whole stream, in parts that need not be in memory together."""
        size = self._crew.size
        pieces = len(events) // (tuning().chunk_events * size)
        slices = slices_of(self._task, events, pieces * size) if pieces else []
        slices = slices or slices_of(self._task, events, size)
        for first in range(0, len(slices), size):
            found = self._run(events, slices[first : first + size])
            yield Matches(self._query.query, events, found)

    def _run(self, events: Events, slices: Sequence[Slice]) -> list[Bindings]:
        tested = tested_columns(self._task, events)
        found = self._crew.each([partial(self._run_slice, tested, each) for each in slices])
        self.events_done = slices[-1].high
        self._done += [metrics for _, metrics in found]
        check_count(self._task, self.metrics.matches)
        return [part for parts, _ in found for part in parts] or [self.nothing]

    def _run_slice(self, events: Events, part: Slice) -> tuple[list[Bindings], Metrics]:
        session = new_run(self._task)
        found = session.run(events.slice(part.begin, part.high))
        # The matches of each alternative are in order, and those of all of them are not.
        own = part.own([in_order(found)] if len(self._query.alternatives) > 1 else found)
        matches, length = sum(map(len, own)), sum(map(_events_of, own))
        return own, replace(
            session.metrics,
            events=part.high - part.low,
            matches=matches,
            mean_match_length=length / matches if matches else 0.0,
        )

    @property
    def metrics(self) -> Metrics:
        """The metrics of all slices; events and matches are counted once."""
        return summed_metrics(self._done)


def _events_of(part: Bindings) -> int:
    """The number of events in all matches; a variable may be absent from some."""
    return sum(int(np.count_nonzero(c.positions >= 0)) for c in part.variables.values())
