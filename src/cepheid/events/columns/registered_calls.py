"""Registered functions over columns: the compiled code is called once for each row.

A call from Python costs about a microsecond. RETURN pays it for each match, and so do conditions on
single events that generated code cannot test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.errors import EvaluationError
from cepheid.events.columns.encoding import EncodedColumn, encode_column
from cepheid.events.columns.list_columns import encode_lists
from cepheid.events.columns.string_codes import StringCodes
from cepheid.functions import Function, Uncallable
from cepheid.schema import Kind, kind_of

_ARROW = {Kind.INTEGER: pa.int64(), Kind.FLOAT: pa.float64(), Kind.BOOLEAN: pa.bool_()}


def call_for_rows(function: Function, arguments: Sequence[pa.Array], length: int) -> pa.Array:
    """The result for each row of the arguments; null if an argument is null or the call fails."""
    assert function.compile is not None
    if any(pa.types.is_null(argument.type) for argument in arguments):
        return pa.nulls(length, pa.float64())
    kinds = tuple(kind_of(argument.type) for argument in arguments)
    if Kind.OTHER in kinds:
        raise EvaluationError(f"{function.name} is called with a value that it cannot take")
    try:
        compiled = function.compile(kinds)
    except Uncallable as reason:
        raise EvaluationError(f"{function.name} cannot be called: {reason}") from None
    strings = StringCodes()
    present = np.ones(length, dtype=np.bool_)
    columns = []
    for argument, kind in zip(arguments, kinds, strict=True):
        encode = encode_lists if kind is Kind.LIST else encode_column
        encoded = encode(argument, strings)
        if encoded.unit == "ns":
            encoded = EncodedColumn(encoded.values // 1_000, encoded.valid)
        if encoded.valid is not None:
            present &= encoded.valid
        columns.append(_python_values(encoded, kind))
    values: list[Any] = [None] * length
    for row, given in enumerate(zip(*columns, strict=True) if columns else [()] * length):
        if present[row]:
            value, is_value = compiled.call(*given)
            if is_value:
                values[row] = value
    return pa.array(values, _ARROW[compiled.result])


def _python_values(column: EncodedColumn, kind: Kind) -> Iterator[Any]:
    if column.offsets is not None:
        offsets = column.offsets.tolist()
        # Each call gets its own array, which it may change.
        return (column.values[low:high].copy() for low, high in pairwise(offsets))
    values = column.values.tolist()
    return map(bool, values) if kind is Kind.BOOLEAN else iter(values)
