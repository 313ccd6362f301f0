"""A script over a stream that comes in batches: a session for each query, one after the other.

A query may see an event only when every query that it reads has made all composite events that
stand before it. How far that is, is the *frontier* of a query: the least (ticks, anchor) at which
it can still make one. It is behind the input where a match waits that ends before now, which
happens where a window counts events; otherwise a batch goes through all queries at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepheid.analysis.scripts import ScriptQuery
from cepheid.errors import STREAM_HAS_ENDED, EventError, SnapshotError
from cepheid.events.arrays import Int64s
from cepheid.events.events import Events
from cepheid.events.time_axis import TimeAxis
from cepheid.language.printer import print_query
from cepheid.matches.bindings import joined_bindings
from cepheid.matches.matches import Matches
from cepheid.matches.metrics import Metrics
from cepheid.schema import Schema
from cepheid.sessions.composites import Composites, Frontier, Unsettled, before
from cepheid.sessions.merged_stream import ANCHOR, PLACE, refuse_taken_types
from cepheid.sessions.script_plan import PlannedQuery, Script, named_matches, naming, plan_script
from cepheid.sessions.session import Session
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

_WINDOW_END_OF = -1
"""Less than the anchor of any event: a frontier that all events of its time are behind."""


class _Node:
    """One query of a script: its session, what it has not read yet, and what is not settled."""

    def __init__(
        self, number: int, planned: PlannedQuery, script: Script, session: Session
    ) -> None:
        self.number = number
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
        """Take events of the input; they are read when it is time."""
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
        """Read what stands before the limit; what was found, and what is settled of what is made.

        With ``advancing`` time passes to ``until``, None: the stream has ended.
        """
        batch = self._read(limit)
        if advancing and until is not None and limit is not None:
            until = min(until, limit[0])
        if advancing:
            matches = self.session.advance(until, after=batch)
        else:
            matches = self.session.feed(batch)
        waiting = self.session.waiting_until
        self.frontier = limit
        if waiting is not None and (limit is None or (waiting, _WINDOW_END_OF) < limit):
            self.frontier = (waiting, _WINDOW_END_OF)
        if self.planned.makes is None:
            return named_matches(matches, self._queries), None
        if len(matches):
            matches, made = self._made_of(matches)
            held = self._unsettled
            self._unsettled = made if held is None else held.joined(made)
        settled = self.planned.no_composites()
        if self._unsettled is not None:
            settled, self._unsettled = self._unsettled.settled(self.frontier, self._made)
        self._made += len(settled)
        return named_matches(matches, self._queries), settled

    def _made_of(self, matches: Matches) -> tuple[Matches, Unsettled]:
        """The matches in order, and as composite events."""
        query = self.planned.each.query
        events, parts = matches.parts()
        anchors, places = (events.table.column(name).to_numpy() for name in (ANCHOR, PLACE))
        found, made = Unsettled.of(query, events, joined_bindings(parts), anchors, places)
        return Matches(query, events, [found], matches.metrics), made

    def _read(self, limit: Frontier | None) -> Events:
        """The stream of the query up to the limit."""
        assert self._raw is not None
        stream, anchors = self._raw, self._anchors
        if self.planned.stream is None:
            self._raw, self._anchors = stream.slice(0, 0), anchors[:0]
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
        """Whether there is something that the query, or one that reads it, has not read yet."""
        held = (self._raw, self._unsettled, *self._inbox.values())
        return any(each is not None and len(each) > 0 for each in held)

    def state(self) -> Arrays:
        """What the node holds, for a snapshot."""
        assert self._raw is not None
        arrays: Arrays = {
            "session": np.frombuffer(self.session.snapshot(), dtype=np.uint8),
            "made": np.array([self._made]),
            "anchors": self._anchors,
            **prefixed("raw", _events_state(self._raw)),
        }
        for ix, held in self._inbox.items():
            arrays |= prefixed(f"inbox{ix}", held.state())
        if self._unsettled is not None:
            arrays |= prefixed("unsettled", self._unsettled.state())
        return arrays

    def load(self, arrays: Arrays, axis: TimeAxis, schema: Schema) -> None:
        """Take what a snapshot holds, but for the session."""
        self._made = int(arrays["made"][0])
        self._anchors = arrays["anchors"]
        self._raw = _events_from(part("raw", arrays), axis, schema)
        self._inbox = {ix: Composites.load(part(f"inbox{ix}", arrays)) for ix in self.reads}
        if unsettled := part("unsettled", arrays):
            self._unsettled = Unsettled.load(unsettled)


class ScriptRun:
    """A script over a stream that comes in batches of ordered events."""

    def __init__(self, script: Script, columns: Events) -> None:
        """The script over events with the columns of these."""
        self._script = script
        self._columns = columns.slice(0, 0)
        self._nodes = [
            _Node(
                number,
                planned,
                script,
                Session(
                    planned.analysed,
                    planned.window,
                    script.output,
                    script.options,
                    evaluation=planned.evaluation,
                ),
            )
            for number, planned in enumerate(plan_script(script, columns))
        ]
        self._now: int | None = None
        self._has_ended = False
        self.rows_read = 0

    @property
    def time_axis(self) -> TimeAxis:
        """How times become ticks."""
        return self._columns.time_axis

    @property
    def metrics(self) -> dict[str, Metrics]:
        """What the evaluation of each query has done so far."""
        return {node.planned.each.name: node.session.metrics for node in self._nodes}

    @property
    def next_completion(self) -> int | None:
        """The first time that completes a match if no event comes before; None: no time does.

        What it makes of later queries is complete at that time, or becomes theirs to wait for.
        """
        times = [node.session.next_completion for node in self._nodes]
        return min((time for time in times if time is not None), default=None)

    @property
    def forgotten_from(self) -> int | None:
        """The time from which on nothing that was fed matters any more; None: it always may.

        That is so if time passes and this is still the answer: a match that is complete by then
        may have made an event that another query remembers for longer.
        """
        times = [node.session.forgotten_from for node in self._nodes]
        if any(node.holds_unread for node in self._nodes):
            return None
        known = [time for time in times if time is not None]
        return max(known) if len(known) == len(times) else None

    def feed(self, batch: Events) -> dict[str, Matches]:
        """The matches of each query that a batch of events completes."""
        self._refuse_after_end()
        if len(batch) and self._now is not None and int(batch.ticks[0]) < self._now:
            raise EventError(
                "a batch begins before the time that the session has reached; events are fed "
                "in order"
            )
        refuse_taken_types(self._script.queries, batch)
        if len(batch):
            self._now = int(batch.ticks[-1])
        return self._step(batch, advancing=False, until=None)

    def advance(self, ticks: int | None = None) -> dict[str, Matches]:
        """The matches that are complete because time has passed; None: the stream has ended."""
        self._refuse_after_end()
        if ticks is None:
            self._has_ended = True
        else:
            self._now = ticks if self._now is None else max(self._now, ticks)
        return self._step(self._columns, advancing=True, until=ticks)

    def _refuse_after_end(self) -> None:
        if self._has_ended:
            raise EventError(STREAM_HAS_ENDED)

    def _step(self, batch: Events, advancing: bool, until: int | None) -> dict[str, Matches]:
        anchors = np.arange(self.rows_read, self.rows_read + len(batch), dtype=np.int64)
        self.rows_read += len(batch)
        # What comes next has at least this time, and the next anchor.
        horizon = None if self._has_ended or self._now is None else (self._now, self.rows_read)
        found: dict[str, Matches] = {}
        for node in self._nodes:
            limit = horizon
            for ix in node.reads:
                limit = _earlier(limit, self._nodes[ix].frontier)
            node.receive(batch, anchors)
            with naming(node.number, node.planned.each):
                found[node.planned.each.name], settled = node.step(limit, advancing, until)
            if settled is not None:
                for later in self._nodes:
                    if node.number in later.reads:
                        later.receive_made(node.number, settled)
        return found

    def snapshot_parts(self) -> Parts:
        """The state in parts, from which :meth:`restore` goes on; valid until the run does."""
        header = {
            "script": _printed(self._script.queries),
            "now": self._now,
            "has_ended": self._has_ended,
            "rows_read": self.rows_read,
            "schema": self._columns.schema.to_dict(),
            "time_axis": self._columns.time_axis.to_dict(),
        }
        arrays: Arrays = {"columns": table_bytes(self._columns.table)}
        for node in self._nodes:
            arrays |= prefixed(f"query{node.number}", node.state())
        return pack(header, arrays)

    @classmethod
    def restore(cls, script: Script, snapshot: bytes | memoryview) -> ScriptRun:
        """The run of a snapshot, which must be of the same script.

        Raises:
            SnapshotError: it is damaged, of another version or of another script.
        """
        header, arrays = unpack(snapshot)
        if "script" not in header:
            raise SnapshotError("the snapshot is of a single query, and not of a script")
        if header["script"] != _printed(script.queries):
            raise SnapshotError(
                "the snapshot is of another script; read the stream from its beginning. "
                f"It was made by:\n{header['script']}"
            )
        axis, schema = TimeAxis.from_dict(header["time_axis"]), Schema.from_dict(header["schema"])
        none = np.empty(0, dtype=np.int64)
        columns = Events(
            table_from(arrays["columns"]), none, none, axis, none.astype(np.int32), (), schema
        )
        run = cls(script, columns)
        run._now, run._has_ended = header["now"], header["has_ended"]
        run.rows_read = header["rows_read"]
        for node in run._nodes:
            state = part(f"query{node.number}", arrays)
            node.session = Session.restore(
                node.planned.analysed, state["session"].tobytes(), script.options
            )
            node.load(state, axis, schema)
        return run


def _earlier(one: Frontier | None, other: Frontier | None) -> Frontier | None:
    """The less of two frontiers; None is the end of the stream."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _followed_by(first: Events, more: Events) -> Events:
    """One batch of events and then another, whose types may have other numbers."""
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


def _printed(queries: Sequence[ScriptQuery]) -> str:
    return ";\n\n".join(print_query(each.query) for each in queries)


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
