"""Generated code that reads the context, by the names of its fields.

A generated function calls the context ``context``, the row of the event at hand ``event`` and the
row of the run ``run``. Columns are numbered: COLUMN_0 is the field with the address of the values
of the first one, COLUMN_0_VALID the field with the address of its validity bytes, or 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

FIELD = re.compile(r"\bcontext\[(\w+)\]")
CONSTANT = re.compile(r"\b(?:int64|float64)_pointer\(context_(?:float_)?constants\)\[\d+\]")
KNOWN = re.compile(r"(column_\d+_valid) == 0 or byte_pointer\(\1\)\[event\] != 0")
"""A field, and, where fields have been read into variables, a constant and whether a value is
known."""

_LAYOUT_NAME = re.compile(r"\b(?:CONTEXT|STRINGS)_\w+\b")
_COLUMN_NAME = re.compile(r"\bCOLUMN_(\d+)")


def column_value(column: int, is_float: bool, row: str = "event") -> str:
    """The value of a column in a row."""
    return f"{_pointer(is_float)}(context[COLUMN_{column}])[{row}]"


def column_known(column: int, row: str = "event") -> str:
    """Whether a column has a value in a row."""
    valid = f"context[COLUMN_{column}_VALID]"
    return f"{valid} == 0 or byte_pointer({valid})[{row}] != 0"


def register_value(register: int, is_float: bool) -> str:
    """The value of a register of the run."""
    field = "CONTEXT_FLOATS" if is_float else "CONTEXT_INTS"
    return f"{_pointer(is_float)}(context[{field}])[run * context[{field}_STRIDE] + {register}]"


def register_known(register: int) -> str:
    """Whether a register of the run has a value."""
    return f"(int64_pointer(context[CONTEXT_VALID])[run] >> {register}) & 1 != 0"


def slot(number: int) -> str:
    """The event in a slot of the instance."""
    return f"int64_pointer(context[CONTEXT_SLOTS])[run * context[CONTEXT_SLOTS_STRIDE] + {number}]"


def constant(number: int, is_float: bool) -> str:
    """A constant of the query."""
    field = "CONTEXT_FLOAT_CONSTANTS" if is_float else "CONTEXT_CONSTANTS"
    return f"{_pointer(is_float)}(context[{field}])[{number}]"


def list_value(column: int, event: str) -> str:
    """The list in a column of an event, which is given by its number in the stream."""
    return f"list_at(context[CONTEXT_LISTS], {column}, {event})"


def string_result(operation: str, code: str) -> str:
    """The result of an operation, such as RANK, for the string with a code."""
    return f"string_value(context[CONTEXT_STRINGS], STRINGS_{operation}, {code})"


def imports(lines: Sequence[str]) -> list[str]:
    """The statements that define the names in these lines."""
    code = "\n".join(lines)
    columns = sorted({int(number) for number in _COLUMN_NAME.findall(code)})
    fields = {*_LAYOUT_NAME.findall(code), *(["CONTEXT_COLUMNS"] if columns else [])}
    names = {"cepheid.codegen.layout": sorted(fields)} | {
        module: [name for name in functions if f"{name}(" in code]
        for module, functions in _FUNCTIONS.items()
    }
    found = ["import math"] if "math." in code else []
    for module, used in names.items():
        if used:
            found += [f"from {module} import (", *(f"    {name}," for name in used), ")"]
    for column in columns:
        place = f"CONTEXT_COLUMNS + {2 * column}"
        found += [f"COLUMN_{column} = {place}", f"COLUMN_{column}_VALID = {place} + 1"]
    return found


_FUNCTIONS = {
    "cepheid.engines.base.kernels.context_tables": ("list_at", "string_value"),
    "cepheid.jit.pointers": ("byte_pointer", "float64_pointer", "int64_pointer"),
}


def _pointer(is_float: bool) -> str:
    return "float64_pointer" if is_float else "int64_pointer"
