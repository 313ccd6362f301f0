"""A query over a stream that comes in pieces: the session as users hold it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from numbers import Number
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.evaluation import IMPRECISE
from cepheid.engines.base.options import Options
from cepheid.errors import STREAM_HAS_ENDED, EventError, OptionError
from cepheid.events.events import Events, order_events
from cepheid.events.later_batch import like_earlier
from cepheid.events.time_axis import TimeAxis
from cepheid.events.uncertain_time import UncertainTime
from cepheid.matches.matches import Matches
from cepheid.matches.metrics import Metrics
from cepheid.matches.modes.registry import refuse_output
from cepheid.schema import Kind, Schema
from cepheid.sessions.session import Session
from cepheid.snapshots import Arrays, Parts, sealed, unpack

if TYPE_CHECKING:
    from cepheid.engines.imprecise.session import ImpreciseSession


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """How the events of a stream are read and the query is run."""

    time: str
    type: str | None
    tie_break: str | Sequence[str] | None
    time_unit: str | None
    schema: Schema | None
    output: str
    options: Options
    uncertain: UncertainTime | None = None

    def ordered(self, events: Any) -> Events:
        """A batch of the stream in order."""
        return order_events(
            events,
            time=self.time,
            type=self.type,
            tie_break=self.tie_break,
            time_unit=self.time_unit,
            schema=self.schema,
        )


def ticks_of(time: Any, axis: TimeAxis) -> int:
    """A time that a user gives, on the axis of the time column."""
    try:
        if isinstance(time, Number) and axis.is_clock:
            raise pa.ArrowInvalid("a number is no point in time")
        is_time = isinstance(time, date)
        moment = pa.array([time], pa.timestamp("us") if is_time else None).cast(axis.arrow_type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, OverflowError):
        zone = "Z" if getattr(axis.arrow_type, "tz", None) else ""
        advice = f"; give a datetime, or a text such as '2024-05-01 09:30:00{zone}'"
        raise OptionError(
            f"{time!r} is not a time of the column {axis.column!r}, which is {axis.arrow_type}"
            + (advice if axis.is_clock else "")
        ) from None
    return int(axis.encode(moment)[0])


class StreamSession:
    """The state of a query between batches of events. Make one with ``query.session()``.

    The matches are the same however the events are cut into batches, and whether or not the
    session was stored and restored in between.

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
    """

    def __init__(
        self,
        settings: StreamSettings,
        analyse: Callable[..., tuple[AnalysedQuery, str]],
        window: Callable[[Events], int | None],
        snapshot: bytes | memoryview | None = None,
    ) -> None:
        self._settings = settings
        self._analyse = analyse
        self._window = window
        self._session: Session | ImpreciseSession | None = None
        self._snapshot = snapshot
        self._has_ended = False

    def feed(self, events: Any) -> Matches:
        """The matches that a batch of events completes.

        A batch may be in any order itself, but must not begin before an earlier one ended.
        Rows are counted on from batch to batch. It has the columns of the first one: others are
        left out, and one that is missing or of another type is refused. An empty list has none.
        """
        if self._has_ended:
            raise EventError(STREAM_HAS_ENDED)
        is_first = self._session is None and self._snapshot is None
        is_nothing = isinstance(events, list) and not events
        earlier = self._advancing().latest if is_nothing and not is_first else None
        batch = self._settings.ordered(events) if earlier is None else earlier
        session = self._running(batch)
        if session.latest is not None:
            self._check_late_kinds(batch, session.latest)
            batch = like_earlier(batch, session.latest)
        return session.feed(batch.counted_from(session.rows_read))

    def _check_late_kinds(self, batch: Events, earlier: Events) -> None:
        """Analyse the query again where a column had no value before, and now tells its kind."""
        late = {
            field.name: batch.schema.kind(field.name)
            for field in earlier.table.schema
            if earlier.schema.kind(field.name) is Kind.UNKNOWN and pa.types.is_null(field.type)
        }
        if any(kind is not Kind.UNKNOWN for kind in late.values()):
            attributes = {**earlier.schema.attributes, **late}
            self._analyse(replace(earlier.schema, attributes=attributes))

    def advance(self, time: Any = None) -> Matches:
        """The matches that are complete because time has passed; None: the stream has ended."""
        session = self._advancing()
        self._has_ended = self._has_ended or time is None
        return session.advance(None if time is None else ticks_of(time, session.time_axis))

    def settle(self, time: Any) -> Matches:
        """The matches that are complete because no event to come has an earlier time.

        It is :meth:`advance`, unless events can begin before the time that their column says.
        """
        session = self._advancing()
        return session.advance(ticks_of(time, session.time_axis) - _lead(session))

    def snapshot(self) -> bytes:
        """The state as bytes, from which ``query.restore()`` goes on, here or elsewhere."""
        if self._session is None:
            if self._snapshot is not None:
                return bytes(self._snapshot)
            raise EventError("a session must be fed, if only with no events, before it is stored")
        return sealed(self._session.snapshot_parts())

    def snapshot_parts(self) -> Parts:
        """The same in parts and without a checksum, valid until the session goes on."""
        return self._advancing().snapshot_parts()

    @property
    def next_completion(self) -> int | None:
        """The first time, in ticks, to settle that completes a match if no event comes before."""
        time = None if self._session is None else self._session.next_completion
        return None if time is None else time + _lead(self._session)

    @property
    def forgotten_from(self) -> int | None:
        """The time, in ticks, to settle from which on nothing that was fed matters any more."""
        time = None if self._session is None else self._session.forgotten_from
        return None if time is None else time + _lead(self._session)

    @property
    def metrics(self) -> Metrics:
        """What the evaluation has done so far."""
        return self._session.metrics if self._session else Metrics()

    def _advancing(self) -> Session | ImpreciseSession:
        if self._session is None and self._snapshot is None:
            raise EventError("a session must be fed, if only with no events, before it advances")
        return self._restored() if self._session is None else self._session

    def _running(self, batch: Events) -> Session | ImpreciseSession:
        if self._session is None and self._snapshot is not None:
            self._restored()
        if self._session is None:
            query, evaluation = self._analyse(batch.schema, batch)
            settings = self._settings
            if evaluation == IMPRECISE:
                self._session = self._weighing(query, self._window(batch))
                return self._session
            self._session = Session(
                query,
                self._window(batch),
                settings.output,
                settings.options,
                evaluation=evaluation,
            )
        return self._session

    def _restored(self) -> Session | ImpreciseSession:
        assert self._snapshot is not None
        header, arrays = unpack(self._snapshot)
        query, evaluation = self._analyse(Schema.from_dict(header["schema"]))
        if evaluation == IMPRECISE:
            self._session = self._weighing(query, None, (header, arrays))
        else:
            self._session = Session.load(query, header, arrays, self._settings.options)
        return self._session

    def _weighing(
        self,
        query: AnalysedQuery,
        window: int | None,
        stored: tuple[dict[str, Any], Arrays] | None = None,
    ) -> ImpreciseSession:
        """The session of a query over uncertain times, new or from a snapshot."""
        from cepheid.engines.imprecise.session import ImpreciseSession

        refuse_output(self._settings.output)
        said, options = self._settings.uncertain or UncertainTime(), self._settings.options
        if stored is not None:
            return ImpreciseSession.load(query, *stored, said, options)
        return ImpreciseSession(query, window, said, options)


def _lead(session: Session | ImpreciseSession | None) -> int:
    """How far an event can begin before the time in its column."""
    return 0 if session is None or isinstance(session, Session) else session.lead
