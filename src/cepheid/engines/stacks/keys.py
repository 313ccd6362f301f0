"""The equivalence keys of a sequence: which one partitions the stacks, and numbers for values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cepheid.engines.base.event_batch import EventBatch
from cepheid.engines.stacks.plan import pushed_key
from cepheid.engines.stacks.tables import InstanceStacks
from cepheid.events.arrays import Int64s
from cepheid.events.partition_numbers import PartitionNumbers
from cepheid.snapshot_checks import Expected, check_arrays, expected, require
from cepheid.snapshots import Arrays, part, prefixed

_TWICE = "two keys are the same"


class Keys:
    """The keys, the first of which can be pushed into the scan, and their values as numbers.

    The first key is the one with most values: by the sizes in ``domains``, or as counted in the
    first batch. If the window counts the events of a partition, the partitions of the session are
    the only key, whatever the conditions say.
    """

    def __init__(
        self, stacks: InstanceStacks, by_partition: bool, domains: Mapping[str, int]
    ) -> None:
        attributes = stacks.partition_attributes
        self._stacks = stacks
        self._domains = domains
        self._keys = [attributes] if by_partition else list(stacks.keys)
        self.are_partitions = by_partition or (
            len(attributes) == 1 and [{*key} for key in stacks.keys] == [{*attributes}]
        )
        """Whether the partitions of the session are those of the stacks."""
        self._numbers = [PartitionNumbers() for _ in self._keys]
        self._is_ordered = len(self._keys) < 2

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def first(self) -> tuple[str, ...]:
        """The attribute of the first key in each component."""
        return self._keys[0]

    @property
    def have_one_term(self) -> bool:
        """Whether all components of an event have the same number, in at most one key."""
        return self.are_partitions or len({name for key in self._keys for name in key}) < 2

    @property
    def counts(self) -> list[int]:
        """The number of values of each key so far."""
        return [numbers.count for numbers in self._numbers]

    def read(self, batch: EventBatch, partition_of: Int64s) -> tuple[Int64s, Int64s]:
        """Numbers for the values of all keys, and the row of them for each component and key."""
        count = len(self._stacks.steps)
        if self.are_partitions:
            return partition_of.reshape(1, -1), np.zeros((count, 1), dtype=np.int64)
        if not self._keys:
            return np.zeros((1, 1), dtype=np.int64), np.zeros((count, 1), dtype=np.int64)
        if not self._is_ordered and len(batch):
            self._put_largest_first(batch)
        rows: list[Int64s] = []
        term_of = np.zeros((count, len(self._keys)), dtype=np.int64)
        for k, key in enumerate(self._keys):
            for attribute in dict.fromkeys(key):
                term_of[[name == attribute for name in key], k] = len(rows)
                rows.append(self._numbers[k].number([batch.column(attribute)], len(batch)))
        return np.stack(rows), term_of

    def _put_largest_first(self, batch: EventBatch) -> None:
        for key, numbers in zip(self._keys, self._numbers, strict=True):
            numbers.number([batch.column(key[0])], len(batch))
        best = pushed_key(self._keys, self._domains, self.counts)
        self._keys.insert(0, self._keys.pop(best))
        self._numbers.insert(0, self._numbers.pop(best))
        self._is_ordered = True

    def state(self) -> Arrays:
        """The order of the keys and their numbers, for a snapshot."""
        known = self._stacks.keys
        order = [0 if self.are_partitions else known.index(key) for key in self._keys]
        kept: Arrays = {
            "order": np.array(order, dtype=np.int64),
            "is_ordered": np.array([self._is_ordered]),
        }
        for k, numbers in enumerate(self._numbers):
            kept |= prefixed(f"numbers{k}", numbers.state())
        return kept

    @property
    def parts(self) -> list[str]:
        """The parts of a snapshot that have the numbers of the keys."""
        return [f"numbers{k}" for k in range(len(self._keys))]

    def expected(self) -> dict[str, Expected]:
        """The arrays of a snapshot, without those of the parts."""
        count = len(self._keys)
        return {
            "order": expected(np.int64, count, each=(0, count)),
            "is_ordered": expected(np.bool_, 1),
        }

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""
        own = self.expected()
        check_arrays({name: state[name] for name in own if name in state}, own)
        require(self.are_partitions or len({*state["order"].tolist()}) == len(self), _TWICE)
        if not self.are_partitions:
            self._keys = [self._stacks.keys[ix] for ix in state["order"]]
        self._is_ordered = bool(state["is_ordered"][0])
        for k, numbers in enumerate(self._numbers):
            numbers.load(part(f"numbers{k}", state))
