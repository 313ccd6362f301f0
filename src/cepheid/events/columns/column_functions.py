"""Scalar functions over whole columns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.errors import EvaluationError
from cepheid.events.columns.column_arithmetic import floats, plain, whole, without_nan
from cepheid.events.columns.registered_calls import call_for_rows
from cepheid.events.columns.string_functions import in_case
from cepheid.functions import Function, find_function
from cepheid.schema import Kind

_FUNCTIONS: dict[str, Callable[..., pa.Array]] = {
    "abs": lambda x: _fitting(pc.abs(x)) if arrow.is_integer(x.type) else pc.abs(x),
    "sign": lambda x: pc.cast(pc.sign(x), pa.int64()),
    "floor": lambda x: x if arrow.is_integer(x.type) else whole(pc.floor(x)),
    "ceil": lambda x: x if arrow.is_integer(x.type) else whole(pc.ceil(x)),
    "sqrt": lambda x: pc.sqrt(floats(x)),
    "exp": lambda x: pc.exp(floats(x)),
    "ln": lambda x: pc.ln(floats(x)),
    "log10": lambda x: pc.log10(floats(x)),
    "power": lambda x, y: pc.power(floats(x), floats(y)),
    "least": lambda *xs: _extreme(pc.min_element_wise, xs),
    "greatest": lambda *xs: _extreme(pc.max_element_wise, xs),
    "lower": lambda x: in_case("lower", strings(x)),
    "upper": lambda x: in_case("upper", strings(x)),
    "length": lambda x: pc.cast(pc.utf8_length(strings(x)), pa.int64()),
    "concat": lambda *xs: pc.binary_join_element_wise(*map(strings, xs), pa.scalar("")),
    "regexp_like": lambda x, pattern: pc.match_substring_regex(strings(x), _constant(pattern)),
    "minute": lambda x: _part_of_date(pc.minute, x),
    "hour": lambda x: _part_of_date(pc.hour, x),
    "day": lambda x: _part_of_date(pc.day, x),
    "weekday": lambda x: _part_of_date(partial(pc.day_of_week, count_from_zero=False), x),
    "month": lambda x: _part_of_date(pc.month, x),
    "year": lambda x: _part_of_date(pc.year, x),
    "date_trunc": lambda part, x: _truncated(_constant(part), x),
    "coalesce": lambda *xs: pc.coalesce(*of_one_type(xs)),
    "nullif": lambda x, y: _nullif(*of_one_type((x, y))),
}
"""Functions over columns; other functions of strings are called once for each combination."""
_RESULT_TYPES = {Kind.STRING: pa.string(), Kind.BOOLEAN: pa.bool_(), Kind.INTEGER: pa.int64()}


def call(function: str, arguments: list[pa.Array], length: int) -> pa.Array:
    """The values of a built-in or registered function for arguments in columns."""
    if function == "round":
        return _rounded(*arguments)
    found = find_function(function)
    if found is not None and found.compile is not None:
        return call_for_rows(found, arguments, length)
    columns = [plain(argument) for argument in arguments]
    if function in _FUNCTIONS:
        results = _FUNCTIONS[function](*columns)
        return results if function == "coalesce" else _results_or_null(results, columns)
    if found is None or found.result not in _RESULT_TYPES:
        raise EvaluationError(f"the function '{function}' cannot be computed over columns")
    return _each_row(found, _RESULT_TYPES[found.result], columns)


def _rounded(values: pa.Array, digits: pa.Array | None = None) -> pa.Array:
    """Rounds half away from zero, to a number of digits that may differ by row."""
    numbers = floats(plain(values))
    scale = pc.power(10.0, floats(digits)) if digits is not None else pa.scalar(1.0)
    size = pc.divide(pc.floor(pc.add(pc.multiply(pc.abs(numbers), scale), 0.5)), scale)
    return _results_or_null(pc.if_else(pc.less(numbers, 0.0), pc.negate(size), size), [])


def _each_row(function: Function, result: pa.DataType, columns: list[pa.Array]) -> pa.Array:
    """A function of each row, called once for each combination of values."""
    present = functools.reduce(pc.and_, (column.is_valid() for column in columns))
    numbers = np.zeros(pc.sum(present).as_py() or 0, dtype=np.int64)
    for column in columns:
        encoded = column.filter(present).dictionary_encode()
        numbers *= len(encoded.dictionary) + 1  # They stay below the number of rows, squared.
        _, numbers = np.unique(numbers + encoded.indices.to_numpy(), return_inverse=True)
    _, rows = np.unique(numbers, return_index=True)
    given = [column.filter(present).take(pa.array(rows)).to_pylist() for column in columns]
    results: pa.Array = pa.array(map(function, *given), result)
    places: npt.NDArray[np.int64] = np.zeros(len(columns[0]), dtype=np.int64)
    is_present = present.to_numpy(zero_copy_only=False)
    places[is_present] = numbers
    return results.take(pa.array(places, mask=~is_present))


def strings(plain: pa.Array) -> pa.Array:
    """The strings; a column of nulls without a type was read as numbers."""
    return plain.cast(pa.string())


def _constant(column: pa.Array) -> str:
    """The value of an argument that is a literal."""
    return str(column[0].as_py()) if len(column) else ""


def _part_of_date(part: Callable[[pa.Array], pa.Array], times: pa.Array) -> pa.Array:
    return part(_timestamps(times)).cast(pa.int64())


def _truncated(part: str, times: pa.Array) -> pa.Array:
    times = _timestamps(times)
    floored = pc.floor_temporal(times, unit=part.lower() or "day", week_starts_monday=True)
    return floored.cast(pa.timestamp(times.type.unit))


def _timestamps(times: pa.Array) -> pa.Array:
    return times if arrow.is_timestamp(times.type) else times.cast(pa.timestamp("us"))


def of_one_type(arrays: Sequence[pa.Array]) -> list[pa.Array]:
    """Arrays of one type: a column of nulls has the type of the others, as in :func:`plain`."""
    # The type must not depend on the values: another part of the matches has other values. Only
    # integers that are all null may be nulls that had no type.
    types = {
        array.type
        for array in arrays
        if not arrow.is_integer(array.type) or array.null_count < len(array)
    }
    if pa.float64() in types:
        wanted = pa.float64()
    elif len(types) > 1 and all(map(arrow.is_timestamp, types)):
        wanted = pa.timestamp("us")
    else:
        wanted = next(iter(types), arrays[0].type)
    return [
        pa.nulls(len(array), wanted)
        if array.null_count == len(array)
        else array
        if array.type == wanted
        else array.cast(wanted, safe=False)
        for array in arrays
    ]


def _extreme(function: Callable[..., pa.Array], arrays: Sequence[pa.Array]) -> pa.Array:
    """Arrow compares times with a zone in columns, but has no least or greatest of them."""
    arrays = of_one_type(arrays)
    kind = arrays[0].type
    if arrow.is_timestamp(kind) and kind.tz is not None:
        arrays = [each.cast(pa.timestamp(kind.unit)) for each in arrays]
    return function(*arrays, skip_nulls=False).cast(kind)


def _nullif(values: pa.Array, others: pa.Array) -> pa.Array:
    return pc.if_else(pc.not_equal(values, others), values, pa.scalar(None, values.type))


def _results_or_null(results: pa.Array, arguments: list[pa.Array]) -> pa.Array:
    """Results with null where there is none, such as sqrt(-1) and ln(0)."""
    results = without_nan(results)
    if not arrow.is_floating(results.type):
        return results
    explained = pc.is_finite(results)
    for argument in arguments:
        if arrow.is_floating(argument.type):
            explained = pc.or_(explained, pc.is_inf(argument))
    return pc.if_else(explained, results, pa.scalar(None, results.type))


def _fitting(sizes: pa.Array) -> pa.Array:
    """The absolute values of integers, with null for the one that does not fit into 64 bits."""
    return pc.if_else(pc.less(sizes, 0), pa.scalar(None, sizes.type), sizes)
