"""A query or a script over a stream that arrives in batches: the session that users hold."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

import numpy as np
import pyarrow as pa

from cepheid.engines.base.evaluation import AUTO
from cepheid.engines.base.query_session import QuerySession, Stored
from cepheid.errors import (
    STREAM_HAS_ENDED,
    EventError,
    QueryError,
    SnapshotError,
    unfed,
)
from cepheid.events.conforming import late_kinds, like_earlier
from cepheid.events.events import Events
from cepheid.events.time_axis import TimeAxis, check_range, earliest, latest_of_all
from cepheid.language.state_text import share_state
from cepheid.matches.matches import Matches, ScriptMatches
from cepheid.matches.metrics import Metrics
from cepheid.planning.choice import refuse_unknown_kinds, warn_of_reference
from cepheid.planning.silent_zeros import StreamCheck
from cepheid.schema import Schema
from cepheid.sessions.held_session import HeldSession, one_at_a_time, ticks_of
from cepheid.sessions.plan import naming, open_session, plan
from cepheid.sessions.query_node import QueryNode
from cepheid.sessions.run_settings import RunSettings
from cepheid.sessions.script import Script
from cepheid.sessions.scripts.merged_stream import refuse_taken_types, without_places
from cepheid.snapshot_checks import check_arrays, check_values, expected, made_by_another
from cepheid.snapshots import (
    Arrays,
    Parts,
    pack,
    part,
    prefixed,
    table_bytes,
    table_from,
    unpack,
)

Found = TypeVar("Found")
Counted = TypeVar("Counted")


class StreamSession(HeldSession, Generic[Found, Counted]):
    """The state of a query or a script between batches of events.

    Make one with ``query.session()`` or ``script.session()``. The session of a query returns
    :class:`~cepheid.matches.matches.Matches`, and the session of a script
    :class:`~cepheid.matches.matches.ScriptMatches`. They do not depend on how the stream
    is divided into batches, nor on whether the session was stored and restored in between.

    A session serves one call at a time: a call during another one is a ``SessionError``. After an
    interrupted call (Ctrl-C), a ``MemoryError`` or a ``LimitError`` it rejects further calls if
    its state may be incomplete.

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
        self,
        script: Script,
        settings: RunSettings,
        snapshot: bytes | memoryview | None = None,
        check: StreamCheck | None = None,
    ) -> None:
        super().__init__()
        self._script = script
        self._settings = settings
        self._check = check
        # The queries in order; none before the first batch, whose columns they depend on.
        self._nodes: list[QueryNode] = []
        self._now: int | None = None
        self._has_ended = False
        self._continue(snapshot)

    def _open(self, columns: Events, stored: Stored | None = None) -> None:
        """Begin, or continue from a snapshot, with events of these columns."""
        nodes = []
        for planned in plan(self._script, self._settings, columns, in_batches=True):
            own = stored
            if stored is None and self._settings.evaluation == AUTO:
                refuse_unknown_kinds(planned.evaluation, planned.refusals)
                warn_of_reference(planned.evaluation, planned.refusals)
            if stored is not None and not self._script.is_single:
                own = unpack(stored[1][f"query{planned.number}.session"].tobytes())
            nodes.append(QueryNode(planned, self._script, open_session(planned.task, own)))
        self._nodes = nodes

    def _first(self, then: str) -> QuerySession:
        """The session of the first query, which reads exactly the events of the input."""
        if not self._nodes:
            raise unfed(then)
        return self._nodes[0].session

    @one_at_a_time
    def feed(self, events: Any) -> Found:
        """The matches that a batch of events completes.

        Events of a batch may be in any order, but none may be before the end of an earlier
        batch. Row numbers continue from batch to batch. A batch needs the columns of the first
        one: others are ignored, and a missing column or one of another type is refused. An
        empty list is a batch without events.
        """
        batch = self._ordered(events)
        if self._check is not None:
            self._check.read(batch.type_names)
        now = int(batch.ticks[-1]) if len(batch) else self._now
        return self._step(batch, now, advancing=False)

    def _ordered(self, events: Any) -> Events:
        """A batch in order, with the columns of the first one; row numbers continue."""
        latest = self._nodes[0].session.latest if self._nodes else None
        if latest is not None:
            latest = without_places(latest)
        if latest is not None and isinstance(events, list) and not events:
            batch = latest
        else:
            batch = self._settings.read.order(events)
        if not self._nodes:
            self._open(batch)
        elif latest is not None:
            self._check_late_kinds(batch, latest)
            batch = like_earlier(batch, latest)
        if self._has_ended:
            raise EventError(STREAM_HAS_ENDED)
        if self._now is not None and len(batch):
            check_range(batch.time_axis.column, self._now, int(batch.ticks[-1]))
        refuse_taken_types(self._script.queries, batch)
        return batch.counted_from(self._nodes[0].session.rows_read)

    @one_at_a_time
    def advance(self, time: Any = None) -> Found:
        """The matches completed by the passage of time; None means the stream has ended.

        At the end, a type of the query that no event had gets a warning, unless the session was
        restored: it does not know what came before.
        """
        axis = self._first("advances").time_axis
        if time is None and self._check is not None:
            self._check.end()
        return self._advance(None if time is None else ticks_of(time, axis))

    @one_at_a_time
    def settle(self, time: Any) -> Found:
        """The matches that are complete because no later event has an earlier time.

        This is :meth:`advance`, unless events can begin before the time in their column.
        """
        first = self._first("advances")
        return self._advance(ticks_of(time, first.time_axis) - first.lead)

    def _advance(self, ticks: int | None) -> Found:
        self._has_ended = self._has_ended or ticks is None
        now = self._now if ticks is None or self._now is None else max(self._now, ticks)
        return self._step(None, ticks if now is None else now, advancing=True, until=ticks)

    def _step(
        self, batch: Events | None, now: int | None, advancing: bool, until: int | None = None
    ) -> Found:
        """Let each query read a batch and, if ``advancing``, let time pass."""
        self._is_changing = True
        before = self._nodes[0].session.rows_read
        after = before + (0 if batch is None else len(batch))
        # A single query merges nothing, and needs no anchors.
        anchors = np.arange(before, before if self._script.is_single else after, dtype=np.int64)
        # Later events have at least this time, and the next anchor.
        horizon = None if self._has_ended or now is None else (now, after)
        found: dict[str, Matches] = {}
        for node in self._nodes:
            each = node.planned.each
            fronts = [horizon, *(self._nodes[ix].frontier for ix in each.reads)]
            limit = min((front for front in fronts if front is not None), default=None)
            if batch is not None:
                node.receive(batch, anchors)
            with naming(self._script, node.planned.number):
                found[each.name], settled = node.step(limit, advancing, until)
            if settled is not None:
                for later in self._nodes:
                    if node.planned.number in later.planned.each.reads:
                        later.receive_made(node.planned.number, settled)
        self._now = now
        if self._script.is_single:
            (only,) = found.values()
            return cast("Found", only)
        return cast("Found", ScriptMatches(found))

    @one_at_a_time
    def snapshot_parts(self) -> Parts:
        """The state in parts and without a checksum, valid until the next call.

        The snapshot of a single query is the snapshot of its session.
        """
        first = self._first("is stored")
        self._is_changing = True  # Engines drop what they no longer need.
        if self._script.is_single:
            return first.snapshot_parts()
        columns = without_places(self._nodes[0].planned.sample)
        header = {
            "script": str(self._script),
            "now": self._now,
            "has_ended": self._has_ended,
            "rows_read": first.rows_read,
            "schema": columns.schema.to_dict(),
            "time_axis": columns.time_axis.to_dict(),
        }
        arrays: Arrays = {"columns": table_bytes(columns.table)}
        for node in self._nodes:
            arrays |= prefixed(f"query{node.planned.number}", node.state())
        return pack(header, arrays)

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Continue from a snapshot, which must be of the same script."""
        check_values(header, {"time_axis": "object", "schema": "object", "now": "integer?"})
        single = self._script.is_single
        if "corrections" in header:
            raise SnapshotError("the snapshot was made with corrections; restore it with the same")
        kind = "query" if single else "script"
        if kind not in header:
            names = ["a script", "a single query"]
            wanted = names.pop(single)
            raise SnapshotError(f"the snapshot is of {names[0]}, and not of {wanted}")
        # A session checks the text of its own query.
        if not single and not self._made(str(header[kind])):
            raise made_by_another("script", header[kind])
        axis, schema = TimeAxis.from_dict(header["time_axis"]), Schema.from_dict(header["schema"])
        none = np.empty(0, dtype=np.int64)
        table = pa.table({}) if single else table_from(arrays["columns"])
        columns = Events(table, none, none, axis, none.astype(np.int32), (), schema)
        try:
            self._open(columns, (header, arrays))
        except QueryError as error:
            raise SnapshotError(
                f"the snapshot lacks what the query needs: {error}\nRead the stream from its "
                "beginning, or restore it with the query that made it"
            ) from error
        self._now = header.get("now")
        if not single:
            check_values(header, {"has_ended": "flag"})
            parts = [f"query{node.planned.number}" for node in self._nodes]
            check_arrays(arrays, {"columns": expected(np.uint8, "bytes")}, parts)
            self._has_ended = header["has_ended"]
            for node in self._nodes:
                node.load(part(f"query{node.planned.number}", arrays), axis, schema)

    def _made(self, text: str) -> bool:
        """Whether a script with this text has the states of this one."""
        trees = [each.query for each in self._script.queries]
        return text == str(self._script) or share_state(text, trees, with_returns=True)

    @property
    @one_at_a_time
    def next_completion(self) -> int | None:
        """The earliest time to settle, in ticks, that completes a match without another event.

        Later queries of a script read its composite event at that time, or have a match pending
        until then.
        """
        first = earliest(node.session.next_completion for node in self._nodes)
        return None if first is None else first + self._nodes[0].session.lead

    @property
    @one_at_a_time
    def evicted_from(self) -> int | None:
        """The time to settle, in ticks, from which no event fed so far matters.

        It is valid only if it is still the answer at that time: a match completed by then may
        have made an event that another query of the script retains for longer.
        """
        if not self._nodes or any(node.holds_unread for node in self._nodes):
            return None
        last = latest_of_all(node.session.evicted_from for node in self._nodes)
        return None if last is None else last + self._nodes[0].session.lead

    @property
    def metrics(self) -> Counted:
        """Metrics of the evaluation so far; for a script, by the name of the query."""
        found = {node.planned.each.name: node.session.metrics for node in self._nodes}
        if self._script.is_single:
            return cast("Counted", next(iter(found.values()), Metrics()))
        return cast("Counted", found)

    def _check_late_kinds(self, batch: Events, earlier: Events) -> None:
        """Analyse the queries again if a column without values so far now reveals its kind."""
        schema = late_kinds(batch, earlier)
        if schema is not None:
            for number, each in enumerate(self._script.queries):
                if not each.reads:
                    self._script.analysed(number, schema)


QueryStream = StreamSession[Matches, Metrics]
ScriptStream = StreamSession[ScriptMatches, dict[str, Metrics]]
