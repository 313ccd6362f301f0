"""What is made from memory is what Arrow makes of the same values."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.events.columns.arrow_arrays import empty_table, from_list, from_numpy, to_numpy

VALUES = st.one_of(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)),
    st.lists(st.none() | st.floats(allow_nan=False)),
    st.lists(st.none() | st.booleans()),
    st.lists(st.none() | st.text()),
    st.lists(st.integers(0, 9) | st.floats(0, 9)),
    st.lists(st.lists(st.integers(0, 9), max_size=2)),
)


@given(VALUES)
def test_a_list_is_what_arrow_makes_of_it(values):
    made = from_list(values)
    made.validate(full=True)
    assert made.equals(pa.array(values))


@pytest.mark.parametrize("values", [[2**63], [-(2**70)], ["\ud800"], [1, "a"], [True, 1]])
def test_what_arrow_makes_otherwise_or_refuses(values):
    try:
        expected = pa.array(values)
    except (pa.ArrowException, OverflowError, ValueError) as error:
        with pytest.raises(type(error).__mro__[-3]):
            from_list(values)
    else:
        assert from_list(values).equals(expected)


def test_not_a_number_is_no_null():
    assert math.isnan(from_list([math.nan, None]).to_pylist()[0])


@given(st.lists(st.tuples(st.integers(-9, 9), st.booleans())), st.integers(0, 3))
def test_numbers_and_back(pairs, low):
    values = np.array([value for value, _ in pairs], dtype=np.int64)
    missing = np.array([is_missing for _, is_missing in pairs], dtype=np.bool_)
    assert from_numpy(values, missing).equals(pa.array(values, mask=missing))
    for array in (pa.array(values), pa.array(missing), pa.array(values.astype(np.float32))):
        found = to_numpy(array[low:])
        assert found.tolist() == array[low:].to_pylist()
        assert from_numpy(found).equals(array[low:])


def test_an_empty_table_has_its_schema():
    schema = pa.schema([("a", pa.dictionary(pa.int32(), pa.string())), ("b", pa.list_(pa.int8()))])
    assert empty_table(schema).equals(schema.empty_table())
