"""A query of a script over a stream: its session, its unread events, and its composite events.

A query may read an event only when every query that it reads has made all composite events that
come before it. The *frontier* of a query is the least (ticks, anchor) at which it can still make
one. It is behind the input while a match that ends before now is pending, which happens if a window
counts events. Otherwise a batch passes through all queries in one call.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepheid.engines.base.query_session import QuerySession
from cepheid.engines.base.retained import events_from, events_state
from cepheid.events.arrays import Int64s
from cepheid.events.events import Events
from cepheid.events.partition_positions import PartitionPositions
from cepheid.events.time_axis import TimeAxis
from cepheid.matches.bindings import WINDOW_END, joined_bindings
from cepheid.matches.matches import Matches
from cepheid.schema import Schema
from cepheid.sessions.plan import PlannedQuery
from cepheid.sessions.script import Script
from cepheid.sessions.scripts.composites import Composites, Frontier, Unsettled, before
from cepheid.sessions.scripts.merged_stream import ANCHOR, PLACE, without_places
from cepheid.snapshot_checks import FAR, check_arrays, check_values, expected, require
from cepheid.snapshots import Arrays, part, prefixed


class QueryNode:
    """A query of a script between batches.

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
        self._positions = PartitionPositions.of(planned.analysed)
        if self._positions is not None and session.latest is not None:
            self._positions.resume(session.retained)
        self.frontier: Frontier | None = None

    def receive(self, raw: Events, anchors: Int64s) -> None:
        """Take events of the input, to be read later."""
        if self._raw is None or not len(self._raw):
            self._raw, self._anchors = raw, anchors
        elif len(raw):
            self._raw = self._raw.followed_by(raw)
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
        if waiting is not None and (limit is None or (waiting, WINDOW_END) < limit):
            self.frontier = (waiting, WINDOW_END)
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
        if self._positions is not None:
            if self._positions.are_many() and self.session.latest is not None:
                self._positions.resume(self.session.retained)
            stream = self._positions.added(stream)
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
        raw = without_places(self.planned.sample) if self._raw is None else self._raw
        arrays: Arrays = {
            "session": np.frombuffer(self.session.snapshot(), dtype=np.uint8),
            "made": np.array([self._made]),
            "anchors": self._anchors[: len(raw)],
            **prefixed("raw", events_state(raw)),
            "raw.type_names": np.array(raw.type_names, dtype=np.str_),
        }
        for ix, held in self._inbox.items():
            arrays |= prefixed(f"inbox{ix}", held.state())
        if self._unsettled is not None:
            arrays |= prefixed("unsettled", self._unsettled.state())
        return arrays

    def load(self, arrays: Arrays, axis: TimeAxis, schema: Schema) -> None:
        """Restore the state of a snapshot, except the session."""
        raw = part("raw", arrays)
        names = raw.pop("type_names")
        check_arrays({"type_names": names}, {"type_names": expected(np.str_, "types")})
        check_values({"types": names.tolist()}, {"types": "strings"})
        self._raw = events_from(raw, names.tolist(), axis, schema)
        described = {
            "session": expected(np.uint8, "bytes"),
            "made": expected(np.int64, 1, each=(0, FAR)),
            # A query that reads no composite events keeps no anchors.
            "anchors": expected(np.int64, "anchors", each=(0, FAR)),
        }
        inboxes = [f"inbox{ix}" for ix in self.planned.each.reads]
        size = check_arrays(arrays, described, ["raw", "unsettled", *inboxes])["anchors"]
        require(size == len(self._raw), "events have no anchors")
        self._made = int(arrays["made"][0])
        self._anchors = arrays["anchors"]
        self._inbox = {
            ix: Composites.load(part(f"inbox{ix}", arrays)) for ix in self.planned.each.reads
        }
        if unsettled := part("unsettled", arrays):
            self._unsettled = Unsettled.load(unsettled)
