"""An id for every match, the same wherever and however often the match is found.

It is computed from the query and the contents of the match's events. So a consumer can recognise a
result that it receives twice, after a restart or a retry. Events that are equal in every column are
distinguished by their order among the events of equal time. All ids of a column of matches are
computed together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.events.arrays import Int64s, PositionArray
from cepheid.events.columns.arrow_arrays import from_numpy, one_array, shared
from cepheid.events.events import Events
from cepheid.language import syntax as ast
from cepheid.language.printer import print_query
from cepheid.matches.bindings import Bindings
from cepheid.matches.kernels import digests as kernels
from cepheid.matches.positions import ListPositions

UInt64s = npt.NDArray[np.uint64]

_GOLDEN = int(kernels.GOLDEN)
_NULL = 0x6A09E667F3BCC909
_SEEDS = (0x243F6A8885A308D3, 0x13198A2E03707344)
_DIGITS = 32


class MatchIds:
    """The ids of the matches among some events; each event is read once.

    ``parts`` are all the requested matches. ``name`` distinguishes the query from others with the
    same text in a script.

    >>> import cepheid as cep
    >>> events = {"ts": [1, 2, 2], "type": ["A", "B", "B"], "x": [5, 6, 7]}
    >>> query = cep.query("PATTERN SEQ(A a, B b)")
    >>> events, [part] = query.match(events).parts()
    >>> ids = MatchIds(query.tree, events, [part]).of(part)
    >>> len(ids), len(set(ids.to_pylist())), len(ids[0].as_py())
    (2, 2, 32)
    """

    def __init__(
        self, query: ast.Query, events: Events, parts: Sequence[Bindings], name: str = ""
    ) -> None:
        named = hashlib.blake2b((name + print_query(query)).encode(), digest_size=8).digest()
        self._of_query = np.frombuffer(named, dtype=np.uint64)[0]
        self._digests = _event_digests(events, parts)

    def of(self, bindings: Bindings) -> pa.Array:
        """For each match, a string of 32 hexadecimal digits."""
        first, second = (np.full(len(bindings), self._of_query ^ np.uint64(s)) for s in _SEEDS)
        for number, column in enumerate(bindings.variables.values(), start=1):
            positions = _wide(column.positions)
            if isinstance(column, ListPositions):
                offsets, seeds = shared(column.offsets), map(np.uint64, _SEEDS)
                kernels.add_lists(
                    offsets, positions, self._digests, np.uint64(number), *seeds, first, second
                )
            else:
                slot = _mixed(np.array([number], dtype=np.uint64))
                slots = (_mixed(slot ^ np.uint64(seed))[0] for seed in _SEEDS)
                kernels.add_singles(positions, self._digests, *slots, first, second)
        return _hexadecimal(first, second)


def row_ids(text: str, columns: Sequence[pa.Array]) -> pa.Array:
    """An id of 32 hexadecimal digits for each row of columns; ``text`` names what made them.

    >>> row_ids("rule", [pa.array([1, 2, 1])]).value_counts().field("counts").to_pylist()
    [2, 1]
    """
    named = hashlib.blake2b(text.encode(), digest_size=8).digest()
    digests = _joined(columns, len(columns[0])) ^ np.frombuffer(named, dtype=np.uint64)[0]
    first, second = (_mixed(digests ^ np.uint64(seed)) for seed in _SEEDS)
    return _hexadecimal(first, second)


def _hexadecimal(first: UInt64s, second: UInt64s) -> pa.Array:
    digits = np.empty(_DIGITS * len(first), dtype=np.uint8)
    kernels.write_hexadecimal(first, second, digits)
    offsets = np.arange(0, len(digits) + 1, _DIGITS, dtype=np.int32)
    return pa.StringArray.from_buffers(len(first), pa.py_buffer(offsets), pa.py_buffer(digits))


def _wide(positions: PositionArray) -> Int64s:
    return shared(positions.astype(np.int64, copy=False))


def _event_digests(events: Events, parts: Sequence[Bindings]) -> UInt64s:
    """The digest of each event that is in a match, at the position of the event."""
    marks = np.zeros(len(events), dtype=np.uint8)
    for part in parts:
        for column in part.variables.values():
            kernels.mark(_wide(column.positions), marks)
    ticks = shared(events.ticks)
    # Equal events of the same time are numbered by the equal events before them.
    positions = np.empty(0, dtype=np.int64)
    if kernels.mark_earlier_of_time(ticks, marks):
        positions = np.flatnonzero(marks)
    digests = _row_digests(events.table, positions)
    found = np.empty(len(events), dtype=np.uint64)
    kernels.tell_apart(positions, digests, _equal_before(ticks[positions], digests), found)
    return found


def _equal_before(ticks: Int64s, digests: UInt64s) -> Int64s:
    """The number of events before each one with its time and digest; times never decrease."""
    alike = np.zeros(len(ticks), dtype=np.int64)
    same = ticks[1:] == ticks[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    if len(tied):
        order = np.lexsort((digests[tied], ticks[tied]))
        of_time, of_digest = ticks[tied][order], digests[tied][order]
        begins = np.append(True, (np.diff(of_time) != 0) | (of_digest[1:] != of_digest[:-1]))
        starts = np.flatnonzero(begins)
        lengths = np.diff(np.append(starts, len(order)))
        alike[tied[order]] = np.arange(len(order)) - np.repeat(starts, lengths)
    return alike


def _row_digests(table: pa.Table, positions: Int64s) -> UInt64s:
    taken = table if len(positions) == len(table) else table.take(from_numpy(positions))
    return _joined([one_array(column) for column in taken.columns], len(positions))


def _joined(columns: Sequence[pa.Array], length: int) -> UInt64s:
    """One digest per row of several columns, dependent on their order."""
    total = np.zeros(length, dtype=np.uint64)
    for number, column in enumerate(columns):
        salt = np.uint64((number + 1) * _GOLDEN % 2**64)
        kernels.add_column(shared(digest_column(column)), salt, total)
    return total


def digest_column(array: pa.Array) -> UInt64s:
    """A digest of each value that depends only on the value, not on its column.

    >>> digest_column(pa.array([1, 2, None, 1])).tolist().index(digest_column(pa.array([2]))[0])
    1
    """
    if isinstance(array, pa.ExtensionArray):
        return digest_column(array.storage)
    if arrow.is_dictionary(array.type):
        return digest_column(array.dictionary_decode())
    if arrow.is_run_end_encoded(array.type):
        return digest_column(pc.run_end_decode(array))
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
    if arrow.is_nested(kind) and not arrow.is_union(kind):
        if arrow.is_map(kind):
            array = array.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
        elif arrow.is_list_view(kind) or arrow.is_large_list_view(kind):
            array = pa.array(array.to_pylist(), pa.large_list(kind.value_type))
        else:
            array = array.cast(pa.large_list(kind.value_field))
        lengths = pc.list_value_length(array).fill_null(0).to_numpy().astype(np.int64)
        return _in_pieces(digest_column(array.flatten()), lengths)
    if arrow.is_string(kind) or arrow.is_large_string(kind) or arrow.is_string_view(kind):
        array = array.cast(pa.large_string()).cast(pa.large_binary())
        return _of_bytes(array)
    if _is_binary(kind):
        return _of_bytes(array.cast(pa.large_binary()))
    if arrow.is_floating(kind):
        floats = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        floats = np.where(np.isnan(floats), np.nan, floats + 0.0)  # One zero, one NaN.
        return _mixed(floats.view(np.uint64))
    if arrow.is_timestamp(kind):
        array = array.cast(pa.timestamp("us", kind.tz), safe=False)
    elif arrow.is_duration(kind):
        array = array.cast(pa.duration("us"), safe=False)
    elif arrow.is_date32(kind) or arrow.is_time32(kind):
        array = array.cast(pa.int32())
    elif arrow.is_interval(kind) or arrow.is_union(kind):
        return _values(pa.array([str(each) for each in array.to_pylist()], pa.string()))
    if arrow.is_uint64(kind):
        return _mixed(array.fill_null(0).to_numpy(zero_copy_only=False))
    numbers = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return _mixed(numbers.astype(np.int64).view(np.uint64))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        arrow.is_binary(kind)
        or arrow.is_large_binary(kind)
        or arrow.is_fixed_size_binary(kind)
        or arrow.is_binary_view(kind)
    )


def _of_bytes(array: pa.Array) -> UInt64s:
    _, offsets_buffer, data = array.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype=np.int64)[array.offset :][: len(array) + 1]
    raw = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8)
    digests = np.empty(len(array), dtype=np.uint64)
    kernels.digest_octets(shared(offsets), shared(raw), digests)
    return digests


def _in_pieces(items: UInt64s, lengths: Int64s) -> UInt64s:
    """One digest of each list of items, dependent on their order."""
    ends = np.cumsum(lengths)
    place = np.arange(len(items)) - np.repeat(ends - lengths, lengths)
    mixed = _mixed(items + _mixed(place.astype(np.uint64)))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return _mixed(sums[ends] - sums[ends - lengths] + lengths.astype(np.uint64))


def _mixed(numbers: UInt64s) -> UInt64s:
    """Each number with its bits mixed over all 64; different numbers stay different."""
    mixed = np.empty(len(numbers), dtype=np.uint64)
    kernels.mix_numbers(shared(numbers), mixed)
    return mixed
