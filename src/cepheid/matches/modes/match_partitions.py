"""The partitions of matches whose events need not all have the attributes of the tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.events.arrays import Int64s, int64s
from cepheid.snapshot_checks import FAR, expected, require
from cepheid.snapshots import Arrays, table_bytes, table_from

Key = tuple[Any, ...]
"""The values of the equivalence tests, which all events of a match share."""

PARTITION_ARRAYS = {
    "keys": expected(np.uint8, "bytes"),
    "last": expected(np.int64, "partitions", each=(0, FAR)),
}
"""The arrays of the partitions in a snapshot."""


class MatchPartitions:
    """The numbers of the partitions that have matches, and the last event of each of these."""

    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}
        self._last: list[int] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, key: Key, last: int) -> int:
        """The number of a partition, one of whose matches has this last event."""
        found = self._numbers.setdefault(key, len(self._numbers))
        if found == len(self._last):
            self._last.append(last)
        self._last[found] = max(self._last[found], last)
        return found

    def drop_before(self, position: int, used: Int64s) -> Int64s:
        """Drop the partitions whose matches all end before a position, unless they are used.

        Later matches begin after these. Returns the new number of each partition, or -1.
        """
        kept = {*np.flatnonzero(used).tolist()}
        numbers = int64s(len(self._last)) - 1
        for key, number in list(self._numbers.items()):
            if self._last[number] < position and number not in kept:
                del self._numbers[key]
        self._last = [self._last[number] for number in self._numbers.values()]
        numbers[list(self._numbers.values())] = np.arange(len(self._last))
        self._numbers = {key: number for number, key in enumerate(self._numbers)}
        return numbers

    def state(self, attributes: Sequence[str]) -> Arrays:
        """The keys as a table, for a snapshot."""
        columns = list(zip(*self._numbers, strict=True)) or [()] * len(attributes)
        table = pa.table({str(ix): pa.array(values) for ix, values in enumerate(columns)})
        return {"keys": table_bytes(table), "last": np.array(self._last, dtype=np.int64)}

    def load(self, arrays: Arrays, attributes: Sequence[str]) -> None:
        """Restore the state of a snapshot."""
        table = table_from(arrays["keys"])
        self._last = arrays["last"].tolist()
        keys = [tuple(row.values()) for row in table.to_pylist()]
        if not attributes:
            keys = [()] * len(self._last)
        self._numbers = {key: number for number, key in enumerate(keys)}
        is_whole = len(self._numbers) == len(self._last) and table.num_columns == len(attributes)
        require(is_whole, "the partitions of its matches are wrong")
