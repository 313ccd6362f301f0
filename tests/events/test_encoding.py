"""Encoding loses nothing that a kernel needs: decode(encode(column)) is the column."""

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import EventError
from cepheid.events.columns.arrow_arrays import from_numpy, one_array
from cepheid.events.columns.encoding import EncodedColumn, encode_column, writable
from cepheid.events.columns.string_codes import NULL_CODE, StringCodes
from cepheid.schema import Kind, kind_of

INT64 = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False)
STRINGS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
EXACT = st.integers(-(2**53), 2**53)
SECONDS = st.integers(-(2**33), 2**33)
DATES = st.dates()

# Arrow type -> its Python values, for the types that lose nothing.
LOSSLESS = {
    pa.int8(): st.integers(-128, 127),
    pa.uint32(): st.integers(0, 2**32 - 1),
    pa.int64(): INT64,
    pa.uint64(): st.integers(0, 2**63 - 1),
    pa.float64(): FLOATS,
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.string(): STRINGS,
    pa.large_string(): STRINGS,
    pa.bool_(): st.booleans(),
    pa.timestamp("s"): SECONDS,
    pa.timestamp("ms", "Europe/Berlin"): SECONDS,
    pa.timestamp("us", "UTC"): INT64,
    pa.timestamp("ns"): INT64,
    pa.date32(): DATES,
    pa.date64(): DATES,
    pa.duration("s"): SECONDS,
    pa.duration("ns"): INT64,
    pa.list_(pa.float64()): st.lists(st.none() | FLOATS, max_size=3),
    pa.list_(pa.int64()): st.lists(st.none() | EXACT, max_size=3),
    pa.large_list(pa.string()): st.lists(st.none() | STRINGS, max_size=3),
    pa.list_(pa.bool_()): st.lists(st.none() | st.booleans(), max_size=3),
    pa.list_(pa.int16(), 2): st.lists(st.none() | st.integers(-9, 9), min_size=2, max_size=2),
    pa.null(): st.none(),
}


def decode_strings(codes: np.ndarray, strings: StringCodes) -> pa.Array:
    """The strings of known codes; NULL_CODE is null."""
    places = np.searchsorted(strings.codes, codes)
    return strings.values.take(from_numpy(places, codes == NULL_CODE))


def decode_column(
    encoded: EncodedColumn, arrow_type: pa.DataType, strings: StringCodes
) -> pa.Array:
    """The Arrow column that was encoded; NaN is null, and decimals are rounded to floats."""
    if pa.types.is_dictionary(arrow_type):
        plain = decode_column(encoded, arrow_type.value_type, strings).dictionary_encode()
        indices = plain.indices.cast(arrow_type.index_type)
        return pa.DictionaryArray.from_arrays(indices, plain.dictionary, ordered=arrow_type.ordered)
    missing = None if encoded.valid is None else ~encoded.valid
    if encoded.offsets is not None:
        return decode_list(encoded, missing, strings).cast(arrow_type)
    kind = kind_of(arrow_type)
    if kind is Kind.STRING:
        return decode_strings(encoded.values, strings).cast(arrow_type)
    if pa.types.is_null(arrow_type):
        return pa.nulls(len(encoded))
    numbers = from_numpy(encoded.values, missing)
    if kind in (Kind.TIMESTAMP, Kind.DATE):
        zone = arrow_type.tz if kind is Kind.TIMESTAMP else None
        return numbers.cast(pa.timestamp(encoded.unit, zone)).cast(arrow_type)
    if kind is Kind.DURATION:
        return numbers.cast(pa.duration(encoded.unit)).cast(arrow_type)
    return numbers.cast(arrow_type)


def decode_list(
    encoded: EncodedColumn, missing: np.ndarray | None, strings: StringCodes
) -> pa.Array:
    assert encoded.offsets is not None
    if encoded.values.dtype == np.int64:
        elements = decode_strings(encoded.values, strings)
    else:
        elements = from_numpy(encoded.values, np.isnan(encoded.values))
    mask = None if missing is None else from_numpy(missing)
    return pa.LargeListArray.from_arrays(from_numpy(encoded.offsets), elements, mask=mask)


