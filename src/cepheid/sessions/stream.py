"""A query or a script over a stream that arrives in batches: the session that users hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from numbers import Number
from typing import Any, Generic, TypeVar, cast

import pyarrow as pa

from cepheid.errors import EventError, OptionError
from cepheid.events.conforming import like_earlier
from cepheid.events.events import Events
from cepheid.events.time_axis import TimeAxis
from cepheid.matches.matches import Matches
from cepheid.matches.metrics import Metrics
from cepheid.matches.script_matches import ScriptMatches
from cepheid.schema import Kind
from cepheid.sessions.run_settings import RunSettings
from cepheid.sessions.script import Script
from cepheid.sessions.script_session import ScriptRun
from cepheid.snapshots import Parts, sealed

Found = TypeVar("Found")
Counted = TypeVar("Counted")


def ticks_of(time: Any, axis: TimeAxis) -> int:
    """A time that a user gives, in ticks of the time axis."""
    try:
        if isinstance(time, Number) and axis.is_clock:
            raise pa.ArrowInvalid("a number is no point in time")
        is_time = isinstance(time, date)
        moment = pa.array([time], pa.timestamp("us") if is_time else None).cast(axis.arrow_type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, OverflowError):
        zone = "Z" if getattr(axis.arrow_type, "tz", None) else ""
        advice = f"; give a datetime, or a string such as '2024-05-01 09:30:00{zone}'"
        raise OptionError(
            f"{time!r} is not a time of the column {axis.column!r}, which is {axis.arrow_type}"
            + (advice if axis.is_clock else "")
        ) from None
    return int(axis.encode(moment)[0])


class StreamSession(Generic[Found, Counted]):
    """The state of a query or a script between batches of events.

    Make one with ``query.session()`` or ``script.session()``. The session of a query returns
    :class:`~cepheid.matches.matches.Matches`, and the session of a script
    :class:`~cepheid.matches.script_matches.ScriptMatches`. They do not depend on how the stream
    is cut into batches, nor on whether the session was stored and restored in between.

    >>> import cepheid as cep
    >>> q = cep.query("PATTERN SEQ(A a, ~(B b)) WITHIN 5")
    >>> session = q.session()
    >>> len(session.feed({"ts": [1, 3], "type": ["A", "A"]}))
    0
    >>> stored = session.snapshot()
    >>> session = q.restore(stored)
    >>> session.feed({"ts": [7], "type": ["B"]}).bindings()
    [{'a': 0}]
    >>> len(session.advance())
    0

    >>> script = cep.script('''
    ...     PATTERN SEQ(A a, ~(B b)) WITHIN 5 RETURN Lonely(x = a.x);
    ...     PATTERN SEQ(Lonely l, C c) WITHIN 10
    ... ''')
    >>> session = script.session()
    >>> session.feed({"ts": [1, 4], "type": ["A", "C"], "x": [7, 8]})
    Lonely: 0 matches
    query_2: 0 matches
    >>> session = script.restore(session.snapshot())
    >>> session.feed({"ts": [6], "type": ["C"], "x": [9]})["query_2"].bindings()
    [{'l': 'Lonely[0]', 'c': 2}]
    """

    def __init__(
        self, script: Script, settings: RunSettings, snapshot: bytes | memoryview | None = None
    ) -> None:
        self._script = script
        self._settings = settings
        self._run: ScriptRun | None = None
        if snapshot is not None:
            self._run = ScriptRun.restore(script, settings, snapshot)

    def feed(self, events: Any) -> Found:
        """The matches that a batch of events completes.

        Events of a batch may be in any order, but none may be before the end of an earlier
        batch. Row numbers continue from batch to batch. A batch needs the columns of the first
        one: others are ignored, and a missing column or one of another type is refused. An
        empty list is a batch without events.
        """
        run = self._run
        latest = None if run is None else run.latest
        if latest is not None and isinstance(events, list) and not events:
            batch = latest
        else:
            batch = self._settings.read.order(events)
        if run is None:
            run = self._run = ScriptRun(self._script, self._settings, batch)
        elif latest is not None:
            self._check_late_kinds(batch, latest)
            batch = like_earlier(batch, latest)
        return self._found(run.feed(batch.counted_from(run.rows_read)))

    def advance(self, time: Any = None) -> Found:
        """The matches completed by the passage of time; None means the stream has ended."""
        run = self._running("advances")
        return self._found(run.advance(None if time is None else ticks_of(time, run.time_axis)))

    def settle(self, time: Any) -> Found:
        """The matches that are complete because no later event has an earlier time.

        This is :meth:`advance`, unless events can begin before the time in their column.
        """
        run = self._running("advances")
        return self._found(run.advance(ticks_of(time, run.time_axis) - run.lead))

    def snapshot(self) -> bytes:
        """The state as bytes, for ``restore()`` in this process or another."""
        return sealed(self.snapshot_parts())

    def snapshot_parts(self) -> Parts:
        """The state in parts and without a checksum, valid until the next call."""
        return self._running("is stored").snapshot_parts()

    @property
    def next_completion(self) -> int | None:
        """The earliest time to settle, in ticks, that completes a match without another event."""
        run = self._run
        time = None if run is None else run.next_completion
        return None if run is None or time is None else time + run.lead

    @property
    def evicted_from(self) -> int | None:
        """The time to settle, in ticks, from which no event fed so far matters."""
        run = self._run
        time = None if run is None else run.evicted_from
        return None if run is None or time is None else time + run.lead

    @property
    def metrics(self) -> Counted:
        """Metrics of the evaluation so far; for a script, by the name of the query."""
        found = {} if self._run is None else self._run.metrics
        if self._script.is_single:
            return cast("Counted", next(iter(found.values()), Metrics()))
        return cast("Counted", found)

    def _found(self, found: dict[str, Matches]) -> Found:
        if self._script.is_single:
            return cast("Found", next(iter(found.values())))
        return cast("Found", ScriptMatches(found))

    def _running(self, what: str) -> ScriptRun:
        if self._run is None:
            raise EventError(f"a session must be fed, if only with no events, before it {what}")
        return self._run

    def _check_late_kinds(self, batch: Events, earlier: Events) -> None:
        """Analyse the queries again if a column without values so far now reveals its kind."""
        late = {
            field.name: batch.schema.kind(field.name)
            for field in earlier.table.schema
            if earlier.schema.kind(field.name) is Kind.UNKNOWN and pa.types.is_null(field.type)
        }
        if any(kind is not Kind.UNKNOWN for kind in late.values()):
            schema = replace(earlier.schema, attributes={**earlier.schema.attributes, **late})
            for number, each in enumerate(self._script.queries):
                if not each.reads:
                    self._script.analysed(number, schema)


QueryStream = StreamSession[Matches, Metrics]
ScriptStream = StreamSession[ScriptMatches, dict[str, Metrics]]
