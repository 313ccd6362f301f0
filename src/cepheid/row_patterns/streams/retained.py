"""The rows and partitions that a stream of rows still needs.

A partition needs its rows from the first start whose match is not decided, and those before it that
PREV can read. All partitions are in the same arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import from_numpy, one_array
from cepheid.row_patterns.streams.match_ids import ties_of
from cepheid.row_patterns.streams.matching import Places, PreparedRows, key_codes
from cepheid.snapshot_checks import FAR, check_arrays, expected, require
from cepheid.snapshots import Arrays, table_bytes, table_from

_NONE = np.empty(0, np.int64)
_BEFORE_ALL = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Rows in stream order: their columns, their ticks, their numbers and their keys."""

    table: pa.Table
    ticks: Int64s
    numbers: Int64s
    keys: Sequence[pa.Array]

    @classmethod
    def joined(cls, batches: Sequence[Batch]) -> Batch:
        """Several batches as one."""
        if len(batches) == 1:
            return batches[0]
        schema = batches[-1].table.schema
        return cls(
            pa.concat_tables([each.table.cast(schema) for each in batches]),
            np.concatenate([each.ticks for each in batches]),
            np.concatenate([each.numbers for each in batches]),
            [
                pa.concat_arrays([key.cast(keys[-1].type) for key in keys])
                for keys in zip(*(each.keys for each in batches), strict=True)
            ],
        )


def partitions_of(keys: Sequence[pa.Array], count: int, batch: Batch) -> Int64s:
    """The partition of each row of a batch; that of an unknown key is at least ``count``."""
    codes = key_codes(_with_keys(keys, batch))
    return np.zeros(len(batch.ticks), np.int64) if codes is None else codes[count:]


