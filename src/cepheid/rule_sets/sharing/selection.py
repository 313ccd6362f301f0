"""The events of a batch that matter to each rule, found for all rules in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.errors import CepheidError
from cepheid.events.arrays import Int64s, grown
from cepheid.events.columns.arrow_arrays import one_array, shared
from cepheid.events.columns.computed_columns import column_of
from cepheid.events.events import Events
from cepheid.matches.ids import digest_column
from cepheid.rule_sets.sharing.copies import later
from cepheid.rule_sets.sharing.event_tests import EventTests
from cepheid.rule_sets.sharing.kernels import selecting
from cepheid.rule_sets.sharing.layout import LISTENER, ROLE, Encoded, Listeners, Selected
from cepheid.rule_sets.sharing.shape import Shape
from cepheid.schema import Schema

_LEAST_PARTITIONS = 1 << 14
_ROOM = 8
"""The hash table of partitions has room for this many times as many as have a first event."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False)
class Picked:
    """Events for rules: places in the batch, the numbers of the rules, and the roles as bits.

    ``failed`` has the rules whose tests cannot be computed, and why.
    """

    places: Int64s
    slots: Int64s
    masks: Int64s
    failed: dict[int, CepheidError]


class _Table:
    """The listeners of some rules as arrays."""

    def __init__(self, rules: dict[int, Shape], schema: Schema) -> None:
        self.tests = EventTests(schema)
        self.keys: dict[tuple[str, ...], int] = {}
        self.asked: dict[int, list[int]] = {}
        listeners: list[tuple[str, tuple[int, ...]]] = []
        roles: list[tuple[int, int, int]] = []
        asked: list[int] = []
        for slot, shape in rules.items():
            key = self.keys.setdefault(shape.attributes, len(self.keys))
            tests = [[self.tests.add(test) for test in role.tests] for role in shape.roles]
            self.asked[slot] = [number for each in tests for number in each]
            free = sum(1 << bit for bit, role in enumerate(shape.roles) if role.is_free)
            for name in shape.types:
                first = len(roles)
                for bit, role in enumerate(shape.roles):
                    if name in role.types:
                        roles.append((1 << bit, len(asked), len(tests[bit])))
                        asked += tests[bit]
                row = (slot, key, shape.reach, free, first, len(roles) - first)
                listeners.append((name, row))
        self.types = {name: ix for ix, name in enumerate(dict.fromkeys(n for n, _ in listeners))}
        listeners.sort(key=lambda each: self.types[each[0]])
        counts = np.bincount([self.types[name] for name, _ in listeners], minlength=1)
        # The last type is for all that no rule listens to.
        self.arrays = Listeners(
            np.concatenate([[0], np.cumsum(counts), [len(listeners)]]).astype(np.int64),
            np.array([row for _, row in listeners], dtype=LISTENER),
            np.array(roles, dtype=ROLE),
            np.array(asked, dtype=np.int64),
            self.tests.table(),
        )

    def failed(self, flags: Mapping[int, CepheidError]) -> dict[int, CepheidError]:
        """The rules that read flags which have no value, and why these have none."""
        return {
            slot: flags[self.tests.flag(number)]
            for slot, asked in self.asked.items()
            for number in asked
            if self.tests.flag(number) in flags
        }

    def types_of(self, batch: Events) -> Int64s:
        """The number of the type of each event."""
        others = len(self.arrays.begins) - 2
        numbers = [self.types.get(name, others) for name in batch.type_names]
        return np.array(numbers or [others], dtype=np.int64)[batch.type_codes]


class Selection:
    """Selects the events that matter to rules, which have numbers."""

    def __init__(self) -> None:
        self._rules: dict[int, Shape] = {}
        self._table: _Table | None = None
        self._until = np.full(_LEAST_PARTITIONS, -selecting.NEVER, dtype=np.int64)
        self._begun = 0
        self._room = 1 << 12
        self._seen: dict[str, int] = {}  # events of each type

    def add(self, slot: int, shape: Shape) -> None:
        """Select events for a rule from now on."""
        self._rules[slot] = shape
        self._table = None

    def remove(self, slot: int) -> None:
        """Select no more events for a rule."""
        del self._rules[slot]
        self._table = None

    def seen(self, shape: Shape) -> int:
        """The number of events of the types of a rule so far."""
        return sum(self._seen.get(name, 0) for name in shape.types)

    def remember(self, slot: int, first: Events) -> None:
        """Note events that were selected earlier as first ones of matches of a rule."""
        shape, count = self._rules[slot], len(first)
        selecting.remember(
            Listeners(until=self._until),
            Selected(slots=np.full(count, slot, np.int64)),
            Encoded(
                ticks=later(first.ticks, np.full(count, shape.reach, np.int64)),
                digests=_digests(first, [shape.attributes]),
            ),
        )

    def pick(self, batch: Events) -> Picked:
        """The events of a batch that matter, in order."""
        if self._table is None:
            self._table = _Table(self._rules, batch.schema)
        table = self._table
        types = table.types_of(batch)
        self._count(table, types)
        encoded = table.tests.encode(batch, table.arrays.tests)
        digests = _digests(batch, list(table.keys))
        arrays = Encoded(
            shared(batch.ticks), types, digests, encoded.integers, encoded.floats, encoded.flags
        )
        found, count = self._selected(table, arrays)
        failed = table.failed(encoded.failed) if encoded.failed else {}
        return Picked(found.places[:count], found.slots[:count], found.masks[:count], failed)

    def _selected(self, table: _Table, arrays: Encoded) -> tuple[Selected, int]:
        found = Selected._make([*np.empty((4, self._room), np.int64), np.zeros(3, np.int64)])
        listeners = table.arrays._replace(until=self._until)
        while selecting.select(listeners, arrays, found) == selecting.FULL:
            self._room = max(2 * self._room, 2 * int(found.state[0] + found.state[2]))
            rooms = [grown(each, self._room) for each in found[:4]]
            found = Selected._make([*rooms, found.state])
        count = int(found.state[0])
        self._begun += int(np.count_nonzero(found.masks[:count] & 1))
        if _ROOM * self._begun > len(self._until):
            self._begun = int(np.count_nonzero(self._until > arrays.ticks[-1]))
            while _ROOM * self._begun > len(self._until):
                # A place becomes two, and either may be that of the partition.
                self._until = np.concatenate([self._until, self._until])
        return found, count

    def _count(self, table: _Table, types: Int64s) -> None:
        counts = np.bincount(types, minlength=len(table.types)).tolist()
        for name, number in table.types.items():
            self._seen[name] = self._seen.get(name, 0) + counts[number]


def _digests(events: Events, keys: Sequence[tuple[str, ...]]) -> Int64s:
    """A number for the partition of each event, for each key; equal if the partition is."""
    found = np.zeros((len(keys), len(events)), dtype=np.uint64)
    digests = {
        name: digest_column(one_array(column_of(events.table, name)))
        for name in dict.fromkeys(name for key in keys for name in key)
    }
    for row, key in zip(found, keys, strict=True):
        for name in key:
            row *= _MIX
            row += digests[name]
    return found.view(np.int64)
