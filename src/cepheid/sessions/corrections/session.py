"""A query over a stream in which events may arrive late: matches are reported, and corrected.

The session remembers its state before the events that a late one may still precede, as a snapshot,
and these *recent* events. A late event is put in its place among them, and they are read again from
that state. Whatever is then a match and was none is added, and whatever was one is retracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from cepheid.engines.base.retained import Retained
from cepheid.errors import STREAM_HAS_ENDED, EventError, OptionError, SnapshotError, unfed
from cepheid.events.events import Events
from cepheid.events.order import stream_order
from cepheid.events.time_axis import TimeAxis
from cepheid.language.builder import duration
from cepheid.language.computed import reads_positions
from cepheid.matches.matches import Matches, count_text
from cepheid.matches.metrics import Metrics
from cepheid.planning.silent_zeros import StreamCheck
from cepheid.schema import Schema
from cepheid.sessions.corrections.identities import Identities, among, identities
from cepheid.sessions.held_session import HeldSession, one_at_a_time, ticks_of
from cepheid.sessions.run_settings import RunSettings
from cepheid.sessions.script import Script
from cepheid.sessions.stream import StreamSession
from cepheid.snapshot_checks import (
    check_arrays,
    check_values,
    expected,
    made_by_another,
    require,
)
from cepheid.snapshots import Arrays, Parts, pack, part, prefixed

KEYWORD = "corrections"


@dataclass(frozen=True, slots=True, eq=False)
class Corrections:
    """What a batch or the passage of time changes: new matches, and earlier ones that are none."""

    added: Matches
    retracted: Matches

    def __repr__(self) -> str:
        return f"{count_text(len(self.added))} added, {len(self.retracted)} retracted"


class CorrectingSession(HeldSession):
    """The session of a query that accepts late events and corrects what it reported.

    Make one with ``query.session(corrections="10 minutes")``. An event may be that much earlier
    than the latest time so far; an earlier one is refused. The matches added so far without those
    retracted are always those of a session that got the same events in order.

    >>> import cepheid as cep
    >>> q = cep.query("PATTERN SEQ(A a, ~(B b), C c) WITHIN 10")
    >>> session = q.session(corrections=5)
    >>> session.feed({"ts": [1, 4], "type": ["A", "C"]}).added.bindings()
    [{'a': 0, 'c': 1}]
    >>> late = session.feed({"ts": [2, 3], "type": ["B", "A"]})
    >>> late.added.bindings(), late.retracted.bindings()
    ([{'a': 3, 'c': 1}], [{'a': 0, 'c': 1}])
    >>> session = q.restore(session.snapshot(), corrections=5)
    >>> session.feed({"ts": [3], "type": ["B"]})
    0 matches added, 1 retracted
    """

    def __init__(
        self,
        script: Script,
        settings: RunSettings,
        bound: float | str | timedelta,
        snapshot: bytes | memoryview | None = None,
        check: StreamCheck | None = None,
    ) -> None:
        super().__init__()
        _refuse(script, settings)
        self._check = check
        self._script, self._settings = script, settings
        self._said = duration(bound, KEYWORD)
        self._bound = 0  # in ticks, known with the first batch
        self._ahead: _Replay | None = None  # has read all events; None before the first batch
        self._base: bytes = b""  # the state before the recent events
        self._recent = Retained(keeps_partitions=False)
        self._reported: Identities = np.empty(0, dtype=object)  # since that state
        self._now: int | None = None
        self._advanced_to: int | None = None
        self._has_ended = False
        self._continue(snapshot)

    @one_at_a_time
    def feed(self, events: Any) -> Corrections:
        """The matches that a batch of events adds, and those that its late events retract.

        Row numbers count events in the order in which they come.
        """
        batch = self._read(events)
        assert self._ahead is not None
        if self._check is not None:
            self._check.read(batch.type_names)
        first = int(batch.ticks[0]) if len(batch) else None
        if first is not None and self._now is not None and first < self._now - self._bound:
            raise EventError(
                "an event is earlier than the latest time of the session by more than "
                f"{KEYWORD}={self._said.extent} {self._said.unit or ''}".rstrip()
                + "; leave it out, or allow more"
            )
        self._is_changing = True
        if first is None or self._is_in_order(batch):
            self._recent.append(batch)
            found = self._ahead.read_on(batch)
            self._reported = np.concatenate([self._reported, identities(found)])
            change = Corrections(found, found[:0])
        else:
            change = self._corrected(batch)
        if first is not None:
            latest = int(batch.ticks[-1])
            self._now = latest if self._now is None else max(self._now, latest)
        self._settle()
        return change

    @one_at_a_time
    def advance(self, time: Any = None) -> Corrections:
        """The matches completed by the passage of time; None means the stream has ended.

        Events may still arrive late, as far before this time as before an event; after the end
        of the stream none may come.
        """
        ahead = self._fed("advances")
        if time is None and self._check is not None:
            self._check.end()
        ticks = None if time is None else ticks_of(time, ahead.time_axis)
        self._is_changing = True
        found = ahead.pass_time(ticks)
        self._reported = np.concatenate([self._reported, identities(found)])
        self._has_ended = self._has_ended or ticks is None
        if ticks is not None and (self._now is None or ticks >= self._now):
            self._now = self._advanced_to = ticks
            self._settle()
        return Corrections(found, found[:0])

    @one_at_a_time
    def snapshot_parts(self) -> Parts:
        """The state in parts and without a checksum, valid until the next call."""
        columns = self._fed("is stored").columns
        header = {
            KEYWORD: self._bound,
            "query": str(self._script),
            "now": self._now,
            "advanced_to": self._advanced_to,
            "has_ended": self._has_ended,
            "types": list(self._recent.type_names),
            "schema": columns.schema.to_dict(),
            "time_axis": columns.time_axis.to_dict(),
        }
        base = {"base": np.frombuffer(self._base, dtype=np.uint8)}
        return pack(header, base | prefixed("recent", self._recent.state()))

    @property
    def metrics(self) -> Metrics:
        """Metrics of the evaluation of all events, in their order."""
        return Metrics() if self._ahead is None else self._ahead.metrics

    def _read(self, events: Any) -> Events:
        """A batch in order; the first one begins the session."""
        if self._has_ended:
            raise EventError(STREAM_HAS_ENDED)
        if self._ahead is not None:
            return self._ahead.ordered(events)
        ahead = _Replay(self._script, self._settings)
        batch = ahead.ordered(events)
        self._bound = self._ticks(batch.time_axis)
        nothing = batch.slice(0, 0)
        self._reported = identities(ahead.read_on(nothing))
        self._recent.append(nothing)
        self._base, self._ahead = ahead.snapshot(), ahead
        return batch

    def _ticks(self, axis: TimeAxis) -> int:
        assert isinstance(self._said.extent, Fraction)
        return axis.window_ticks(self._said.extent, self._said.unit)

    def _fed(self, then: str) -> _Replay:
        if self._ahead is None:
            raise unfed(then)
        return self._ahead

    def _is_in_order(self, batch: Events) -> bool:
        """Whether the batch follows all events so far, and the time that has passed."""
        if self._now is None:
            return True
        if int(batch.ticks[0]) != self._now or not len(self._recent):
            return int(batch.ticks[0]) >= self._now
        last = len(self._recent) - 1
        border = Retained(keeps_partitions=False)
        border.append(self._recent.events.slice(last, last + 1))
        border.append(batch.slice(0, 1))
        return self._in_order(border.events) is None

    def _in_order(self, events: Events) -> Events | None:
        """The events in stream order; None if they are."""
        ties = [events.column(name) for name in self._settings.read.tie_break]
        order = stream_order(events.ticks, ties)
        return None if order is None else events.take(order)

    def _corrected(self, batch: Events) -> Corrections:
        """Put the events of a batch in their places, and compare with what was reported."""
        before = self._recent.events
        self._recent.append(batch)
        together = self._recent.events
        recent = Retained(keeps_partitions=False)
        recent.append(self._in_order(together) or together)
        self._ahead, found = self._replayed(recent.events)
        now = identities(found)
        added = found.chosen(~among(now, self._reported))
        retracted = found[:0]
        if not among(self._reported, now).all():
            _, earlier = self._replayed(before)
            retracted = earlier.chosen(~among(identities(earlier), now))
        self._recent, self._reported = recent, now
        return Corrections(added, retracted)

    def _replayed(self, recent: Events, settling: bool = False) -> tuple[_Replay, Matches]:
        """A session that has read these events after the state before them, and its matches."""
        session = _Replay(self._script, self._settings, self._base)
        latest = int(recent.ticks[-1]) if len(recent) else None
        time = None if settling else self._advanced_to
        if time is not None and (latest is None or latest <= time):
            return session, session.read_on(recent, time)
        return session, session.read_on(recent)

    def _settle(self) -> None:
        """Move the remembered state forward if at least half of the recent events are settled."""
        if self._now is None:
            return
        count = int(np.searchsorted(self._recent.ticks, self._now - self._bound))
        if not count or 2 * count < len(self._recent):
            return
        session, found = self._replayed(self._recent.events.slice(0, count), settling=True)
        self._base = session.snapshot()
        self._reported = self._reported[~among(self._reported, identities(found))]
        self._recent.drop_first(count)

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Continue from a snapshot: the recent events are read again."""
        if KEYWORD not in header:
            raise SnapshotError(f"the snapshot was made without {KEYWORD}; restore it without")
        check_values(header, {KEYWORD: "count", "query": "string", "has_ended": "flag"})
        check_values(header, {"now": "integer?", "advanced_to": "integer?", "types": "strings"})
        check_values(header, {"time_axis": "object", "schema": "object"})
        axis = TimeAxis.from_dict(header["time_axis"])
        if header["query"] != str(self._script):
            raise made_by_another("query", header["query"])
        self._bound = self._ticks(axis)
        if header[KEYWORD] != self._bound:
            raise SnapshotError(
                f"the snapshot was made with other {KEYWORD}, of {header[KEYWORD]} ticks; restore "
                "it with the same"
            )
        check_arrays(arrays, {"base": expected(np.uint8, "bytes")}, ["recent"])
        schema = Schema.from_dict(header["schema"])
        self._recent.load(part("recent", arrays), header["types"], axis, schema)
        self._base = arrays["base"].tobytes()
        self._now, self._advanced_to = header["now"], header["advanced_to"]
        last = self._recent.ticks[-1:].tolist()
        is_later = self._now is not None and all(tick <= self._now for tick in last)
        require(is_later or not last, "'now' is too early")
        self._ahead, found = self._replayed(self._recent.events)
        if header["has_ended"]:
            self._ahead.pass_time(None)
        self._has_ended = header["has_ended"]
        self._reported = identities(found)


