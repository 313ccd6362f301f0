"""Composite events in columns: made from matches, sorted, merged with other events.

A stream with composite events is ordered by (ticks, anchor). The anchor of an event of the input
is its position there. The anchor of a composite event is that of the event that completes its
match, so it comes directly after that event; or -1 if the match ends with its window, so it comes
before all events of that time. Composite events with equal ticks and anchor are in the order of
their queries; within a query, in the order of the events that complete them, and then in the order
of their events by pattern position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.events.arrays import Int64s
from cepheid.events.events import Events
from cepheid.language import syntax as ast
from cepheid.matches.bindings import WINDOW_END, Bindings
from cepheid.matches.positions import SinglePositions, picked_places
from cepheid.matches.projection import project
from cepheid.snapshot_checks import FAR, check_arrays, expected, require
from cepheid.snapshots import Arrays, table_bytes, table_from

_SHORTER = -2

Frontier = tuple[int, int]
"""The (ticks, anchor) before which a query makes no more composite events."""


@dataclass(frozen=True, slots=True, eq=False)
class Composites:
    """Composite events of one query, numbered from ``first`` once they are in final order.

    An anchor is WINDOW_END if the match ends with its window.
    """

    table: pa.Table
    ticks: Int64s
    anchors: Int64s
    first: int = 0

    def __len__(self) -> int:
        return len(self.ticks)

    def split(self, limit: Frontier | None) -> tuple[Composites, Composites]:
        """The events before the limit, and the rest."""
        count = int(np.count_nonzero(before(limit, self.ticks, self.anchors)))
        return self._slice(0, count), self._slice(count, len(self))

    def followed_by(self, more: Composites) -> Composites:
        """These events and then more, which have the next numbers."""
        if not len(self) or not len(more):
            return self if len(self) else more
        return Composites(
            pa.concat_tables([self.table, more.table]),
            np.concatenate([self.ticks, more.ticks]),
            np.concatenate([self.anchors, more.anchors]),
            self.first,
        )

    def _slice(self, low: int, high: int) -> Composites:
        table = self.table.slice(low, high - low)
        return Composites(table, self.ticks[low:high], self.anchors[low:high], self.first + low)

    def take(self, chosen: Int64s, first: int = 0) -> Composites:
        """The chosen events, in this order, numbered from ``first``."""
        is_all = len(chosen) == len(self) and (chosen[1:] > chosen[:-1]).all()
        table = self.table if is_all else self.table.take(pa.array(chosen))
        return Composites(table, self.ticks[chosen], self.anchors[chosen], first)

    def state(self) -> Arrays:
        """The events as arrays, for a snapshot."""
        return {
            "table": table_bytes(self.table),
            "ticks": self.ticks,
            "anchors": self.anchors,
            "first": np.array([self.first]),
        }

    @classmethod
    def load(cls, state: Arrays) -> Composites:
        """The composite events of a snapshot."""
        described = {
            "table": expected(np.uint8, "bytes"),
            "ticks": expected(np.int64, "events"),
            "anchors": expected(np.int64, "events", each=(WINDOW_END, FAR)),
        }
        if "first" in state:
            described["first"] = expected(np.int64, 1, each=(0, FAR))
        check_arrays(state, described)
        table = table_from(state["table"])
        require(len(table) == len(state["ticks"]), "composite events have no times")
        first = int(state["first"][0]) if "first" in state else 0
        return cls(table, state["ticks"], state["anchors"], first)


@dataclass(frozen=True, slots=True, eq=False)
class Unsettled:
    """Composite events of one query that are not in final order: earlier ones may still come.

    ``keys`` from ``offsets[i]`` to ``offsets[i + 1]`` order event i among events with equal ticks
    and anchor; they are compared from left to right.
    """

    made: Composites
    offsets: Int64s
    keys: Int64s

    @classmethod
    def of(
        cls, query: ast.Query, events: Events, found: Bindings, anchors: Int64s, places: Int64s
    ) -> tuple[Bindings, Unsettled]:
        """The matches in order, and their composite events.

        ``anchors`` and ``places`` have one entry for each event in memory.
        """
        last = found.last_events()
        waited = found.ends > events.ticks[last]
        hooks = np.where(waited, WINDOW_END, anchors[last])
        offsets, keys = _keys(found, places, np.where(waited, -1, places[last]))
        order = ragged_order((found.ends, hooks), offsets, keys)
        if (order[1:] < order[:-1]).any():
            found, hooks = found.pick(order), hooks[order]
            offsets, among = picked_places(offsets, order)
            keys = keys[among]
        made = Composites(project(query, events, found), found.ends, hooks)
        return found, cls(made, offsets, keys)

    def __len__(self) -> int:
        return len(self.made)

    def joined(self, more: Unsettled) -> Unsettled:
        """These events and more, in any order."""
        return Unsettled(
            self.made.followed_by(more.made),
            np.concatenate([self.offsets, self.offsets[-1] + more.offsets[1:]]),
            np.concatenate([self.keys, more.keys]),
        )

    def settled(self, limit: Frontier | None, first: int) -> tuple[Composites, Unsettled]:
        """The events before the limit in order, numbered from ``first``, and the rest."""
        ready = before(limit, self.made.ticks, self.made.anchors)
        if not ready.all():
            rest = self._pick(np.flatnonzero(~ready))
            return self._pick(np.flatnonzero(ready)).settled(None, first)[0], rest
        order = ragged_order((self.made.ticks, self.made.anchors), self.offsets, self.keys)
        return self.made.take(order, first), self._pick(order[:0])

    def _pick(self, chosen: Int64s) -> Unsettled:
        offsets, among = picked_places(self.offsets, chosen)
        return Unsettled(self.made.take(chosen), offsets, self.keys[among])

    def state(self) -> Arrays:
        """The events as arrays, for a snapshot."""
        return {**self.made.state(), "offsets": self.offsets, "keys": self.keys}

    @classmethod
    def load(cls, state: Arrays) -> Unsettled:
        """The composite events of a snapshot."""
        own: Arrays = {name: state[name] for name in ("offsets", "keys") if name in state}
        made = Composites.load({name: state[name] for name in state if name not in own})
        described = {
            "offsets": expected(np.int64, len(made) + 1, each=(0, FAR)),
            "keys": expected(np.int64, "keys"),
        }
        size = check_arrays(own, described)["keys"]
        offsets = own["offsets"]
        is_split = offsets[0] == 0 and offsets[-1] == size and (np.diff(offsets) >= 0).all()
        require(is_split, "composite events have no order")
        return cls(made, offsets, own["keys"])


def before(limit: Frontier | None, ticks: Int64s, anchors: Int64s) -> npt.NDArray[np.bool_]:
    """Which events come before the limit; without a limit all do."""
    if limit is None:
        return np.ones(len(ticks), dtype=np.bool_)
    earlier: npt.NDArray[np.bool_] = (ticks < limit[0]) | (
        (ticks == limit[0]) & (anchors < limit[1])
    )
    return earlier


def _keys(found: Bindings, places: Int64s, completion: Int64s) -> tuple[Int64s, Int64s]:
    """The place of each match's completion, then the places of its events in pattern order.

    A list ends with a number below any place, so it comes before its continuations.
    """
    moved = found.moved(lambda positions: places[positions])
    columns = {"": SinglePositions(completion), **moved.variables}
    return Bindings(columns, len(found)).rows()


def ragged_order(heads: Sequence[Int64s], offsets: Int64s, keys: Int64s) -> Int64s:
    """The sort order of rows by their heads, and then by their lists of keys from left to right.

    Only rows that are equal so far are compared again, so the work is proportional to the
    number of comparisons needed.

    >>> keys = np.array([5, 1, 5, 5, 0])
    >>> ragged_order([np.zeros(3, np.int64)], np.array([0, 2, 3, 5]), keys).tolist()
    [1, 2, 0]
    """
    order = np.lexsort(tuple(reversed(heads)))
    differs = np.zeros(max(len(order) - 1, 0), dtype=np.bool_)
    for head in heads:
        differs |= np.diff(head[order]) != 0
    slots = np.arange(len(order))
    group = np.concatenate([[0], np.cumsum(differs)])[: len(order)]
    depth = 0
    while True:
        tied = np.bincount(group)[group] > 1 if len(group) else np.zeros(0, dtype=np.bool_)
        slots, group = slots[tied], group[tied]
        rows = order[slots]
        at = offsets[rows] + depth
        inside = at < offsets[rows + 1]
        if not inside.any():
            return order
        value = np.where(inside, keys[np.minimum(at, len(keys) - 1)], _SHORTER)
        sorted_ = np.lexsort((value, group))
        order[slots], value = rows[sorted_], value[sorted_]
        differs = (np.diff(group) != 0) | (np.diff(value) != 0)
        group = np.concatenate([[0], np.cumsum(differs)])
        depth += 1
