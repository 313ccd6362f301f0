"""Expressions over whole columns: the value of an expression for many bindings in one call.

The results are those of :mod:`cepheid.reference.interpreter`; tests compare the two. The caller
supplies the values of attributes, elements and aggregates for each binding, and says where there
is none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.errors import EvaluationError, EventError
from cepheid.events.columns.arrow_arrays import plain_decimals
from cepheid.events.columns.registered_calls import call_for_rows
from cepheid.events.columns.string_functions import TESTS, in_case
from cepheid.functions import Function, find_function
from cepheid.language import syntax as ast
from cepheid.language.units import NANOSECONDS_PER
from cepheid.schema import Kind

Bools = npt.NDArray[np.bool_]

Leaf = ast.Attribute | ast.Element | ast.Length | ast.Aggregate | ast.Elements | ast.EventReference

_COMPARE = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_NUMBERS = (
    (pa.int64(), pa.int64()), (pa.float64(), pa.float64()), (pa.float64(), pa.int64()),
)  # fmt: skip
"""The types of columns and constants that are compared without a change of the column."""
_ARITHMETIC = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_FUNCTIONS: dict[str, Callable[..., pa.Array]] = {
    "abs": lambda x: _fitting(pc.abs(x)) if arrow.is_integer(x.type) else pc.abs(x),
    "sign": lambda x: pc.cast(pc.sign(x), pa.int64()),
    "floor": lambda x: x if arrow.is_integer(x.type) else _whole(pc.floor(x)),
    "ceil": lambda x: x if arrow.is_integer(x.type) else _whole(pc.ceil(x)),
    "sqrt": lambda x: pc.sqrt(_float(x)),
    "exp": lambda x: pc.exp(_float(x)),
    "ln": lambda x: pc.ln(_float(x)),
    "log10": lambda x: pc.log10(_float(x)),
    "power": lambda x, y: pc.power(_float(x), _float(y)),
    "least": lambda *xs: _extreme(pc.min_element_wise, xs),
    "greatest": lambda *xs: _extreme(pc.max_element_wise, xs),
    "lower": lambda x: in_case("lower", _strings(x)),
    "upper": lambda x: in_case("upper", _strings(x)),
    "length": lambda x: pc.cast(pc.utf8_length(_strings(x)), pa.int64()),
    "concat": lambda *xs: pc.binary_join_element_wise(*map(_strings, xs), pa.scalar("")),
    "regexp_like": lambda x, pattern: pc.match_substring_regex(_strings(x), _constant(pattern)),
    "minute": lambda x: _part_of_date(pc.minute, x),
    "hour": lambda x: _part_of_date(pc.hour, x),
    "day": lambda x: _part_of_date(pc.day, x),
    "weekday": lambda x: _part_of_date(partial(pc.day_of_week, count_from_zero=False), x),
    "month": lambda x: _part_of_date(pc.month, x),
    "year": lambda x: _part_of_date(pc.year, x),
    "date_trunc": lambda part, x: _truncated(_constant(part), x),
    "coalesce": lambda *xs: pc.coalesce(*_of_one_type(xs)),
    "nullif": lambda x, y: _nullif(*_of_one_type((x, y))),
}
"""Functions over columns; other functions of strings are called once for each combination."""
_ARROW = {Kind.STRING: pa.string(), Kind.BOOLEAN: pa.bool_(), Kind.INTEGER: pa.int64()}


class Vectorised:
    """Evaluates expressions for ``length`` bindings.

    ``resolve`` gives the values of a leaf, and ``missing`` says where the leaf does not exist;
    None if it exists everywhere.
    """

    def __init__(
        self,
        length: int,
        resolve: Callable[[Leaf], pa.Array],
        missing: Callable[[Leaf], Bools] | None = None,
    ) -> None:
        self._length = length
        self._resolve = resolve
        self._is_missing = missing

    def value(self, node: ast.Expression) -> pa.Array:
        """The value of the expression for each binding."""
        if isinstance(node, Leaf):
            return self._resolve(node)
        match node:
            case ast.Literal(literal):
                return pa.repeat(pa.scalar(literal), self._length)
            case ast.Duration(amount, unit):
                return pa.repeat(_duration(int(amount * NANOSECONDS_PER[unit])), self._length)
            case ast.Negative(operand):
                value = self.value(operand)
                if arrow.is_null(value.type):
                    return value
                value = _plain(value)
                if arrow.is_integer(value.type):
                    return _arithmetic("-", pa.repeat(pa.scalar(0), len(value)), value)
                return pc.negate(value)
            case ast.Arithmetic(operator, left, right):
                return _arithmetic(operator, self.value(left), self.value(right))
            case ast.Call(function, (string, ast.Literal(str(part)))) if function in TESTS:
                return TESTS[function](_strings(_plain(self.value(string))), part)
            case ast.Call(function, arguments):
                values = [self.value(argument) for argument in arguments]
                return self._call(function, list(map(_in_zone, arguments, values)))
            case ast.Field(operand, name):
                return pc.struct_field(self.value(operand), name)
            case ast.Item(operand, number):
                return _elements_of(self.value(operand), number)
            case ast.Case(branches):
                result, *others = _of_one_type([_plain(self.value(v)) for v in node.values[::-1]])
                for (condition, _), value in zip(branches[::-1], others, strict=True):
                    taken = self.truth(condition).fill_null(False)
                    result = pc.if_else(taken, value, result)
                return result
            case ast.Not() | ast.And() | ast.Or():
                return self.truth(node)
            case ast.Comparison(operator, left, right):
                return self._compared(operator, self.value(left), right)
            case ast.In(operand, options):
                value = self.value(operand)
                found = (_compare("=", value, self.value(option)) for option in options)
                return functools.reduce(pc.or_kleene, found)
            case ast.Between(operand, low, high):
                value = self.value(operand)
                return pc.and_kleene(
                    self._compared(">=", value, low), self._compared("<=", value, high)
                )
            case ast.Like(operand, pattern):
                # For Arrow, a backslash escapes; in a query it is an ordinary character.
                plain_pattern = pattern.replace("\\", "\\\\")
                return pc.match_like(_strings(_plain(self.value(operand))), plain_pattern)
            case ast.IsNull(operand):
                return pc.is_null(self.value(operand), nan_is_null=True)
        raise AssertionError(f"{type(node).__name__} has no value")

    def _compared(self, operator: str, values: pa.Array, other: ast.Expression) -> pa.Array:
        """Values compared with an expression; a number is not repeated for each of them."""
        match other:
            case ast.Literal(int() | float() as number):
                if (values.type, pa.scalar(number).type) in _NUMBERS:
                    return _COMPARE[operator](without_nan(values), pa.scalar(number, values.type))
        return _compare(operator, values, self.value(other))

    def truth(self, node: ast.Expression, positive: bool = True) -> pa.Array:
        """The truth of the node, or of its negation; a predicate on a missing attribute is true."""
        match node:
            case ast.Not(operand):
                return self.truth(operand, not positive)
            case ast.And(operands) | ast.Or(operands):
                truths = (self.truth(operand, positive) for operand in operands)
                is_and = isinstance(node, ast.And) is positive
                return functools.reduce(pc.and_kleene if is_and else pc.or_kleene, truths)
        value = self.value(node).cast(pa.bool_())  # A call with NULL has no type.
        truth = value if positive else pc.invert(value)
        if self._is_missing is None:
            return truth
        return pc.if_else(self.missing(node), True, truth)

    def missing(self, node: ast.Node) -> Bools:
        """Where an attribute that the value depends on is missing."""
        if isinstance(node, Leaf) and self._is_missing is not None:
            return self._is_missing(node)
        found: Bools = np.zeros(self._length, dtype=np.bool_)
        # A predicate on a missing attribute is true.
        if not isinstance(node, ast.Not | ast.And | ast.Or):
            for child in node.values if isinstance(node, ast.Case) else node.children():
                found |= self.missing(child)
        return found

    def _call(self, function: str, arguments: list[pa.Array]) -> pa.Array:
        if function == "round":
            return _rounded(*arguments)
        found = find_function(function)
        if found is not None and found.compile is not None:
            return call_for_rows(found, arguments, self._length)
        plain = [_plain(argument) for argument in arguments]
        if function in _FUNCTIONS:
            results = _FUNCTIONS[function](*plain)
            return results if function == "coalesce" else _answers(results, plain)
        if found is None or found.result not in _ARROW:
            raise EvaluationError(f"the function '{function}' cannot be computed over columns")
        return _each(found, _ARROW[found.result], plain)


def _strings(plain: pa.Array) -> pa.Array:
    """The strings; a column of nulls without a type was read as numbers."""
    return plain.cast(pa.string())


def _each(function: Function, result: pa.DataType, columns: list[pa.Array]) -> pa.Array:
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


def _elements_of(lists: pa.Array, number: int) -> pa.Array:
    """An element of each list, from 1; null beyond the end."""
    if arrow.is_fixed_size_list(lists.type):
        lists = lists.cast(pa.list_(lists.type.value_type))
    if arrow.is_null(lists.type):
        return lists
    places = lists.offsets.cast(pa.int64())[:-1].to_numpy() + (number - 1)
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    return lists.values.take(pa.array(places, mask=lengths < number))


def _constant(column: pa.Array) -> str:
    """The value of an argument that is a literal."""
    return str(column[0].as_py()) if len(column) else ""


def _in_zone(node: ast.Expression, values: pa.Array) -> pa.Array:
    """Times of a column are in its zone; computed times are in UTC."""
    if isinstance(node, ast.Attribute | ast.Element) or not arrow.is_timestamp(values.type):
        return values
    return values.cast(pa.timestamp(values.type.unit))


def _part_of_date(part: Callable[[pa.Array], pa.Array], times: pa.Array) -> pa.Array:
    return part(_timestamps(times)).cast(pa.int64())


def _truncated(part: str, times: pa.Array) -> pa.Array:
    times = _timestamps(times)
    floored = pc.floor_temporal(times, unit=part.lower() or "day", week_starts_monday=True)
    return floored.cast(pa.timestamp(times.type.unit))


def _timestamps(times: pa.Array) -> pa.Array:
    return times if arrow.is_timestamp(times.type) else times.cast(pa.timestamp("us"))


def _of_one_type(arrays: Sequence[pa.Array]) -> list[pa.Array]:
    """Arrays of one type: a column of nulls has the type of the others, as in :func:`_plain`."""
    types = {array.type for array in arrays if array.null_count < len(array)}
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
    arrays = _of_one_type(arrays)
    kind = arrays[0].type
    if arrow.is_timestamp(kind) and kind.tz is not None:
        arrays = [each.cast(pa.timestamp(kind.unit)) for each in arrays]
    return function(*arrays, skip_nulls=False).cast(kind)


def _nullif(values: pa.Array, others: pa.Array) -> pa.Array:
    return pc.if_else(pc.not_equal(values, others), values, pa.scalar(None, values.type))


def without_nan(array: pa.Array) -> pa.Array:
    """The array with null for NaN."""
    if not arrow.is_floating(array.type):
        return array
    return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)


def _answers(results: pa.Array, arguments: list[pa.Array]) -> pa.Array:
    """Results with null where there is none, such as sqrt(-1) and ln(0)."""
    results = without_nan(results)
    if not arrow.is_floating(results.type):
        return results
    explained = pc.is_finite(results)
    for argument in arguments:
        if arrow.is_floating(argument.type):
            explained = pc.or_(explained, pc.is_inf(argument))
    return pc.if_else(explained, results, pa.scalar(None, results.type))


def _whole(floats: pa.Array) -> pa.Array:
    """Integers, with null for those that do not fit into 64 bits."""
    fits = pc.and_(pc.greater_equal(floats, -(2.0**63)), pc.less(floats, 2.0**63))
    return pc.if_else(fits, floats, pa.scalar(None, pa.float64())).cast(pa.int64())


def _rounded(values: pa.Array, digits: pa.Array | None = None) -> pa.Array:
    # Rounds half away from zero, to a number of digits that may differ by row.
    numbers = _float(_plain(values))
    scale = pc.power(10.0, _float(digits)) if digits is not None else pa.scalar(1.0)
    size = pc.divide(pc.floor(pc.add(pc.multiply(pc.abs(numbers), scale), 0.5)), scale)
    return _answers(pc.if_else(pc.less(numbers, 0.0), pc.negate(size), size), [])


def _arithmetic(operator: str, left: pa.Array, right: pa.Array) -> pa.Array:
    if _has_no_kind(left, right) or _has_no_kind(right, left):
        return pa.nulls(len(left))
    left, right = _plain(left), _plain(right)
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
        error = pc.subtract(apply(_float(left), _float(right)), _float(result))
        return pc.if_else(pc.less(pc.abs(error), 1e18), result, pa.scalar(None, result.type))
    zero = pc.equal(right, 0)
    if operator == "/":
        quotient = pc.divide(_float(left), pc.if_else(zero, 1.0, _float(right)))
    else:
        quotient = _modulo(left, pc.if_else(zero, pa.scalar(1, right.type), right))
    return without_nan(pc.if_else(zero, pa.scalar(None, quotient.type), quotient))


def _duration(nanoseconds: int) -> pa.Scalar:
    """A duration in microseconds, unless it has nanoseconds, which do not reach the year 9999."""
    microseconds, rest = divmod(nanoseconds, 1_000)
    if rest:
        return pa.scalar(nanoseconds, pa.duration("ns"))
    return pa.scalar(microseconds, pa.duration("us"))


def _scaled(operator: str, durations: pa.Array, numbers: pa.Array) -> pa.Array:
    """Durations multiplied or divided by numbers, rounded to the unit of the durations."""
    kind = durations.type if durations.type.unit == "ns" else pa.duration("us")
    scaled = _arithmetic(operator, durations.cast(kind).cast(pa.int64()), numbers)
    whole = _whole(pc.round(scaled)) if arrow.is_floating(scaled.type) else scaled
    return whole.cast(kind)


def _modulo(left: pa.Array, right: pa.Array) -> pa.Array:
    """The remainder with the sign of the divisor, as in Python; Arrow has none."""
    missing = pc.or_(pc.is_null(left), pc.is_null(right)).to_numpy(zero_copy_only=False)
    numbers = [array.fill_null(1).to_numpy(zero_copy_only=False) for array in (left, right)]
    with np.errstate(invalid="ignore"):  # The remainder of infinity is not a number.
        return pa.array(np.mod(*numbers), mask=missing)


def _compare(operator: str, left: pa.Array, right: pa.Array) -> pa.Array:
    if arrow.is_null(left.type) or arrow.is_null(right.type):
        return pa.nulls(len(left), pa.bool_())
    left, right = _plain(left), _plain(right)
    return _applied(_COMPARE[operator], *_alike((_as_time(left, right), _as_time(right, left))))


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


def _plain(array: pa.Array) -> pa.Array:
    """Dictionaries decoded, decimals as plain numbers, NaN as null, numbers in 64 bits."""
    kind = array.type
    if arrow.is_dictionary(kind):
        return _plain(array.dictionary_decode())
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
        return [_float(array) if arrow.is_integer(array.type) else array for array in arrays]
    return list(arrays)


def _float(array: pa.Array) -> pa.Array:
    """As floats; integers above 2**53 become the nearest float."""
    return array.cast(pa.float64(), safe=False)


def _fitting(sizes: pa.Array) -> pa.Array:
    """The absolute values of integers, with null for the one that does not fit into 64 bits."""
    return pc.if_else(pc.less(sizes, 0), pa.scalar(None, sizes.type), sizes)
