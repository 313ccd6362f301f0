"""Rows that decide nothing: those that keep every open search in the loop where it waits.

The search of ``A B*`` waits for a row that is no B, however many B come before it. Such rows are
put aside as they arrive, and not searched: only their masks are computed. A row that ends the wait
brings them back, and the search runs once for all of them. So its work does not grow with the
number of batches during which it is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import from_numpy
from cepheid.row_patterns.compiled.plan import Plan
from cepheid.row_patterns.compiled.searching import row_masks
from cepheid.row_patterns.compiled.sorted_table import SortedTable
from cepheid.row_patterns.streams.retained import Batch, RetainedRows, partitions_of


@dataclass(frozen=True, slots=True, eq=False)
class _Tail:
    """The last rows of partitions, which PREV reads, and the partition of each."""

    table: pa.Table
    partition: Int64s

    def sorted(self) -> SortedTable:
        """The rows, one partition after another."""
        order = np.argsort(self.partition, kind="stable")
        counts = np.bincount(self.partition, minlength=1)
        return SortedTable(self.table, order, np.concatenate(([0], np.cumsum(counts))))

    def last(self, count: int) -> _Tail:
        """The last rows of each partition."""
        table = self.sorted()
        ends = table.offsets[1:][self.partition[table.order]]
        kept = np.sort(table.order[ends - np.arange(len(ends)) <= count])
        return _Tail(self.table.take(from_numpy(kept)), self.partition[kept])


@dataclass(eq=False)
class Waiting:
    """Open searches, and the batches that were put aside.

    ``loops`` has the bits for each partition that :meth:`Plan.loops` describes. ``before`` is how
    many rows PREV reads back.
    """

    plan: Plan
    keys: Sequence[pa.Array]
    loops: Int64s
    before: int
    tail: _Tail
    batches: list[Batch] = field(default_factory=list)

    @classmethod
    def of(cls, plan: Plan, retained: RetainedRows, loops: Int64s, before: int) -> Waiting:
        """Wait with the open searches of retained rows."""
        tail = _Tail(retained.table, retained.partition).last(before)
        return cls(plan, retained.keys, loops, before, tail)

    def takes(self, batch: Batch) -> bool:
        """Whether no row of the batch decides anything; it is then put aside."""
        count = self.loops.shape[1]
        partition = partitions_of(self.keys, count, batch)
        if not len(partition):
            return True
        if partition.max() >= count:
            return False
        required, forbidden, is_loop = self.loops[:, partition]
        if not is_loop.all() or batch.table.schema != self.tail.table.schema:
            return False
        joined = _Tail(
            pa.concat_tables([self.tail.table, batch.table]).combine_chunks(),
            np.concatenate([self.tail.partition, partition]),
        )
        table = joined.sorted()
        masks = np.empty(len(table), np.int64)
        masks[table.order] = row_masks(self.plan, table)
        masks = masks[len(self.tail.partition) :]
        if ((masks & required != required) | (masks & forbidden != 0)).any():
            return False
        self.tail = joined.last(self.before)
        self.batches.append(batch)
        return True
