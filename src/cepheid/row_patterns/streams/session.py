"""The state of a clause between batches of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.errors import (
    DEFAULT_SOURCE,
    STREAM_HAS_ENDED,
    EvaluationError,
    EventError,
    QuerySemanticError,
    SnapshotError,
    unfed,
)
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import from_numpy
from cepheid.events.conforming import table_like
from cepheid.events.sources.tables import read_columns
from cepheid.events.sources.text_files import TextFormat
from cepheid.events.time_axis import TimeAxis
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.columns import Binding, named_columns
from cepheid.row_patterns.printer import print_clause
from cepheid.row_patterns.results import RowMatches
from cepheid.row_patterns.running import window_ticks
from cepheid.row_patterns.settings import Settings
from cepheid.row_patterns.streams.bounds import counts_rows, rows_before
from cepheid.row_patterns.streams.matching import KnownRows
from cepheid.row_patterns.streams.retained import Batch, RetainedRows
from cepheid.row_patterns.streams.waiting import Waiting
from cepheid.schema import Kind, Schema
from cepheid.sessions.held_session import HeldSession, one_at_a_time, ticks_of
from cepheid.snapshot_checks import check_arrays, check_values, expected, made_by_another, require
from cepheid.snapshots import (
    Arrays,
    Parts,
    pack,
    part,
    prefixed,
    table_bytes,
    table_from,
)
from cepheid.tuning import tuning


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """What a session knows after some batches.

    ``last`` has the columns of ORDER BY of the last row, if there was one. Later rows have at least
    the time ``now``.
    """

    retained: RetainedRows
    last: pa.Table
    rows_read: int = 0
    now: int | None = None
    has_ended: bool = False


class RowSession(HeldSession):
    """A ``MATCH_RECOGNIZE`` clause over rows that arrive in batches.

    Make one with ``query.session()``. A match is returned as soon as no later row can change it.
    The matches do not depend on how the stream is divided into batches, nor on whether the session
    was stored and restored in between. A session serves one call at a time.

    >>> import cepheid as cep
    >>> falls = cep.query('''MATCH_RECOGNIZE (
    ...     ORDER BY t MEASURES S.t AS since, LAST(DOWN.t) AS until
    ...     PATTERN (S DOWN+) WITHIN INTERVAL '1' HOUR DEFINE DOWN AS x < PREV(x))''')
    >>> session = falls.session(time_unit="min")
    >>> len(session.feed({"t": [1, 2, 3], "x": [9, 7, 5]}))  # x can continue to fall
    0
    >>> session = falls.restore(session.snapshot(), time_unit="min")
    >>> session.feed({"t": [4], "x": [6]})
    1 match
    {'since': 1, 'until': 3}
    >>> len(session.advance(64))
    0
    """

    def __init__(
        self,
        clause: rows.Clause,
        settings: Settings,
        snapshot: bytes | memoryview | None = None,
        written: tuple[str | None, str] = (None, DEFAULT_SOURCE),
    ) -> None:
        """``written`` is the text of the clause and its name, to show where a fault is."""
        super().__init__()
        self._given = clause
        self._written = written
        self._settings = settings
        self._binding: Binding | None = None
        self._schema: pa.Schema = pa.schema([])
        self._axis: TimeAxis | None = None
        self._window: int | None = None
        self._state: _State | None = None
        self._before = rows_before(clause)
        self._keeps_partitions = counts_rows(clause)
        self._loops = np.zeros((3, 0), np.int64)
        self._waiting: Waiting | None = None
        self._nothing: RowMatches | None = None  # a result without rows
        self._continue(snapshot)

    # --- rows and time

    @one_at_a_time
    def feed(self, events: Any) -> RowMatches:
        """The matches that a batch of rows decides.

        Rows of a batch may be in any order, but none may come before the rows of an earlier batch
        in the order of ORDER BY. A batch needs the columns of the first one: others are ignored,
        and a missing column or one of another type is refused. An empty list is a batch without
        rows.
        """
        state = self._state
        if state is not None and isinstance(events, list) and not events:
            table = self._schema.empty_table()
        else:
            table = self._read(events)
        if state is None:
            nothing = self._in_order(table.slice(0, 0), 0)
            last = nothing.table.select(self._order_columns())
            state = _State(RetainedRows.none(nothing), last)
        if state.has_ended:
            raise EventError(STREAM_HAS_ENDED)
        batch = self._in_order(table, state.rows_read)
        self._refuse_late(batch, state)
        last = batch.table.select(self._order_columns()).slice(max(len(batch.ticks) - 1, 0))
        state = replace(
            state,
            last=last if len(batch.ticks) else state.last,
            rows_read=state.rows_read + len(batch.ticks),
            now=int(batch.ticks[-1]) if len(batch.ticks) else state.now,
        )
        if self._waiting is not None and self._nothing is not None and self._waiting.takes(batch):
            self._is_changing = True
            self._state = state
            return self._nothing
        known = len(state.retained.ticks)
        state = self._with_batches(state, batch)
        return self._step(state, np.unique(state.retained.partition[known:]))

    def _with_batches(self, state: _State, *batches: Batch) -> _State:
        """The state with rows that were put aside, and then those of batches."""
        aside = [] if self._waiting is None else self._waiting.batches
        if not aside and not batches:
            return state
        joined = Batch.joined([*aside, *batches])
        joined = replace(joined, table=joined.table.cast(self._schema))
        retained = replace(state.retained, table=state.retained.table.cast(self._schema))
        return replace(state, retained=retained.with_batch(joined))

    @one_at_a_time
    def advance(self, time: Any = None) -> RowMatches:
        """The matches that are decided because time has passed; None means the stream has ended.

        All rows to come have at least this time.
        """
        state = self._known("advances")
        assert self._axis is not None
        if time is None:
            state = self._with_batches(state)
            everything = np.arange(len(state.retained.places.start))
            return self._step(replace(state, has_ended=True), everything)
        ticks = ticks_of(time, self._axis)
        now = ticks if state.now is None else max(state.now, ticks)
        if self._waiting is not None and self._nothing is not None:
            self._state = replace(state, now=now)  # Without WITHIN, time decides nothing.
            return self._nothing
        return self._step(replace(state, now=now), np.empty(0, np.int64))

    settle = advance

    def _step(self, state: _State, touched: Int64s) -> RowMatches:
        """Match the partitions that new rows or the time can decide, and drop what is done."""
        assert self._binding is not None
        retained, now = state.retained, state.now
        if now is not None and self._window is not None and not state.has_ended:
            open_rows = retained.first_open()
            has_open = np.flatnonzero(open_rows >= 0)
            closed = retained.ticks[open_rows[has_open]] <= now - self._window
            touched = np.union1d(touched, has_open[closed])
        table, prepared = retained.prepared(touched)
        prepared = replace(
            prepared,
            window=self._window,
            is_complete=state.has_ended,
            now=now or 0,
        )
        known = KnownRows(self._binding, table, self._settings)
        found, reached = known.answer(prepared)
        self._is_changing = True
        matched = retained.matched(touched, reached, self._before)
        retained = self._without_idle(matched, now)
        self._state = replace(state, retained=retained)
        self._wait(known, touched, is_same=retained is matched)
        self._nothing = self._nothing if len(found) or found.count else found
        return found

    def _wait(self, known: KnownRows, touched: Int64s, *, is_same: bool) -> None:
        """Put rows aside from now on, if there are open searches in which they decide nothing.

        ``is_same``: partitions have the numbers that they had.
        """
        state, self._waiting = self._state, None
        assert state is not None
        if known.plan is None or self._window is not None or not is_same or state.has_ended:
            self._loops = np.zeros((3, 0), np.int64)
            return
        loops = np.zeros((3, len(state.retained.places.start)), np.int64)
        loops[:, : self._loops.shape[1]] = self._loops
        loops[:, touched] = known.loops
        self._loops = loops
        if len(state.retained.ticks) >= tuning().waiting_rows and loops[2].any():
            self._waiting = Waiting.of(known.plan, state.retained, loops, self._before)

    def _without_idle(self, retained: RetainedRows, now: int | None) -> RetainedRows:
        """Drop partitions without rows, if nothing about them is needed, once they are many."""
        count = len(retained.places.start)
        few = tuning().few_row_partitions
        if self._keeps_partitions or count <= few or not retained.keys or now is None:
            return retained
        is_used = retained.latest >= now  # Another row of that time is the next one of it.
        is_used[retained.partition] = True
        used = np.flatnonzero(is_used)
        return retained.without_partitions(used) if 2 * len(used) <= count else retained

    # --- reading

    def _read(self, events: Any) -> pa.Table:
        """The columns of a batch that are needed; the first batch decides which ones exist."""
        clause, text = self._given, TextFormat(self._settings.sep)
        needed = partial(named_columns, clause)
        if self._state is not None:
            table, _ = read_columns(events, lambda _: self._schema.names, text)
            table = table_like(table, self._schema, self._time)
            if table.schema != self._schema:  # A column without values so far now has a kind.
                self._bind(table.schema)
                self._together()
                self._waiting = None
            return table
        table, schema = read_columns(events, needed, text)
        self._bind(schema)
        table = table.select(needed(table.column_names))
        self._schema = table.schema
        return table

    def _bind(self, schema: pa.Schema) -> None:
        binding = Binding(self._given, Schema.from_arrow(schema))
        if binding.faults:
            raise QuerySemanticError(binding.faults, *self._written)
        time = binding.clause.order_by[0].column.text
        kind = binding.kinds.kind(rows.Column(None, rows.Name(time, is_quoted=True)))
        if not kind.is_number and kind not in (Kind.TIMESTAMP, Kind.DATE, Kind.UNKNOWN):
            raise EvaluationError(
                f"a stream is in time order, and ORDER BY begins with {time!r}, which is "
                f"{schema.field(time).type}: order by a number, a timestamp or a date first"
            )
        self._axis = TimeAxis.of(time, schema.field(time).type, self._settings.time_unit)
        self._window = window_ticks(self._given, self._axis)
        self._binding, self._schema = binding, schema

    @property
    def _time(self) -> str:
        assert self._axis is not None
        return self._axis.column

    def _order_columns(self) -> list[str]:
        assert self._binding is not None
        return list(dict.fromkeys(each.column.text for each in self._binding.clause.order_by))

    def _in_order(self, table: pa.Table, first_number: int) -> Batch:
        """The rows of a batch in stream order."""
        assert self._binding is not None
        assert self._axis is not None
        bound = KnownRows(self._binding, table, self._settings)
        ticks, order = self._axis.encode(table.column(self._time)), bound.order()
        rows = from_numpy(order)
        keys = [key.take(rows) for key in bound.partition_keys()]
        return Batch(table.take(rows), ticks[order], first_number + order, keys)

    def _refuse_late(self, batch: Batch, state: _State) -> None:
        """Refuse rows that come before those that were fed, or before the time reached."""
        assert self._binding is not None
        if not len(batch.ticks):
            return
        if state.now is not None and int(batch.ticks[0]) < state.now:
            raise EventError(
                "a batch begins before the time that the session has reached; rows are fed in order"
            )
        first = batch.table.slice(0, 1).select(state.last.column_names)
        both = pa.concat_tables([state.last.cast(first.schema), first])
        if KnownRows(self._binding, both, self._settings).order()[0] != 0:
            raise EventError(
                "a batch begins before the last row of the batch before it, in the order of "
                "ORDER BY; rows are fed in order"
            )

    def _together(self) -> _State:
        """The state with the rows that were put aside among those that are retained."""
        assert self._state is not None
        self._state = self._with_batches(self._state)
        if self._waiting is not None:
            self._waiting.batches.clear()
        return self._state

    def _known(self, then: str) -> _State:
        if self._state is None:
            raise unfed(then, "rows")
        return self._state

    # --- what a stream that runs on Spark asks

    @property
    @one_at_a_time
    def next_completion(self) -> int | None:
        """The earliest time, in ticks, that decides a match without another row."""
        state = self._state
        if state is None or self._window is None:
            return None
        open_rows = state.retained.first_open()
        ticks = state.retained.ticks[open_rows[open_rows >= 0]]
        return int(ticks.min()) + self._window if len(ticks) else None

    @property
    @one_at_a_time
    def open_searches(self) -> int:
        """The number of partitions in which a search waits for rows."""
        return 0 if self._state is None else int((self._state.retained.first_open() >= 0).sum())

    @property
    @one_at_a_time
    def evicted_from(self) -> int | None:
        """The time, in ticks, from which no row fed so far matters; None if there is none."""
        state = self._state
        if state is None or self._keeps_partitions or self._before:
            return None
        state = self._together()
        retained = state.retained
        if not len(retained.latest):
            return state.now
        after = int(retained.latest.max()) + 1  # Rows of one time are told apart by their number.
        if not len(retained.ticks):
            return after
        return None if self._window is None else max(after, int(retained.ticks[-1]) + self._window)

    # --- snapshots

    @one_at_a_time
    def snapshot_parts(self) -> Parts:
        """The state in parts and without a checksum, valid until the next call."""
        self._known("is stored")
        state = self._together()
        assert self._axis is not None
        header = {
            "row_pattern": print_clause(self._given),
            "time_axis": self._axis.to_dict(),
            "rows_read": state.rows_read,
            "now": state.now,
            "has_ended": state.has_ended,
            "match_id": self._settings.match_id,
        }
        arrays = prefixed("retained", state.retained.state())
        return pack(header, {"last": table_bytes(state.last), **arrays})

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        made_by = header.get("row_pattern")
        if made_by is None:
            raise SnapshotError("the snapshot is not of a MATCH_RECOGNIZE clause")
        if made_by != print_clause(self._given):
            raise made_by_another("query", made_by)
        described = {"rows_read": "count", "now": "integer?", "has_ended": "flag"}
        check_values(header, {"time_axis": "object", "match_id": "flag", **described})
        if header["match_id"] != self._settings.match_id:
            raise SnapshotError(
                f"the snapshot was made with match_id={header['match_id']}; restore it with the "
                "same"
            )
        check_arrays(arrays, {"last": expected(np.uint8, "bytes")}, ["retained"])
        rows_read, now = header["rows_read"], header["now"]
        retained = RetainedRows.from_state(part("retained", arrays), rows_read)
        self._bind(retained.table.schema)
        assert self._axis is not None
        assert self._binding is not None
        if self._axis.to_dict() != header["time_axis"]:
            unit = header["time_axis"].get("unit")
            raise SnapshotError(
                f"the snapshot was made with time_unit={unit!r}; restore it with the same"
            )
        ticks = self._axis.encode(retained.table.column(self._time))
        require((np.diff(ticks) >= 0).all(), "retained rows are in no order")
        require(not len(ticks) or (now is not None and ticks[-1] <= now), "'now' is too early")
        last = table_from(arrays["last"])
        require(last.column_names == self._order_columns(), "the last row has other columns")
        require(last.num_rows == min(rows_read, 1), "there is no last row, or there are several")
        retained = replace(retained, ticks=ticks)
        bound = KnownRows(self._binding, retained.table, self._settings)
        own = bound.partition_keys()
        require(len(own) == len(retained.keys), "its partitions have other keys")
        for key, known in zip(own, retained.keys, strict=True):
            there = known.cast(key.type).take(from_numpy(retained.partition))
            require(there.equals(key), "a row is in a partition of another key")
        self._state = _State(retained, last, rows_read, now, header["has_ended"])
