"""A script over a stream that arrives in batches: a session for each query.

A query may read an event only when every query that it reads has made all composite events that
come before it. The *frontier* of a query is the least (ticks, anchor) at which it can still make
one. It is behind the input while a match that ends before now is pending, which happens if a window
counts events. Otherwise a batch passes through all queries in one call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.errors import STREAM_HAS_ENDED, EventError, SnapshotError
from cepheid.events.arrays import Int64s
from cepheid.events.events import Events
from cepheid.events.time_axis import TimeAxis
from cepheid.matches.bindings import joined_bindings
from cepheid.matches.matches import Matches
from cepheid.matches.metrics import Metrics
from cepheid.schema import Schema
from cepheid.sessions.composites import Composites, Frontier, Unsettled, before
from cepheid.sessions.merged_stream import ANCHOR, PLACE, refuse_taken_types, without_places
from cepheid.sessions.plan import PlannedQuery, naming, plan
from cepheid.sessions.protocol import QuerySession, Stored, open_session
from cepheid.sessions.run_settings import RunSettings
from cepheid.sessions.script import Script
from cepheid.snapshots import (
    Arrays,
    Parts,
    pack,
    part,
    prefixed,
    sealed,
    table_bytes,
    table_from,
    unpack,
)

_WINDOW_END_OF = -1
"""Less than the anchor of any event: all events of its time come after such a frontier."""


class _Node:
    """A query of a script: its session, its unread events, and its composite events.

    Composite events that the query has made are *unsettled* until their order is final.
    """

    def __init__(self, planned: PlannedQuery, script: Script, session: QuerySession) -> None:
        self.planned = planned
        self.session = session
        self._queries = script.queries
        self._raw: Events | None = None
        self._anchors: Int64s = np.empty(0, dtype=np.int64)
        self._inbox: dict[int, Composites] = {}
        self._unsettled: Unsettled | None = None
        self._made = 0
        self.frontier: Frontier | None = None

    @property
    def reads(self) -> tuple[int, ...]:
        return self.planned.each.reads

    def receive(self, raw: Events, anchors: Int64s) -> None:
        """Take events of the input, to be read later."""
        if self._raw is None or not len(self._raw):
            self._raw, self._anchors = raw, anchors
        elif len(raw):
            self._raw = _followed_by(self._raw, raw)
            self._anchors = np.concatenate([self._anchors, anchors])

    def receive_made(self, query: int, composites: Composites) -> None:
        """Take composite events of an earlier query."""
        held = self._inbox.get(query)
        self._inbox[query] = composites if held is None else held.followed_by(composites)

    def step(
        self, limit: Frontier | None, advancing: bool, until: int | None
    ) -> tuple[Matches, Composites | None]:
        """Read the events before the limit: the matches, and the composite events that settle.

        With ``advancing``, time passes to ``until``; if that is None, the stream has ended.
        """
        batch = self._read(limit)
        if advancing and until is not None and limit is not None:
            until = min(until, limit[0])
        if advancing:
            matches = self.session.advance(until, after=batch)
        else:
            assert batch is not None
            matches = self.session.feed(batch)
        named = self.planned.named
        if self.planned.makes is None:
            return named(matches, self._queries), None
        waiting = self.session.waiting_until
        self.frontier = limit
        if waiting is not None and (limit is None or (waiting, _WINDOW_END_OF) < limit):
            self.frontier = (waiting, _WINDOW_END_OF)
        if len(matches):
            matches, made = self._made_of(matches)
            held = self._unsettled
            self._unsettled = made if held is None else held.joined(made)
        settled = self.planned.no_composites()
        if self._unsettled is not None:
            settled, self._unsettled = self._unsettled.settled(self.frontier, self._made)
        self._made += len(settled)
        return named(matches, self._queries), settled

    def _made_of(self, matches: Matches) -> tuple[Matches, Unsettled]:
        """The matches in order, and as composite events."""
        query = self.planned.each.query
        events, parts = matches.parts()
        anchors, places = (events.table.column(name).to_numpy() for name in (ANCHOR, PLACE))
        found, made = Unsettled.of(query, events, joined_bindings(parts), anchors, places)
        return Matches(query, events, [found], matches.metrics), made

    def _read(self, limit: Frontier | None) -> Events | None:
        """The stream of the query up to the limit; None if it has received nothing to read."""
        if self._raw is None:
            return None
        stream, anchors = self._raw, self._anchors
        if self.planned.stream is None:
            self._raw = None
        else:
            count = int(np.count_nonzero(before(limit, stream.ticks, anchors)))
            self._raw, self._anchors = stream.slice(count, len(stream)), anchors[count:]
            ready: dict[int, Composites] = {}
            for ix, held in self._inbox.items():
                ready[ix], self._inbox[ix] = held.split(limit)
            stream, anchors = self.planned.stream.merge(
                stream.slice(0, count), anchors[:count], ready, len(self._queries)
            )
        if self.planned.makes is None:
            return stream
        places = np.arange(len(stream), dtype=np.int64) + self.session.rows_read
        table = stream.table.append_column(ANCHOR, pa.array(anchors))
        return replace(stream, table=table.append_column(PLACE, pa.array(places)))

    @property
    def holds_unread(self) -> bool:
        """Whether there are events that this query, or one that reads it, has not read yet."""
        held = (self._raw, self._unsettled, *self._inbox.values())
        return any(each is not None and len(each) > 0 for each in held)

    def state(self) -> Arrays:
        """The state of the node, for a snapshot."""
        raw = self.planned.sample if self._raw is None else self._raw
        arrays: Arrays = {
            "session": np.frombuffer(sealed(self.session.snapshot_parts()), dtype=np.uint8),
            "made": np.array([self._made]),
            "anchors": self._anchors[: len(raw)],
            **prefixed("raw", _events_state(raw)),
        }
        for ix, held in self._inbox.items():
            arrays |= prefixed(f"inbox{ix}", held.state())
        if self._unsettled is not None:
            arrays |= prefixed("unsettled", self._unsettled.state())
        return arrays

    def load(self, arrays: Arrays, axis: TimeAxis, schema: Schema) -> None:
        """Restore the state of a snapshot, except the session."""
        self._made = int(arrays["made"][0])
        self._anchors = arrays["anchors"]
        self._raw = _events_from(part("raw", arrays), axis, schema)
        self._inbox = {ix: Composites.load(part(f"inbox{ix}", arrays)) for ix in self.reads}
        if unsettled := part("unsettled", arrays):
            self._unsettled = Unsettled.load(unsettled)


class ScriptRun:
    """A script over a stream that arrives in batches of ordered events.

    The snapshot of a single query is the snapshot of its session.
    """

    def __init__(
        self, script: Script, settings: RunSettings, columns: Events, stored: Stored | None = None
    ) -> None:
        """The script over events with these columns, new or from a snapshot."""
        self._script = script
        self._columns = columns.slice(0, 0)
        self._nodes = [
            _Node(each, script, _session_of(script, settings, each, stored))
            for each in plan(script, settings, columns, in_batches=True)
        ]
        self._now: int | None = None
        self._has_ended = False

    @property
    def first(self) -> QuerySession:
        """The session of the first query, which reads exactly the events of the input."""
        return self._nodes[0].session

    @property
    def rows_read(self) -> int:
        """The number of events fed so far."""
        return self.first.rows_read

    @property
    def latest(self) -> Events | None:
        """No events, with the columns, schema and time axis of the events fed so far."""
        latest = self.first.latest
        if latest is None or self._nodes[0].planned.makes is None:
            return latest
        return without_places(latest)

    @property
    def time_axis(self) -> TimeAxis:
        """How times become ticks."""
        return self.first.time_axis

    @property
    def lead(self) -> int:
        """How long before the time in its column an event can begin, in ticks."""
        return self.first.lead

    @property
    def metrics(self) -> dict[str, Metrics]:
        """Metrics of the evaluation of each query so far."""
        return {node.planned.each.name: node.session.metrics for node in self._nodes}

    @property
    def next_completion(self) -> int | None:
        """The earliest time that completes a match without another event; None if none does.

        Later queries read its composite event at that time, or have a match pending until then.
        """
        times = [node.session.next_completion for node in self._nodes]
        return min((time for time in times if time is not None), default=None)

    @property
    def evicted_from(self) -> int | None:
        """The time from which no event fed so far matters; None if there is no such time.

        It is valid only if it is still the answer at that time: a match completed by then may
        have made an event that another query retains for longer.
        """
        times = [node.session.evicted_from for node in self._nodes]
        if any(node.holds_unread for node in self._nodes):
            return None
        known = [time for time in times if time is not None]
        return max(known) if len(known) == len(times) else None

    def feed(self, batch: Events) -> dict[str, Matches]:
        """The matches of each query that a batch of events completes."""
        if self._has_ended:
            raise EventError(STREAM_HAS_ENDED)
        refuse_taken_types(self._script.queries, batch)
        now = int(batch.ticks[-1]) if len(batch) else self._now
        return self._step(batch, now, advancing=False)

    def advance(self, ticks: int | None = None) -> dict[str, Matches]:
        """The matches completed by the passage of time; None means the stream has ended."""
        self._has_ended = self._has_ended or ticks is None
        now = self._now if ticks is None or self._now is None else max(self._now, ticks)
        return self._step(None, ticks if now is None else now, advancing=True, until=ticks)

    def _step(
        self, batch: Events | None, now: int | None, advancing: bool, until: int | None = None
    ) -> dict[str, Matches]:
        before = self.rows_read
        after = before + (0 if batch is None else len(batch))
        # A single query merges nothing, and needs no anchors.
        anchors = np.arange(before, before if self._script.is_single else after, dtype=np.int64)
        # Later events have at least this time, and the next anchor.
        horizon = None if self._has_ended or now is None else (now, after)
        found: dict[str, Matches] = {}
        for node in self._nodes:
            limit = horizon
            for ix in node.reads:
                limit = _earlier(limit, self._nodes[ix].frontier)
            if batch is not None:
                node.receive(batch, anchors)
            with naming(self._script, node.planned.number):
                found[node.planned.each.name], settled = node.step(limit, advancing, until)
            if settled is not None:
                for later in self._nodes:
                    if node.planned.number in later.reads:
                        later.receive_made(node.planned.number, settled)
        self._now = now
        return found

    def snapshot_parts(self) -> Parts:
        """The state as the parts of a snapshot, valid until the next call."""
        if self._script.is_single:
            return self.first.snapshot_parts()
        header = {
            "script": str(self._script),
            "now": self._now,
            "has_ended": self._has_ended,
            "rows_read": self.rows_read,
            "schema": self._columns.schema.to_dict(),
            "time_axis": self._columns.time_axis.to_dict(),
        }
        arrays: Arrays = {"columns": table_bytes(self._columns.table)}
        for node in self._nodes:
            arrays |= prefixed(f"query{node.planned.number}", node.state())
        return pack(header, arrays)

    @classmethod
    def restore(
        cls, script: Script, settings: RunSettings, snapshot: bytes | memoryview
    ) -> ScriptRun:
        """The run of a snapshot, which must be of the same script.

        Raises:
            SnapshotError: it is damaged, of another version or of another script.
        """
        header, arrays = unpack(snapshot)
        _check_made_by(script, header)
        axis, schema = TimeAxis.from_dict(header["time_axis"]), Schema.from_dict(header["schema"])
        none = np.empty(0, dtype=np.int64)
        table = pa.table({}) if script.is_single else table_from(arrays["columns"])
        columns = Events(table, none, none, axis, none.astype(np.int32), (), schema)
        run = cls(script, settings, columns, (header, arrays))
        run._now = header.get("now")
        if not script.is_single:
            run._has_ended = header["has_ended"]
            for node in run._nodes:
                node.load(part(f"query{node.planned.number}", arrays), axis, schema)
        return run


def _session_of(
    script: Script, settings: RunSettings, planned: PlannedQuery, stored: Stored | None
) -> QuerySession:
    """The session of a query, new or from the snapshot of the script."""
    if stored is not None and not script.is_single:
        stored = unpack(stored[1][f"query{planned.number}.session"].tobytes())
    return open_session(planned, settings, stored)


def _check_made_by(script: Script, header: Mapping[str, Any]) -> None:
    kind = "query" if script.is_single else "script"
    if kind not in header:
        kinds = ["a single query", "a script"]
        wanted = kinds.pop(0 if script.is_single else 1)
        raise SnapshotError(f"the snapshot is of {kinds[0]}, and not of {wanted}")
    # A session checks the text of its own query.
    if not script.is_single and header[kind] != str(script):
        raise SnapshotError(
            "the snapshot is of another script; read the stream from its beginning. "
            f"It was made by:\n{header[kind]}"
        )


def _earlier(one: Frontier | None, other: Frontier | None) -> Frontier | None:
    """The lesser of two frontiers; None is the end of the stream."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _followed_by(first: Events, more: Events) -> Events:
    """One batch of events and then another, which may number its types differently."""
    names = tuple(dict.fromkeys((*first.type_names, *more.type_names)))
    code = np.array([names.index(name) for name in more.type_names], dtype=np.int32)
    return Events(
        pa.concat_tables([first.table, more.table], promote_options="default").combine_chunks(),
        np.concatenate([first.rows, more.rows]),
        np.concatenate([first.ticks, more.ticks]),
        first.time_axis,
        np.concatenate([first.type_codes, code[more.type_codes]]),
        names,
        first.schema,
    )


def _events_state(events: Events) -> Arrays:
    return {
        "table": table_bytes(events.table),
        "rows": events.rows,
        "ticks": events.ticks,
        "type_codes": events.type_codes,
        "type_names": np.array(events.type_names, dtype=np.str_),
    }


def _events_from(state: Mapping[str, np.ndarray], axis: TimeAxis, schema: Schema) -> Events:
    return Events(
        table_from(state["table"]),
        state["rows"],
        state["ticks"],
        axis,
        state["type_codes"],
        tuple(state["type_names"].tolist()),
        schema,
    )
