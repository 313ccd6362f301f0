"""Registered functions in native code, each for the argument types of a query.

A call never raises: it gives a value and whether there is one. There is none if the function
raises, returns None, or returns a number that is not finite. The function itself is compiled
with the rules of Python, so that a division by zero and an index out of range are exceptions.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba import types
from numba.core.errors import NumbaWarning

from cepheid.jit.decorators import careful

WHOLE, NUMBER, TRUTH, LIST = "i", "f", "b", "l"
"""The types of arguments and results: int64, float64, bool, and an array of float64."""

_SCALARS = {WHOLE: types.int64, NUMBER: types.float64, TRUTH: types.boolean}
_LONGEST_REASON = 200

_COMPILED: dict[str, Any] = {}


class Refused(Exception):
    """numba cannot compile a function for these arguments; the message says why."""


def compile_function(python: FunctionType, arguments: str) -> tuple[Any, str, bool]:
    """The compiled call, the type of its value, and whether the function changes its lists.

    ``arguments`` has a letter for each argument that is passed; the others have defaults. Lists
    are read-only if that compiles. A function that changes a list has to be called with a copy.
    """
    changes_lists = False
    try:
        compiled = _compile(python, arguments, read_only=True)
    except Refused:
        if LIST not in arguments:
            raise
        compiled = _compile(python, arguments, read_only=False)
        changes_lists = True
    given = types.unliteral(compiled.nopython_signatures[0].return_type)
    value = types.unliteral(given.type) if isinstance(given, types.Optional) else given
    results = (
        (types.Boolean, TRUTH, False, _bool),
        (types.Integer, WHOLE, 0, _int),
        (types.Float, NUMBER, 0.0, _float),
    )
    for kind, letter, nothing, convert in results:
        if isinstance(value, kind):
            return _guarded(compiled, nothing, convert), letter, changes_lists
    raise Refused(f"it returns {_name(value)}, not a number or a boolean")


def offer(key: str, compiled: Any) -> None:
    """Let generated code find a compiled call by its key."""
    _COMPILED[key] = compiled


def offered(key: str) -> Any:
    """The compiled call with this key."""
    return _COMPILED[key]


def _compile(python: FunctionType, arguments: str, read_only: bool) -> Any:
    array = types.Array(types.float64, 1, "C", readonly=read_only)
    given = [_SCALARS.get(letter, array) for letter in arguments]
    left_out = python.__code__.co_argcount - len(given)
    defaults = python.__defaults__[-left_out:] if python.__defaults__ and left_out > 0 else ()
    function = careful(python)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumbaWarning)
            function.compile((*given, *map(types.Omitted, defaults)))
    except Exception as error:  # numba also raises errors of Python and of its own parts
        raise Refused(_reason(error, python)) from None
    # From now on arguments are converted to the signature, and nothing is compiled again.
    function.disable_compile()
    return function


def _conversion(wanted: types.Type) -> Any:
    """A function that converts an optional value that is not None to one type."""
    convert = careful(lambda value: value)
    convert.compile((wanted,))
    convert.disable_compile()
    return convert


_float, _int, _bool = map(_conversion, (types.float64, types.int64, types.boolean))


def _guarded(function: Callable[..., Any], nothing: float | bool, convert: Any) -> Any:
    """The call that gives a value and whether there is one; the value is ``nothing`` if not."""

    def call(*arguments):
        value = nothing
        known = False
        try:
            found = function(*arguments)
            if found is not None:
                value = convert(found)
                known = math.isfinite(value)
        except Exception:
            known = False
        return value, known

    return careful(call)


# --- why not


def _name(value: types.Type) -> str:
    names: dict[Any, str] = {
        types.NoneType: "nothing",
        types.UnicodeType: "a string",
        types.Array: "an array",
        types.BaseTuple: "a tuple",
        types.List: "a list",
        types.Generator: "a generator",
        types.Complex: "a complex number",
    }
    return next((name for kind, name in names.items() if isinstance(value, kind)), str(value))


def _reason(error: Exception, python: FunctionType) -> str:
    """The message of numba in one line: the original has pages of candidates and passes."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    place = _line(text, python)
    lines = [line.strip() for line in text.splitlines()]
    said = [line for line in lines if line and not line.startswith("Failed in nopython mode")]
    reason = said[0] if said else type(error).__name__
    signature = next((line for line in said if line.startswith(">>> ")), None)
    if reason.startswith("No implementation of function") and signature is not None:
        reason = f"there is no {signature.removeprefix('>>> ')}"
    reason = re.split(r"\.* ?Raised from ", reason)[0].rstrip(". ")
    reason = re.sub(r"(readonly )?array\(float64, 1d, C\)", "list", reason)
    reason = re.sub(r"Literal\[str\]\((.*?)\)", r"'\1'", reason)
    reason = re.sub(r"Literal\[\w+\]\((.*?)\)", r"\1", reason)
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[:_LONGEST_REASON]}…"
    return f'numba says "{reason}"' + (f" (line {place})" if place is not None else "")


def _line(text: str, python: FunctionType) -> int | None:
    """The line of the function in a message of numba."""
    code = python.__code__
    found = re.findall(r'File "[^"]*", line (\d+)', text)
    found += re.findall(re.escape(code.co_filename) + r" \((\d+)\)", text)
    last = max((line for _, _, line in code.co_lines() if line is not None), default=0)
    inside = [int(line) for line in found if code.co_firstlineno <= int(line) <= last]
    return inside[0] if inside else None
