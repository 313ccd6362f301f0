"""Comparison and arithmetic of whole columns, and the types that they need."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.errors import EventError
from cepheid.events.columns.arrow_arrays import plain_decimals

COMPARISONS = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_ARITHMETIC = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


def arithmetic(operator: str, left: pa.Array, right: pa.Array) -> pa.Array:
    """The results of ``+ - * / %``, with null where there is none."""
    if _has_no_kind(left, right) or _has_no_kind(right, left):
        return pa.nulls(len(left))
    left, right = plain(left), plain(right)
    if _is_time(left) and _is_time(right):
        left, right = _as_time(left, right), _as_time(right, left)
    if operator == "*" and arrow.is_duration(right.type):
        left, right = right, left
    if operator in "*/" and arrow.is_duration(left.type):
        return _scaled(operator, left, right)
    if operator in _ARITHMETIC:
        apply = _ARITHMETIC[operator]
        result = without_nan(_applied(apply, *_alike((left, right))))
        if not arrow.is_integer(result.type):
            return result
        # An overflow is off by at least 2**64, and floats are off by much less.
        error = pc.subtract(apply(floats(left), floats(right)), floats(result))
        return pc.if_else(pc.less(pc.abs(error), 1e18), result, pa.scalar(None, result.type))
    zero = pc.equal(right, 0)
    if operator == "/":
        quotient = pc.divide(floats(left), pc.if_else(zero, 1.0, floats(right)))
    else:
        quotient = _modulo(left, pc.if_else(zero, pa.scalar(1, right.type), right))
    return without_nan(pc.if_else(zero, pa.scalar(None, quotient.type), quotient))


def duration(nanoseconds: int) -> pa.Scalar:
    """A duration in microseconds, unless it has nanoseconds, which do not reach the year 9999."""
    microseconds, rest = divmod(nanoseconds, 1_000)
    if rest:
        return pa.scalar(nanoseconds, pa.duration("ns"))
    return pa.scalar(microseconds, pa.duration("us"))


def _scaled(operator: str, durations: pa.Array, numbers: pa.Array) -> pa.Array:
    """Durations multiplied or divided by numbers, rounded to the unit of the durations."""
    kind = durations.type if durations.type.unit == "ns" else pa.duration("us")
    scaled = arithmetic(operator, durations.cast(kind).cast(pa.int64()), numbers)
    rounded = whole(pc.round(scaled)) if arrow.is_floating(scaled.type) else scaled
    return rounded.cast(kind)


def _modulo(left: pa.Array, right: pa.Array) -> pa.Array:
    """The remainder with the sign of the divisor, as in Python; Arrow has none."""
    missing = pc.or_(pc.is_null(left), pc.is_null(right)).to_numpy(zero_copy_only=False)
    numbers = [array.fill_null(1).to_numpy(zero_copy_only=False) for array in (left, right)]
    with np.errstate(invalid="ignore"):  # The remainder of infinity is not a number.
        return pa.array(np.mod(*numbers), mask=missing)


def compare(operator: str, left: pa.Array, right: pa.Array) -> pa.Array:
    """The truth of a comparison, with null where a side is null."""
    if any(arrow.is_null(each.type) or each.null_count == len(each) for each in (left, right)):
        return pa.nulls(len(left), pa.bool_())  # They may have no type: CASE without an ELSE.
    left, right = plain(left), plain(right)
    return _applied(COMPARISONS[operator], *_alike((_as_time(left, right), _as_time(right, left))))


def _applied(function: Callable[..., pa.Array], left: pa.Array, right: pa.Array) -> pa.Array:
    try:
        return function(left, right)
    except pa.ArrowInvalid:
        # A time out of the range of nanoseconds is compared with one in nanoseconds.
        return function(*(_in_microseconds(array) for array in (left, right)))


def _has_no_kind(array: pa.Array, other: pa.Array) -> bool:
    """Whether these are nulls without a type, and the others are not numbers.

    Next to numbers, such nulls are numbers.
    """
    plain = (arrow.is_null, arrow.is_integer, arrow.is_floating, arrow.is_decimal)
    return arrow.is_null(array.type) and not any(test(other.type) for test in plain)


def _is_time(array: pa.Array) -> bool:
    return bool(arrow.is_timestamp(array.type) or arrow.is_date(array.type))


def _in_microseconds(array: pa.Array) -> pa.Array:
    wanted = pa.timestamp("us") if arrow.is_timestamp(array.type) else pa.duration("us")
    return array.cast(wanted, safe=False)


def _as_time(array: pa.Array, other: pa.Array) -> pa.Array:
    """Strings parsed as times, and times without a zone, if the other side is a time."""
    is_time, other_is_time = _is_time(array), _is_time(other)
    if arrow.is_string(array.type) and other_is_time:
        strings = pc.unique(array)
        moments = [None if each is None else _moment(each) for each in strings.to_pylist()]
        codes = pc.index_in(array, strings)
        return pa.array(moments, pa.timestamp("us")).take(codes)
    if is_time and (other_is_time or arrow.is_string(other.type)):
        unit = array.type.unit if arrow.is_timestamp(array.type) else "us"
        return array.cast(pa.timestamp(unit))
    return array


def _moment(string: str) -> datetime:
    moment = datetime.fromisoformat(string)
    offset = moment.utcoffset()
    return moment.replace(tzinfo=None) - offset if offset else moment.replace(tzinfo=None)


def without_nan(array: pa.Array) -> pa.Array:
    """The array with null for NaN."""
    if not arrow.is_floating(array.type):
        return array
    return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)


def whole(floats: pa.Array) -> pa.Array:
    """Integers, with null for those that do not fit into 64 bits."""
    fits = pc.and_(pc.greater_equal(floats, -(2.0**63)), pc.less(floats, 2.0**63))
    return pc.if_else(fits, floats, pa.scalar(None, pa.float64())).cast(pa.int64())


def plain(array: pa.Array) -> pa.Array:
    """Dictionaries decoded, decimals as plain numbers, NaN as null, numbers in 64 bits."""
    kind = array.type
    if arrow.is_dictionary(kind):
        return plain(array.dictionary_decode())
    if arrow.is_decimal(kind):
        return plain_decimals(array)
    if arrow.is_floating(kind):
        return without_nan(array.cast(pa.float64()))
    if arrow.is_integer(kind) and kind != pa.int64():
        return whole_numbers(array)
    if arrow.is_large_string(kind) or arrow.is_string_view(kind):
        return array.cast(pa.string())
    if arrow.is_null(kind):
        return array.cast(pa.int64())
    return array


def whole_numbers(array: pa.Array) -> pa.Array:
    """Integers of any width as int64."""
    try:
        return array.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise EventError(
            f"a value of type {array.type} cannot be computed with exactly: {error}; "
            "cast the column to float64"
        ) from None


def _alike(arrays: tuple[pa.Array, ...]) -> list[pa.Array]:
    if any(arrow.is_floating(array.type) for array in arrays):
        return [floats(array) if arrow.is_integer(array.type) else array for array in arrays]
    return list(arrays)


def floats(array: pa.Array) -> pa.Array:
    """As floats; integers above 2**53 become the nearest float."""
    return array.cast(pa.float64(), safe=False)
