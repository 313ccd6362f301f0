"""Expressions over whole columns: the value of an expression for many bindings in one call.

The results are those of :mod:`cepheid.reference.interpreter`; tests compare the two. The caller
supplies the values of attributes, elements and aggregates for each binding, and says where there
is none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.events.columns.column_arithmetic import (
    COMPARISONS,
    arithmetic,
    compare,
    duration,
    plain,
    without_nan,
)
from cepheid.events.columns.column_functions import call, of_one_type, strings
from cepheid.events.columns.string_functions import TESTS
from cepheid.language import syntax as ast
from cepheid.language.units import NANOSECONDS_PER

Bools = npt.NDArray[np.bool_]

Leaf = ast.Attribute | ast.Element | ast.Length | ast.Aggregate | ast.Elements | ast.EventReference

_NUMBERS = (
    (pa.int64(), pa.int64()), (pa.float64(), pa.float64()), (pa.float64(), pa.int64()),
)  # fmt: skip
"""The types of columns and constants that are compared without a change of the column."""


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
                return pa.repeat(duration(int(amount * NANOSECONDS_PER[unit])), self._length)
            case ast.Negative(operand):
                value = self.value(operand)
                if arrow.is_null(value.type):
                    return value
                value = plain(value)
                if arrow.is_integer(value.type):
                    return arithmetic("-", pa.repeat(pa.scalar(0), len(value)), value)
                return pc.negate(value)
            case ast.Arithmetic(operator, left, right):
                return arithmetic(operator, self.value(left), self.value(right))
            case ast.Call(function, (string, ast.Literal(str(part)))) if function in TESTS:
                return TESTS[function](strings(plain(self.value(string))), part)
            case ast.Call(function, arguments):
                values = [self.value(argument) for argument in arguments]
                return call(function, list(map(_in_zone, arguments, values)), self._length)
            case ast.Field(operand, name):
                return pc.struct_field(self.value(operand), name)
            case ast.Item(operand, number):
                return _elements_of(self.value(operand), number)
            case ast.Case(branches):
                result, *others = of_one_type([plain(self.value(v)) for v in node.values[::-1]])
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
                found = (self._compared("=", value, option) for option in options)
                return functools.reduce(pc.or_kleene, found)
            case ast.Between(operand, low, high):
                value = self.value(operand)
                return pc.and_kleene(
                    self._compared(">=", value, low), self._compared("<=", value, high)
                )
            case ast.Like(operand, pattern):
                # For Arrow, a backslash escapes; in a query it is an ordinary character.
                plain_pattern = pattern.replace("\\", "\\\\")
                return pc.match_like(strings(plain(self.value(operand))), plain_pattern)
            case ast.IsNull(operand):
                return pc.is_null(self.value(operand), nan_is_null=True)
        raise AssertionError(f"{type(node).__name__} has no value")

    def _compared(self, operator: str, values: pa.Array, other: ast.Expression) -> pa.Array:
        """Values compared with an expression; a constant is not repeated for each of them."""
        match other:
            case ast.Literal(str() as string) if arrow.is_string(values.type):
                return COMPARISONS[operator](values, pa.scalar(string))
            case ast.Literal(int() | float() as number):
                if (values.type, pa.scalar(number).type) in _NUMBERS:
                    return COMPARISONS[operator](
                        without_nan(values), pa.scalar(number, values.type)
                    )
        return compare(operator, values, self.value(other))

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


def _elements_of(lists: pa.Array, number: int) -> pa.Array:
    """An element of each list, from 1; null beyond the end."""
    if arrow.is_fixed_size_list(lists.type):
        lists = lists.cast(pa.list_(lists.type.value_type))
    if arrow.is_null(lists.type):
        return lists
    places = lists.offsets.cast(pa.int64())[:-1].to_numpy() + (number - 1)
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    return lists.values.take(pa.array(places, mask=lengths < number))


def _in_zone(node: ast.Expression, values: pa.Array) -> pa.Array:
    """Times of a column are in its zone; computed times are in UTC."""
    if isinstance(node, ast.Attribute | ast.Element) or not arrow.is_timestamp(values.type):
        return values
    return values.cast(pa.timestamp(values.type.unit))
