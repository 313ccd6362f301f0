"""A session whose partitions are divided among threads.

Each thread has its own session, which reads the events of its partitions from memory that all of
them share. Every session is told the time of the newest event, also if another one reads it. So
the matches are those of one session that reads all events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import numpy as np

from cepheid.engines.base.query_session import QuerySession, SessionTask, refuse_earlier
from cepheid.engines.base.retained import Retained
from cepheid.errors import warn
from cepheid.events.arrays import Int64s, PositionArray
from cepheid.events.events import Events
from cepheid.events.time_axis import earliest, latest_of_all
from cepheid.matches.bindings import Bindings, joined_bindings
from cepheid.matches.matches import Matches
from cepheid.matches.metrics import Metrics, summed_metrics
from cepheid.planning.registry import evaluation_named
from cepheid.sessions.division.buckets import Buckets
from cepheid.sessions.division.crew import Crew
from cepheid.sessions.division.parts import alone, check_count, in_order, tested_columns
from cepheid.sessions.division.slices import Slice, slices_of
from cepheid.sessions.plan import new_run
from cepheid.snapshot_checks import FAR, check_arrays, check_values, expected, require
from cepheid.snapshots import Arrays, Parts, pack, unpack
from cepheid.tuning import tuning


def divided_session(task: SessionTask) -> QuerySession:
    """A session with several workers, or with one and a warning if a match needs all events."""
    buckets = buckets_of(task)
    if buckets is None:
        return new_run(alone(task))
    return DividedSession(task, buckets)


def buckets_of(task: SessionTask) -> Buckets | None:
    """How the events of a query are divided; None, with a warning, if they cannot be."""
    workers = f"workers={task.options.workers}: one worker runs this query, because"
    if evaluation_named(task.evaluation).make_engine is None:
        warn(f"{workers} {task.evaluation} is not compiled code that runs in several threads")
        return None
    buckets = Buckets.of(task.query, task.rule)
    if buckets is None:
        warn(
            f"{workers} its events cannot be divided by a key; a test in brackets such as [id], "
            "on which all events of a match agree, is one unless windows or contiguity count "
            "other events"
        )
    return buckets


def count_divided(
    task: SessionTask, events: Events, count: Callable[[Events], int | None]
) -> list[int | None]:
    """What each worker counts; its sum with that of the others is the number of matches."""
    workers = task.options.workers
    slices = slices_of(task, events, workers)
    if slices:
        tested = tested_columns(task, events)

        def count_slice(part: Slice) -> int | None:
            all_matches = count(tested.slice(part.begin, part.high))
            others = count(tested.slice(part.begin, part.low)) if part.begin < part.low else 0
            return None if all_matches is None or others is None else all_matches - others

        return Crew(workers).each([partial(count_slice, each) for each in slices])
    buckets = None if workers == 1 else buckets_of(task)
    if buckets is None:
        return [count(events)]
    tested, crew = tested_columns(task, events), Crew(workers)
    divided = Division(buckets, crew).positions(events)

    def count_part(positions: Int64s) -> int | None:
        return count(tested.take(positions))

    return crew.each([partial(count_part, each) for each in divided])


class Division:
    """Divides events among the threads of a crew."""

    def __init__(self, buckets: Buckets, crew: Crew) -> None:
        self._buckets = buckets
        self._crew = crew

    def positions(self, events: Events) -> list[Int64s]:
        """The positions of the events of each thread, in order."""
        count = self._crew.size
        bounds = np.linspace(0, len(events), count + 1).astype(int).tolist()
        find = partial(self._buckets.positions, events, count)
        works = [partial(find, low, high) for low, high in pairwise(bounds)]
        # To begin and end threads takes longer than to look at few events.
        is_long = len(events) > tuning().few_events
        found = self._crew.each(works) if is_long else [work() for work in works]
        return [np.concatenate(parts) for parts in zip(*found, strict=True)]


class DividedSession(QuerySession):
    """The sessions of all threads as one."""

    def __init__(self, task: SessionTask, buckets: Buckets) -> None:
        super().__init__(task.query, task.options, Retained())
        self._task = task
        self._crew = Crew(task.options.workers)
        self._division = Division(buckets, self._crew)
        self._sessions = [new_run(alone(task)) for _ in range(self._crew.size)]
        self.nothing = self._sessions[0].nothing
        self._rows_read = 0
        self._now: int | None = None

    @property
    def workers(self) -> int:
        """The number of threads."""
        return self._crew.size

    def run(self, events: Events) -> list[Bindings]:
        """All matches of a whole stream, in the order of their completion."""
        tested = tested_columns(self._task, events)

        def run_part(session: QuerySession, positions: Int64s) -> list[Bindings]:
            found = session.run(tested.take(positions))
            return [_moved(part, positions) for part in found if len(part)]

        divided = self._division.positions(events)
        found = self._crew.each(
            [
                partial(run_part, session, positions)
                for session, positions in zip(self._sessions, divided, strict=True)
            ]
        )
        self.events_done = len(events)
        check_count(self._task, self.metrics.matches)
        return [in_order([part for parts in found for part in parts] or [self.nothing])]

    def stream(self, events: Events) -> Iterator[Matches]:
        """All matches of a whole stream, in parts that need not be in memory together."""
        tested, size = tested_columns(self._task, events), tuning().chunk_events * self._crew.size
        for low in range(0, len(events), size):
            piece = tested.slice(low, min(low + size, len(events)))
            rows = np.arange(low, low + len(piece), dtype=np.int64)
            found = self._fed(replace(piece, row_numbers=rows))
            self.events_done = low + len(piece)
            yield self._among(events, found)
        if len(events):
            yield self._among(events, self._advanced(None, None))

    def _among(self, events: Events, found: Sequence[Matches]) -> Matches:
        """Matches whose rows are positions in these events."""
        placed = []
        for each in found:
            view, parts = each.parts()
            placed += [_placed(part, view.rows.__getitem__) for part in parts if len(part)]
        return Matches(self._query.query, events, [in_order(placed or [self.nothing])])

    def feed(self, batch: Events) -> Matches:
        """The matches that a batch completes."""
        return self._joined(self._fed(batch))

    def advance(self, ticks: int | None = None, after: Events | None = None) -> Matches:
        """The matches that a batch completes, then the matches completed by the passage of time."""
        return self._joined(self._advanced(ticks, after))

    def _fed(self, batch: Events) -> list[Matches]:
        if not len(batch):
            return self._each([lambda session: session.feed(batch)] * self._crew.size)
        return self._advanced(int(batch.ticks[-1]), batch)

    def _advanced(self, ticks: int | None, after: Events | None) -> list[Matches]:
        parts: list[Callable[[], Events] | None] = [None] * self._crew.size
        if after is not None:
            refuse_earlier(after, self._now)
            parts = [partial(after.take, each) for each in self._division.positions(after)]
            self._rows_read += len(after)
        if ticks is not None:
            self._now = ticks if self._now is None else max(self._now, ticks)
        return self._each([_advancing(ticks, part) for part in parts])

    def _each(self, calls: Sequence[Callable[[QuerySession], Matches]]) -> list[Matches]:
        pairs = zip(calls, self._sessions, strict=True)
        found = self._crew.each([partial(call, session) for call, session in pairs])
        check_count(self._task, self.metrics.matches)
        return found

    def _joined(self, found: Sequence[Matches]) -> Matches:
        """The matches of all threads, among the events that are part of one."""
        some = [each for each in found if len(each)]
        if not some:
            return found[0]
        events: list[Events] = []
        placed: list[Bindings] = []
        for each in some:
            view, parts = each.parts()
            bound = joined_bindings(parts)
            is_used = np.zeros(len(view), dtype=np.bool_)
            for column in bound.variables.values():
                is_used[column.positions[column.positions >= 0]] = True
            used = np.flatnonzero(is_used)
            first = sum(map(len, events))
            placed.append(_placed(bound, (np.cumsum(is_used) + (first - 1)).__getitem__))
            events.append(view.take(used))
        joined = joined_bindings(placed)
        order = np.argsort(joined.ends, kind="stable")
        together = reduce(Events.followed_by, events)
        return Matches(self._query.query, together, [joined.pick(order)], budget=self._task.budget)

    def return_as(self, query: Any) -> None:
        """Continue with a query that differs only in what it returns."""
        super().return_as(query)
        for session in self._sessions:
            session.return_as(query)

    @property
    def metrics(self) -> Metrics:
        """The metrics of all threads."""
        return summed_metrics([session.metrics for session in self._sessions])

    @property
    def rows_read(self) -> int:
        """The number of events fed so far."""
        return self._rows_read

    @property
    def latest(self) -> Events | None:
        """No events, with the columns, schema and time axis of the events fed so far."""
        return self._sessions[0].latest

    @property
    def retained(self) -> Events:
        """The events that a later match can contain, in order for each thread."""
        return reduce(Events.followed_by, [session.retained for session in self._sessions])

    @property
    def time_axis(self) -> Any:
        """How times become ticks."""
        return self._sessions[0].time_axis

    @property
    def waiting_until(self) -> int | None:
        """The earliest end of the matches that were found but not reported yet."""
        return earliest(session.waiting_until for session in self._sessions)

    @property
    def next_completion(self) -> int | None:
        """The earliest time that completes a match without another event; None if none does."""
        return earliest(session.next_completion for session in self._sessions)

    @property
    def evicted_from(self) -> int | None:
        """The time from which no event fed so far matters; None if there is no such time."""
        return latest_of_all(session.evicted_from for session in self._sessions)

    def snapshot_parts(self) -> Parts:
        """The snapshots of all sessions, with the header of the first one."""
        stored = [session.snapshot() for session in self._sessions]
        header, _ = unpack(stored[0])
        arrays = {
            f"worker{number}": np.frombuffer(each, dtype=np.uint8)
            for number, each in enumerate(stored)
        }
        own = {"workers": len(stored), "rows_read": self._rows_read, "now": self._now}
        return pack({**header, **own}, arrays)

    def load(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Restore the state of a snapshot."""
        from cepheid.sessions.plan import open_session

        check_values(header, {"rows_read": "count", "now": "integer?"})
        names = [f"worker{number}" for number in range(self._crew.size)]
        check_arrays(arrays, {name: expected(np.uint8, f"bytes of {name}") for name in names})
        stored = [unpack(arrays[name].tobytes()) for name in names]
        require(header["rows_read"] <= FAR, "it has read too many events")
        # Made with what the snapshot says, the same for all.
        self._sessions = [open_session(alone(self._task), each) for each in stored]
        self._rows_read, self._now = header["rows_read"], header["now"]


def _advancing(
    ticks: int | None, part: Callable[[], Events] | None
) -> Callable[[QuerySession], Matches]:
    return lambda session: session.advance(ticks, after=None if part is None else part())


def _moved(part: Bindings, positions: Int64s) -> Bindings:
    """The matches of a run among all events, given the positions of those of one thread."""
    moved, completed = part.moved(positions.__getitem__), part.completed_at
    return moved if completed is None else replace(moved, completed_at=positions[completed])


def _placed(part: Bindings, move: Callable[[PositionArray], PositionArray]) -> Bindings:
    """The matches of a session, which has numbered the events of one thread."""
    return replace(part.moved(move), completed_at=None)
