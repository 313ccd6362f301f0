"""Which worker reads which events: those that agree on the key of a query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.analysis.model import AnalysedQuery
from cepheid.analysis.needs import relevant_types
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import one_array, shared, without_dictionary
from cepheid.events.columns.encoding import encode_column
from cepheid.events.columns.string_codes import StringCodes
from cepheid.events.events import Events
from cepheid.events.kernels import buckets
from cepheid.events.partition_numbers import key_values
from cepheid.matches.modes.rule import OutputRule
from cepheid.schema import Kind, kind_of
from cepheid.sessions.division.keys import (
    KeyOfType,
    common_keys,
    depends_on_others,
    equivalence_keys,
)


@dataclass(frozen=True, slots=True)
class Buckets:
    """Divides events by attributes that all events of a match have in common.

    These are ``attributes``, or one attribute for each type of event.
    """

    attributes: tuple[str, ...]
    by_type: KeyOfType | None = None
    types: frozenset[str] | None = None
    """Events of other types are in no bucket."""

    @classmethod
    def of(cls, query: AnalysedQuery, rule: OutputRule) -> Buckets | None:
        """How the events of a query can be divided; None if a match needs all of them."""
        tests, types = equivalence_keys(query), relevant_types(query)
        if tests:
            return cls(tuple(sorted(tests)), None, types)
        if depends_on_others(query.query, rule):
            return None
        for by_type in common_keys(query):
            if by_type:
                return cls((), by_type, types)
        return None

    def positions(self, events: Events, count: int, low: int, high: int) -> list[Int64s]:
        """The positions from ``low`` to ``high`` of the events of each bucket, in order.

        >>> from cepheid.events.events import order_events
        >>> events = order_events({"ts": [1, 2, 3, 4], "type": ["A"] * 4, "id": [7, 8, 9, 7]})
        >>> found = Buckets(("id",)).positions(events, 2, 0, 4)
        >>> sorted(np.concatenate(found).tolist()), any({0, 3} <= {*each} for each in found)
        ([0, 1, 2, 3], True)
        """
        part = events.slice(low, high)
        hashes, ends = np.zeros(len(part), dtype=np.int64), np.zeros(count, dtype=np.int64)
        positions = np.empty(len(part), dtype=np.int64)
        if self.by_type is None:
            for name in self.attributes:
                _mix(part, name, hashes)
        else:
            self._mix_by_type(part, hashes)
        names = part.type_names if self.types is None else self.types
        wanted = np.array([name in names for name in part.type_names], dtype=np.bool_)
        buckets.group_by_bucket(hashes, part.type_codes, wanted, low, positions, ends)
        return np.split(positions[: ends[-1]], ends[:-1])

    def _mix_by_type(self, part: Events, hashes: Int64s) -> None:
        assert self.by_type is not None
        for attribute in sorted({*self.by_type.values()}):
            mixed = np.zeros(len(part), dtype=np.int64)
            _mix(part, attribute, mixed)
            for code, name in enumerate(part.type_names):
                if self.by_type.get(name) == attribute:
                    of_type = part.type_codes == code
                    hashes[of_type] = mixed[of_type]


def _mix(part: Events, attribute: str, hashes: Int64s) -> None:
    """Mix an attribute into the hashes; values that are equal in the language stay equal."""
    column = part.table.column(attribute)
    if not len(part):
        return
    if kind_of(column.type) is not Kind.STRING:
        encoded = encode_column(column, StringCodes(), name=attribute)
        numbers = key_values(encoded)
        buckets.mix_numbers(numbers // 1_000 if encoded.unit == "ns" else numbers, hashes)
        return
    strings = without_dictionary(one_array(column)).cast(pa.large_string())
    _, offsets, data = strings.buffers()
    first = strings.offset
    ends = np.frombuffer(offsets, np.int64)[first : first + len(strings) + 1]
    data = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    buckets.mix_strings(shared(ends), shared(data), hashes)