def _with_keys(keys: Sequence[pa.Array], batch: Batch) -> list[pa.Array]:
    return [
        pa.concat_arrays([key.cast(fresh.type), fresh])
        for key, fresh in zip(keys, batch.keys, strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class RetainedRows:
    """Rows in stream order, and their partitions.

    ``partition`` is that of each row: an index into ``keys``, ``places``, ``latest`` and ``alike``.
    ``ties`` is the index of each row among the rows of its partition and time. ``latest`` is the
    time of the last row of a partition, and ``alike`` the number of its rows at that time. It is a
    value: what changes it returns another one.
    """

    table: pa.Table
    ticks: Int64s
    numbers: Int64s
    partition: Int64s
    ties: Int64s
    keys: tuple[pa.Array, ...]
    places: Places
    latest: Int64s
    alike: Int64s

    @classmethod
    def none(cls, like: Batch) -> RetainedRows:
        """No rows and no partitions."""
        keys = tuple(key.slice(0, 0) for key in like.keys)
        no_rows = (_NONE, _NONE, _NONE, _NONE)
        return cls(like.table.slice(0, 0), *no_rows, keys, Places.new(0), _NONE, _NONE)

    def with_batch(self, batch: Batch) -> RetainedRows:
        """These rows, followed by those of a batch."""
        count, length = len(self.places.start), len(batch.ticks)
        known = _with_keys(self.keys, batch)
        codes = key_codes(known)
        if codes is None:
            numbers, keys = np.zeros(length, np.int64), ()
        else:
            numbers = codes[count:]
            _, first = np.unique(codes, return_index=True)
            keys = tuple(key.take(from_numpy(first)) for key in known)
        added = max(int(numbers.max(initial=-1)) + 1 - count, 0)
        latest = np.concatenate([self.latest, np.full(added, _BEFORE_ALL)])
        alike = np.concatenate([self.alike, np.zeros(added, np.int64)])
        ties = ties_of(numbers, batch.ticks)
        ties += np.where(batch.ticks == latest[numbers], alike[numbers], 0)
        latest[numbers], alike[numbers] = batch.ticks, ties + 1  # The last row of each decides.
        return RetainedRows(
            pa.concat_tables([self.table, batch.table]).combine_chunks(),
            np.concatenate([self.ticks, batch.ticks]),
            np.concatenate([self.numbers, batch.numbers]),
            np.concatenate([self.partition, numbers]),
            np.concatenate([self.ties, ties]),
            keys,
            Places(*map(np.concatenate, zip(self.places, Places.new(added), strict=True))),
            latest,
            alike,
        )

    def first_open(self) -> Int64s:
        """For each partition, the row from which the next match is searched; -1 if it has none."""
        found = np.full(len(self.places.start), -1, np.int64)
        rows, index = self.by_partition()
        at = np.flatnonzero(index == self.places.start[self.partition[rows]])
        found[self.partition[rows[at]]] = rows[at]
        return found

    def by_partition(self) -> tuple[Int64s, Int64s]:
        """The rows, one partition after another, and the index of each one in its partition."""
        rows = np.argsort(self.partition, kind="stable")
        counts = np.bincount(self.partition, minlength=len(self.places.start))
        begins = np.cumsum(counts) - counts
        return rows, np.arange(len(rows)) - begins[self.partition[rows]]

    def prepared(self, partitions: Int64s) -> tuple[pa.Table, PreparedRows]:
        """The rows of these partitions as a table, to be matched."""
        places = Places(*(each[partitions] for each in self.places))
        number = np.full(len(self.places.start), -1, np.int64)
        number[partitions] = np.arange(len(partitions))
        wanted = np.flatnonzero(number[self.partition] >= 0)
        codes = number[self.partition[wanted]]
        ends = np.cumsum(np.bincount(codes, minlength=len(partitions)))
        order = wanted[np.argsort(codes, kind="stable")]
        taken = self._taken(order)
        rows = np.arange(len(order))
        return taken.table, PreparedRows(rows, ends, places, taken.numbers, taken.ties, taken.ticks)

    def matched(self, partitions: Int64s, reached: Places, before: int) -> RetainedRows:
        """What is left after these partitions were matched; PREV reads rows ``before`` a match."""
        places = Places(*(each.copy() for each in self.places))
        dropped = np.zeros(len(places.start), np.int64)
        dropped[partitions] = np.maximum(reached.start - before, 0)
        places.before[:] += dropped
        places.start[partitions] = reached.start - dropped[partitions]
        places.covered[partitions] = np.maximum(reached.covered - dropped[partitions], 0)
        places.number[partitions] = reached.number
        rows, index = self.by_partition()
        kept = np.sort(rows[index >= dropped[self.partition[rows]]])
        left = self if len(kept) == len(rows) else self._taken(kept)
        return replace(left, places=places)

    def without_partitions(self, kept: Int64s) -> RetainedRows:
        """The same with these partitions only; no other one has rows."""
        number = np.full(len(self.places.start), -1, np.int64)
        number[kept] = np.arange(len(kept))
        keys = tuple(key.take(from_numpy(kept)) for key in self.keys)
        places = Places(*(each[kept] for each in self.places))
        return replace(
            self,
            partition=number[self.partition],
            keys=keys,
            places=places,
            latest=self.latest[kept],
            alike=self.alike[kept],
        )

    def _taken(self, rows: Int64s) -> RetainedRows:
        return replace(
            self,
            table=self.table.take(from_numpy(rows)),
            ticks=self.ticks[rows],
            numbers=self.numbers[rows],
            partition=self.partition[rows],
            ties=self.ties[rows],
        )

    def state(self) -> Arrays:
        """The rows and partitions as arrays, for a snapshot."""
        keys = pa.table({str(index): key for index, key in enumerate(self.keys)})
        return {
            "rows": table_bytes(self.table),
            "keys": table_bytes(keys),
            "numbers": self.numbers,
            "partition": self.partition,
            "ties": self.ties,
            "latest": self.latest,
            "alike": self.alike,
            **self.places._asdict(),
        }

    @classmethod
    def from_state(cls, state: Arrays, rows_read: int) -> RetainedRows:
        """The rows of a snapshot, whose times are not known yet."""
        counts = {name: expected(np.int64, "p", each=(0, FAR)) for name in Places._fields}
        described = {
            "rows": expected(np.uint8, "bytes of rows"),
            "keys": expected(np.uint8, "bytes of keys"),
            "numbers": expected(np.int64, "n", each=(0, rows_read)),
            "partition": expected(np.int64, "n", each=(0, "p")),
            "ties": expected(np.int64, "n", each=(0, FAR)),
            "latest": expected(np.int64, "p"),
            "alike": expected(np.int64, "p", each=(1, FAR)),
            **counts,
        }
        sizes = check_arrays(state, described)
        table, keys = table_from(state["rows"]), table_from(state["keys"])
        require(table.num_rows == sizes["n"], "the numbers of rows are not as many as the rows")
        are_different = len(np.unique(state["numbers"])) == sizes["n"]
        require(are_different, "two rows have the same number")
        has_keys = keys.num_columns > 0
        are_as_many = keys.num_rows == sizes["p"] if has_keys else sizes["p"] <= 1
        require(are_as_many, "the keys are not as many as the partitions")
        arrays = tuple(one_array(column) for column in keys.columns)
        codes = key_codes(arrays)
        are_different = codes is None or len(np.unique(codes)) == len(codes)
        require(are_different, "two partitions have the same key")
        places = Places(*(state[name] for name in Places._fields))
        counted = np.bincount(state["partition"], minlength=sizes["p"])
        require((places.start <= counted).all(), "a search begins after the last row")
        require((places.covered <= counted).all(), "a match ends after the last row")
        require((places.number >= 1).all(), "a match has no number")
        of_rows = (state["numbers"], state["partition"], state["ties"])
        return cls(table, _NONE, *of_rows, arrays, places, state["latest"], state["alike"])