class _Replay(StreamSession[Matches, Metrics]):
    """A session whose batches are in order and have their row numbers."""

    @property
    def columns(self) -> Events:
        """No events, with the columns of those read so far."""
        latest = self._first("is stored").latest
        assert latest is not None
        return latest

    @property
    def time_axis(self) -> TimeAxis:
        """How times become ticks."""
        return self._first("advances").time_axis

    def ordered(self, events: Any) -> Events:
        """A batch in order, with its row numbers."""
        return self._ordered(events)

    def read_on(self, batch: Events, time: int | None = None) -> Matches:
        """The matches of the next events, and of the time that passes after them."""
        now = int(batch.ticks[-1]) if len(batch) else self._now
        if time is None:
            return self._step(batch, now, advancing=False)
        return self._step(batch, time, advancing=True, until=time)

    def pass_time(self, ticks: int | None) -> Matches:
        """The matches completed by the passage of time; None: by the end of the stream."""
        return self._advance(ticks)


def _refuse(script: Script, settings: RunSettings) -> None:
    """Refuse what cannot be corrected."""
    if settings.read.uncertain is not None:
        raise OptionError(
            f"{KEYWORD} is for events with certain times; with uncertain ones, max_uncertainty "
            "says how late an event can be"
        )
    returns = script.queries[0].query.returns
    if returns is not None and reads_positions(returns):
        raise OptionError(
            f"{KEYWORD} distinguishes matches by their events, and a late event changes the INDEX "
            "of all that follow; leave it out of RETURN"
        )
