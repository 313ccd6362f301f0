"""A batch of events as kernels need it: encoded columns, tests as mask bits."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.codegen.generated import marks_address
from cepheid.codegen.steps import EventTest
from cepheid.engines.base.kernels import event_masks
from cepheid.events.arrays import Int64s, address_of, lent_numbers
from cepheid.events.columns.arrow_arrays import one_array, to_numpy
from cepheid.events.columns.computed_columns import column_of
from cepheid.events.columns.encoding import EncodedColumn, encode_column
from cepheid.events.columns.list_columns import ListColumns
from cepheid.events.columns.string_codes import StringCodes
from cepheid.events.columns.vectorised import Leaf, Vectorised
from cepheid.events.events import Events
from cepheid.language import syntax as ast
from cepheid.schema import Computed, Kind, Schema, kind_of

Bools = npt.NDArray[np.bool_]

_LOOP = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 5)
"""The type of a generated ``marks`` function."""


@cache
def _marks(predicate: int) -> Callable[..., int]:
    return _LOOP(marks_address(predicate))


class _BitsOfTypes(NamedTuple):
    """What some tests say of the types of a batch.

    For each type, ``bits`` are those of the tests that are about it; ``types`` are the types of all
    tests. ``decide`` says that the type of an event alone decides each test.
    """

    bits: Int64s
    types: frozenset[str]
    decide: bool


_KNOWN: dict[tuple[int, tuple[str, ...]], tuple[Sequence[EventTest], _BitsOfTypes]] = {}
_MOST_KNOWN = 4_096


def _bits_of_types(tests: Sequence[EventTest], names: tuple[str, ...]) -> _BitsOfTypes:
    """The same for the same tests and names, since small batches come often."""
    known = _KNOWN.get((id(tests), names))
    if known is not None and known[0] is tests:
        return known[1]
    bits = [sum(1 << bit for bit, test in enumerate(tests) if name in test.types) for name in names]
    found = _BitsOfTypes(
        np.array(bits or [0], dtype=np.int64),
        frozenset(name for test in tests for name in test.types),
        all(test.is_of_types_only for test in tests),
    )
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN[id(tests), names] = tests, found
    return found


@lru_cache(maxsize=1_024)
def _are_among(names: tuple[str, ...], types: frozenset[str]) -> Int64s:
    """For each name, 1 if it is one of the types."""
    return np.array([name in types for name in names] or [False], dtype=np.int64)


@dataclass(slots=True, eq=False)
class EventBatch:
    """Consecutive events of a stream; ``first_event`` is the number of the first one.

    ``read`` is a column of the events. ``lists`` are the list attributes of all events that a
    predicate can reach from here.
    """

    read: Callable[[str], pa.Array | pa.ChunkedArray]
    ticks: Int64s
    type_codes: npt.NDArray[np.int32]
    type_names: tuple[str, ...]
    first_event: int
    schema: Schema
    strings: StringCodes
    lists: ListColumns
    _encoded: dict[str, EncodedColumn] = field(default_factory=dict)
    _places: dict[frozenset[str], Int64s] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        events: Events,
        first_event: int,
        strings: StringCodes,
        lists: ListColumns | None = None,
    ) -> EventBatch:
        """The events as a batch; without ``lists``, no predicate reads events outside it."""
        numbers = None if isinstance(events.numbers, int) else events.numbers
        table, known = events.table, first_event if numbers is None else numbers
        return cls(
            lambda attribute: column_of(table, attribute, known),
            events.ticks,
            events.type_codes,
            events.type_names,
            first_event,
            events.schema,
            strings,
            lists or ListColumns(lambda: table, strings, first_event),
        )

    def __len__(self) -> int:
        return len(self.ticks)

    def column(self, attribute: str) -> EncodedColumn:
        """An attribute as numbers; times are in microseconds, a list is its event's number."""
        if attribute not in self._encoded:
            self._encoded[attribute] = self._encode(attribute)
        return self._encoded[attribute]

    def _encode(self, attribute: str) -> EncodedColumn:
        column = self.read(attribute)
        if kind_of(column.type) is Kind.LIST:
            numbers = np.arange(self.first_event, self.first_event + len(self), dtype=np.int64)
            valid = column.is_valid().to_numpy() if column.null_count else None
            return EncodedColumn(numbers, valid)
        if isinstance(attribute, Computed):
            self.strings.computed.add(attribute)
        encoded = encode_column(column, self.strings, name=attribute)
        if encoded.unit == "ns":
            return EncodedColumn(encoded.values // 1_000, encoded.valid, unit="us")
        return encoded

    def places_of(self, types: frozenset[str]) -> Int64s:
        """The places of the events of these types."""
        if types not in self._places:
            places, wanted = lent_numbers(len(self)), _are_among(self.type_names, types)
            count = event_masks.places_of_types(self.type_codes, wanted, places)
            self._places[types] = places[:count]
        return self._places[types]

    def marked(
        self, tests: Sequence[EventTest], predicate: int, context: Int64s
    ) -> tuple[Int64s, Int64s]:
        """The places of the events that pass any test, and the bits of the tests that they pass."""
        bits = lent_numbers(len(self))
        of_types = _bits_of_types(tests, self.type_names)
        if of_types.decide:
            places = self.places_of(of_types.types)
            event_masks.mark_types_at(self.type_codes, of_types.bits, places, bits)
            return places, bits
        mask, places = self.mask(tests, predicate, context), lent_numbers(len(self))
        return places[: event_masks.marked_places(mask, places, bits)], bits

    def mask(self, tests: Sequence[EventTest], predicate: int, context: Int64s) -> Int64s:
        """For each event, bit t for every test t that it passes.

        ``predicate`` and ``context`` belong to the automaton of the tests.
        """
        mask = lent_numbers(len(self))
        by_type = _bits_of_types(tests, self.type_names).bits
        if (by_type == by_type[0]).all():
            mask.fill(by_type[0])
        else:
            event_masks.mark_types(self.type_codes, by_type, mask)
        request = np.array([address_of(mask), 0], dtype=np.int64)
        addresses = address_of(context), len(self), address_of(request)
        for bit, test in enumerate(tests):
            if test.predicate >= 0 and len(self):
                request[1] = 1 << bit
                _marks(predicate)(test.predicate, *addresses)
        for bit, test in enumerate(tests):
            if test.clauses or test.present:
                mask[~self._passes_others(test)] &= ~(1 << bit)
        return mask

    def _passes_others(self, test: EventTest) -> Bools:
        """Which events pass the conditions that generated code cannot test."""
        passed = np.ones(len(self), dtype=np.bool_)
        for attribute in test.present:
            valid = self.column(attribute).valid
            if valid is not None:
                passed &= valid
        for clause in test.clauses:
            passed &= self.satisfies(clause[0] if len(clause) == 1 else ast.Or(clause))
        return passed

    def satisfies(self, condition: ast.Expression) -> Bools:
        """Which events satisfy a condition on a single event, computed over columns."""
        vectorised = Vectorised(len(self), self._leaf, self._missing)
        return to_numpy(vectorised.truth(condition).fill_null(False))

    def _leaf(self, leaf: Leaf) -> pa.Array:
        assert isinstance(leaf, ast.Attribute | ast.Element)
        return one_array(self.read(leaf.attribute))

    def _missing(self, leaf: Leaf) -> Bools:
        """The events of a type without the attribute."""
        assert isinstance(leaf, ast.Attribute | ast.Element)
        has = self.schema.has_attribute
        lacks = np.array([not has(name, leaf.attribute) for name in self.type_names], np.bool_)
        if lacks.all() or not lacks.any():
            return np.full(len(self), len(lacks) > 0 and lacks[0], dtype=np.bool_)
        return lacks[self.type_codes]
