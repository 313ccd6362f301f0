"""Access to memory by address, for generated predicates and the kernels that call them.

A predicate is a C function ``int64(predicate_id, context_address, event_ix, run_ix)`` that a
kernel calls by its address. Passing arrays through such a call would cost several times as
much as the predicate itself. The context is one array of addresses instead.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from cepheid.cache import CHECKED


def _pointer(element: types.Type) -> Any:
    def implementation(_typing_context: Any, _address: Any) -> Any:
        signature = types.CPointer(element)(types.int64)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return signature, generate

    return implementation


int64_pointer = intrinsic(_pointer(types.int64))
"""The int64 values at an address."""

float64_pointer = intrinsic(_pointer(types.float64))
"""The float64 values at an address."""

byte_pointer = intrinsic(_pointer(types.uint8))
"""The bytes at an address."""


@intrinsic
def call_predicate(
    _typing_context: Any, _address: Any, _predicate: Any, _context: Any, _event: Any, _run: Any
) -> Any:
    """Call the predicate function at an address."""
    number = types.int64
    signature = number(number, number, number, number, number)

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        function = ir.FunctionType(word, [word] * 4).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], function), arguments[1:])

    return signature, generate


def _check_range(context: Any, builder: Any, array: Any, at: Any, count: Any) -> None:
    """Raise an IndexError if an array lacks some of ``count`` numbers; in a checked build only."""
    if not CHECKED:
        return
    word, high, is_wrong = ir.IntType(64), builder.add(at, count), ir.Constant(ir.IntType(1), 0)
    for low, bound in ((ir.Constant(word, 0), at), (at, high), (high, array.nitems)):
        is_wrong = builder.or_(is_wrong, builder.icmp_signed(">", low, bound))
    with cgutils.if_unlikely(builder, is_wrong):
        context.call_conv.return_user_exc(builder, IndexError, ("numbers are out of bounds",))


@intrinsic
def copy_numbers(
    _typing_context: Any, _target: Any, _target_at: Any, _source: Any, _source_at: Any, _count: Any
) -> Any:
    """Copy ``count`` numbers from an index of one contiguous array to an index of another.

    Both arrays have the same dtype. Indices count through all dimensions.
    """
    number = types.int64
    signature = types.void(_target, number, _source, number, number)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target_type, _, source_type, _, _ = signature.args
        target, target_at, source, source_at, count = arguments
        assert target_type.dtype == source_type.dtype
        into = context.make_array(target_type)(context, builder, target)
        out_of = context.make_array(source_type)(context, builder, source)
        _check_range(context, builder, into, target_at, count)
        _check_range(context, builder, out_of, source_at, count)
        cgutils.raw_memcpy(
            builder,
            cgutils.gep(builder, into.data, target_at),
            cgutils.gep(builder, out_of.data, source_at),
            count,
            target_type.dtype.bitwidth // 8,
        )
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def write_sixteen(_typing_context: Any, _target: Any, _at: Any, _value: Any) -> Any:
    """Write a number sixteen times from an index of a contiguous array on, in one instruction.

    Indices count through all dimensions.
    """
    signature = types.void(_target, types.int64, _target.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target_type = signature.args[0]
        target, at, value = arguments
        array = context.make_array(target_type)(context, builder, target)
        _check_range(context, builder, array, at, ir.Constant(at.type, 16))
        number = value.type
        vector, places = ir.VectorType(number, 16), ir.VectorType(ir.IntType(32), 16)
        nothing = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
        # All elements are element 0.
        sixteen = builder.shuffle_vector(one, nothing, ir.Constant(places, None))
        place = builder.bitcast(cgutils.gep(builder, array.data, at), vector.as_pointer())
        builder.store(sixteen, place, align=number.width // 8)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def highest_bit(_typing_context: Any, _bits: Any) -> Any:
    """The index of the highest bit that is set in a positive int64."""
    signature = types.int64(types.int64)

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        leading = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.sub(ir.Constant(ir.IntType(64), 63), leading)

    return signature, generate