@st.composite
def columns(draw):
    """A column of any lossless type, with nulls, in one array, a slice of one, or in chunks."""
    arrow_type = draw(st.sampled_from(list(LOSSLESS)))
    chunks = draw(st.lists(st.lists(st.none() | LOSSLESS[arrow_type], max_size=6), max_size=3))
    if len(chunks) == 1:
        return pa.array(chunks[0], arrow_type)[draw(st.integers(0, 2)) :]
    return pa.chunked_array(chunks, arrow_type)


@given(columns())
def test_a_column_comes_back(column):
    strings = StringCodes()
    encoded = encode_column(column, strings)
    assert len(encoded) == len(column)
    decoded = decode_column(encoded, column.type, strings)
    decoded.validate(full=True)
    assert decoded.equals(one_array(column))
    assert (encoded.valid is None) == (column.null_count == 0)
    for array in (encoded.values, encoded.valid, encoded.offsets):
        assert array is None or (array.flags.c_contiguous and array.flags.writeable)


@given(st.lists(st.lists(st.none() | STRINGS, max_size=6), max_size=5), st.booleans())
def test_codes_of_strings_do_not_depend_on_batches(batches, as_dictionary):
    strings = StringCodes()
    codes = []
    for batch in batches:
        column = pa.array(batch, pa.string())
        codes += strings.encode(column.dictionary_encode() if as_dictionary else column).tolist()
        strings = StringCodes.from_state(strings.state())
    texts = [text for batch in batches for text in batch]
    seen = list(dict.fromkeys(text for text in texts if text is not None))
    assert codes == [NULL_CODE if text is None else seen.index(text) for text in texts]
    assert list(strings.state()["codes"]) == seen
    assert len(strings) == len(seen)
    assert decode_strings(np.array(codes, np.int64), strings).to_pylist() == texts
    whole = pa.chunked_array(batches, pa.string())
    whole = whole.dictionary_encode() if as_dictionary else whole
    assert StringCodes().encode(whole).tolist() == codes


def test_a_dictionary_may_be_odd():
    indices, values = pa.array([0, 1, 2, 3, None]), pa.array(["a", "b", None, "a"])
    strings = StringCodes()
    assert strings.code("b") == 0
    column = pa.DictionaryArray.from_arrays(indices, values)
    assert strings.encode(column).tolist() == [1, 0, -1, 1, -1]
    assert encode_column(column, strings).valid.tolist() == [True, True, False, True, False]
    assert strings.encode(pa.nulls(2)).tolist() == [-1, -1]
    assert strings.code("c") == 2
    assert decode_strings(np.array([2, 0]), strings).to_pylist() == ["c", "b"]


def test_strings_of_several_columns_share_their_codes():
    strings = StringCodes()
    left = encode_column(pa.array(["a", "b"]), strings)
    right = encode_column(pa.array(["b", "c"], pa.string_view()), strings)
    assert (left.values.tolist(), right.values.tolist()) == ([0, 1], [1, 2])


@pytest.mark.parametrize(
    ("column", "values", "valid", "unit"),
    [
        (pa.array([1, None], pa.int8()), [1, 0], [True, False], None),
        (pa.array([True, None, False]), [1, 0, 0], [True, False, True], None),
        (pa.array([1, 2], pa.float32()), [1.0, 2.0], None, None),
        (pa.array([Decimal("0.25"), Decimal("1e9")]), [0.25, 1e9], None, None),
        (pa.array([5], pa.timestamp("ms")), [5000], None, "us"),
        (pa.array([5], pa.timestamp("ns", "UTC")), [5], None, "ns"),
        (pa.array([datetime(1970, 1, 1, tzinfo=UTC)]), [0], None, "us"),
        (pa.array([date(1970, 1, 2), None]), [86_400_000_000, 0], [True, False], "us"),
        (pa.array([timedelta(seconds=1)], pa.duration("s")), [1_000_000], None, "us"),
        (pa.array([5], pa.duration("ns")), [5], None, "ns"),
        (pa.array([3, 3]).dictionary_encode(), [3, 3], None, None),
        (pa.array(["b", None], pa.large_string()), [0, -1], [True, False], None),
    ],
    ids=lambda value: str(value).replace("\n", ""),
)
def test_encoded_values(column, values, valid, unit):
    encoded = encode_column(column, StringCodes())
    assert encoded.values.tolist() == values
    assert encoded.values.dtype == (np.float64 if isinstance(values[0], float) else np.int64)
    assert (None if encoded.valid is None else encoded.valid.tolist()) == valid
    assert encoded.unit == unit


