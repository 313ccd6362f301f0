"""A name for every match, the same wherever and however often the match is found.

It is made of the query and of the contents of the match's events, so that a result which comes
twice, after a restart or a retry, can be recognised by who reads it. Events that are alike in
every column are told apart by their order among the events of their time. All is computed on
whole columns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.language import syntax as ast
from cepheid.language.printer import print_query
from cepheid.runtime.arrow_arrays import from_numpy
from cepheid.runtime.bindings import ABSENT, Bindings, Int64s, ListPositions
from cepheid.runtime.encoding import one_array
from cepheid.runtime.events import Events

UInt64s = npt.NDArray[np.uint64]

_GOLDEN = 0x9E3779B97F4A7C15
_NULL = 0x6A09E667F3BCC909
_SEEDS = (0x243F6A8885A308D3, 0x13198A2E03707344)
_DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)


def match_ids(query: ast.Query, events: Events, bindings: Bindings, name: str = "") -> pa.Array:
    """For each match 32 hexadecimal digits, as text.

    ``name`` tells the query from one with the same text, of which a script can have several.

    >>> import cepheid as cep
    >>> events = {"ts": [1, 2, 2], "type": ["A", "B", "B"], "x": [5, 6, 7]}
    >>> query = cep.query("PATTERN SEQ(A a, B b)")
    >>> events, [part] = query.match(events).parts()
    >>> ids = match_ids(query.tree, events, part)
    >>> len(ids), len(set(ids.to_pylist())), len(ids[0].as_py())
    (2, 2, 32)
    """
    table = events.table
    named = hashlib.blake2b((name + print_query(query)).encode(), digest_size=8).digest()
    of_query = np.frombuffer(named, dtype=np.uint64)[0]
    halves = [np.full(len(bindings), of_query ^ np.uint64(seed)) for seed in _SEEDS]
    for number, column in enumerate(bindings.variables.values()):
        positions = column.positions
        is_list = isinstance(column, ListPositions)
        # Where each position belongs: its match, and its place in the list.
        if is_list:
            assert isinstance(column, ListPositions)
            match_ix = np.repeat(np.arange(len(bindings)), column.lengths)
            place = np.arange(len(positions)) - column.offsets[:-1][match_ix]
        else:
            match_ix = np.flatnonzero(positions != ABSENT)
            positions, place = positions[match_ix], np.zeros(len(match_ix), dtype=np.int64)
        distinct, inverse = np.unique(positions, return_inverse=True)
        digests = _event_digests(table, events.ticks, distinct)[inverse]
        slot = _mixed(place.astype(np.uint64) * np.uint64(_GOLDEN) + np.uint64(number + 1))
        for half, seed in zip(halves, _SEEDS, strict=True):
            np.add.at(half, match_ix, _mixed(digests ^ _mixed(slot ^ np.uint64(seed))))
    return _hexadecimal([_mixed(half) for half in halves])


def _event_digests(table: pa.Table, ticks: Int64s, positions: Int64s) -> UInt64s:
    """The digest of each event at these positions, which increase."""
    digests = _row_digests(table, positions)
    # How many events before it, of the same time, are the same.
    alike = np.zeros(len(positions), dtype=np.uint64)
    open_ix, distance = np.arange(len(positions)), 1
    while True:
        earlier = positions[open_ix] - distance
        tied = earlier >= 0
        tied[tied] = ticks[earlier[tied]] == ticks[positions[open_ix[tied]]]
        open_ix, earlier = open_ix[tied], earlier[tied]
        if not len(open_ix):
            break
        before, inverse = np.unique(earlier, return_inverse=True)
        alike[open_ix] += _row_digests(table, before)[inverse] == digests[open_ix]
        distance += 1
    return _mixed(digests + alike * np.uint64(_GOLDEN))


def _row_digests(table: pa.Table, positions: Int64s) -> UInt64s:
    taken = table.take(from_numpy(positions))
    return _joined([one_array(column) for column in taken.columns], len(positions))


def _joined(columns: Sequence[pa.Array], length: int) -> UInt64s:
    """One digest of several columns side by side, by their places."""
    total = np.zeros(length, dtype=np.uint64)
    for number, column in enumerate(columns):
        total += _mixed(digest_column(column) + np.uint64((number + 1) * _GOLDEN % 2**64))
    return total


def digest_column(array: pa.Array) -> UInt64s:
    """A number for each value that depends on the value alone, whatever column it is in.

    >>> digest_column(pa.array([1, 2, None, 1])).tolist().index(digest_column(pa.array([2]))[0])
    1
    """
    if arrow.is_dictionary(array.type):
        return digest_column(array.dictionary_decode())
    values = _values(array)
    if array.null_count:
        values[array.is_null().to_numpy(zero_copy_only=False)] = np.uint64(_NULL)
    return values


def _values(array: pa.Array) -> UInt64s:
    kind = array.type
    if arrow.is_null(kind):
        return np.zeros(len(array), dtype=np.uint64)
    if arrow.is_decimal(kind):
        array, kind = array.cast(pa.string()), pa.string()
    if arrow.is_struct(kind):
        return _joined(array.flatten(), len(array))
    if arrow.is_map(kind) or arrow.is_list(kind) or arrow.is_large_list(kind):
        lengths = pc.list_value_length(array).fill_null(0).to_numpy().astype(np.int64)
        if arrow.is_map(kind):
            array = array.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
        return _in_pieces(digest_column(array.flatten()), lengths)
    if arrow.is_string(kind) or arrow.is_large_string(kind) or arrow.is_string_view(kind):
        array = array.cast(pa.large_string()).cast(pa.large_binary())
        return _of_bytes(array)
    if arrow.is_binary(kind) or arrow.is_large_binary(kind):
        return _of_bytes(array.cast(pa.large_binary()))
    if arrow.is_floating(kind):
        floats = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        floats = np.where(np.isnan(floats), np.nan, floats + 0.0)  # One zero, one NaN.
        return _mixed(floats.view(np.uint64))
    if arrow.is_timestamp(kind):
        array = array.cast(pa.timestamp("us", kind.tz), safe=False)
    elif arrow.is_duration(kind):
        array = array.cast(pa.duration("us"), safe=False)
    elif arrow.is_date32(kind):
        array = array.cast(pa.int32())
    numbers = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return _mixed(numbers.astype(np.int64).view(np.uint64))


def _of_bytes(array: pa.Array) -> UInt64s:
    lengths = pc.binary_length(array).fill_null(0).to_numpy().astype(np.int64)
    _, offsets_buffer, data = array.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype=np.int64)[array.offset :][: len(array) + 1]
    raw = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8)
    starts = np.repeat(offsets[:-1] - np.cumsum(lengths) + lengths, lengths)
    chosen = raw[starts + np.arange(int(lengths.sum()))]
    return _in_pieces(chosen.astype(np.uint64), lengths)


def _in_pieces(items: UInt64s, lengths: Int64s) -> UInt64s:
    """One digest of each run of items, by their places in it."""
    ends = np.cumsum(lengths)
    place = np.arange(len(items)) - np.repeat(ends - lengths, lengths)
    mixed = _mixed(items + _mixed(place.astype(np.uint64)))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return _mixed(sums[ends] - sums[ends - lengths] + lengths.astype(np.uint64))


def _mixed(numbers: UInt64s) -> UInt64s:
    """Each number with its bits spread over all 64; different ones stay different."""
    mixed = numbers + np.uint64(_GOLDEN)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _hexadecimal(halves: Sequence[UInt64s]) -> pa.Array:
    count = len(halves[0])
    octets = np.stack(halves, axis=1).astype(">u8").view(np.uint8).reshape(count, 16)
    digits = np.stack([_DIGITS[octets >> 4], _DIGITS[octets & 15]], axis=2)
    texts = np.ascontiguousarray(digits).reshape(count * 32)
    offsets = np.arange(0, 32 * count + 1, 32, dtype=np.int32)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(texts))