def test_nan_is_null():
    column = pa.array([1.0, math.nan, None])
    encoded = encode_column(column, StringCodes())
    assert np.isnan(encoded.values).tolist() == [False, True, True]
    assert encoded.valid.tolist() == [True, False, False]
    assert decode_column(encoded, column.type, StringCodes()).to_pylist() == [1.0, None, None]


def test_lists_are_flat_values_between_offsets():
    column = pa.array([[1, 2], None, [], [None, 3], [math.nan]], pa.list_(pa.float64()))
    encoded = encode_column(column, StringCodes())
    assert encoded.offsets.tolist() == [0, 2, 2, 2, 4, 5]
    assert encoded.values.tolist()[:2] == [1.0, 2.0]
    assert np.isnan(encoded.values).tolist() == [False, False, True, False, True]
    assert encoded.valid.tolist() == [True, False, True, True, True]


def test_what_lies_below_a_null_list_is_left_out():
    below = pa.ListArray.from_arrays(
        pa.array([0, 1, 3, 4]), pa.array([1.0, 2.0, 3.0, 4.0]), mask=pa.array([False, True, False])
    )
    encoded = encode_column(below[1:], StringCodes())
    assert (encoded.values.tolist(), encoded.offsets.tolist()) == ([4.0], [0, 0, 1])


@pytest.mark.parametrize("values", [["a", None], [3, None], [1.5, None]], ids=str)
def test_dictionary_columns_come_back_as_dictionaries(values):
    strings = StringCodes()
    column = (
        pa.array(values).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.array(values).type))
    )
    decoded = decode_column(encode_column(column, strings), column.type, strings)
    assert decoded.type == column.type
    assert decoded.to_pylist() == values


@pytest.mark.parametrize(
    ("column", "name", "message"),
    [
        (
            pa.array([2**63], pa.uint64()),
            "tag",
            "attribute 'tag' of type uint64 has a value that cannot be kept exactly: Integer "
            "value 9223372036854775808 not in range: 0 to 9223372036854775807",
        ),
        (
            pa.array([2**60], pa.timestamp("s")),
            None,
            "a column of type timestamp[s] has a value that cannot be kept exactly: Casting "
            "from timestamp[s] to timestamp[us] would result in out of bounds timestamp: "
            "1152921504606846976",
        ),
        (
            pa.array([[2**53 + 1]]),
            "ids",
            "attribute 'ids' of type list<item: int64> has a value that cannot be kept exactly: "
            "Integer value 9007199254740993 not in range: -9007199254740992 to 9007199254740992",
        ),
        (
            pa.array([{"x": 1}]),
            "where",
            "attribute 'where' has type struct<x: int64>, which conditions cannot use",
        ),
        (
            pa.array([[[1]]]),
            "deep",
            "attribute 'deep' has type list<item: list<item: int64>>, which conditions cannot use",
        ),
        (
            pa.array([b"a"]),
            "raw",
            "attribute 'raw' has type binary, which conditions cannot use",
        ),
        (
            pa.array([1], pa.time64("us")),
            "at",
            "attribute 'at' has type time64[us], which conditions cannot use",
        ),
    ],
    ids=lambda value: str(value)[:20].replace("\n", ""),
)
def test_columns_that_cannot_be_encoded(column, name, message):
    with pytest.raises(EventError) as raised:
        encode_column(column, StringCodes(), name=name)
    assert str(raised.value) == message


def test_arrays_are_copied_only_when_they_have_to_be():
    owned = np.arange(3)
    assert writable(owned) is owned
    assert writable(owned[::2]).flags.c_contiguous
    column = pa.chunked_array([pa.array([1, 2])])
    assert one_array(column).buffers()[1].address == column.chunk(0).buffers()[1].address
