"""Scalar functions that a condition or RETURN may call.

A function gets plain values and never null: the result for a null argument is null. A call without
a result (``sqrt(-1)``, ``ln(0)``) gives null too, like a division by zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cepheid.schema import Kind


@dataclass(frozen=True, slots=True)
class Compiled:
    """A registered function in native code, for arguments of certain kinds.

    Generated code finds it by its key. ``call`` gives a value and whether there is one;
    a function that ``changes_lists`` has to be called with copies.
    """

    key: str
    result: Kind
    changes_lists: bool
    call: Callable[..., tuple[Any, bool]]


class Uncallable(Exception):
    """A registered function does not accept arguments of these kinds; the message says why."""


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function: its parameters, its result, and how Python computes it.

    ``parameter`` is the kind of every argument (FLOAT for any number, UNKNOWN for any kind);
    ``result`` is None if the result has the kind of the arguments. Registered functions also have
    ``compile``, which gives the native code for the kinds of the arguments.
    """

    name: str
    python: Callable[..., Any]
    least_arguments: int
    most_arguments: int | None
    parameter: Kind
    result: Kind | None
    compile: Callable[[tuple[Kind, ...]], Compiled] | None = None

    def takes(self, count: int) -> bool:
        """Whether it can be called with this number of arguments."""
        most = self.most_arguments
        return self.least_arguments <= count and (most is None or count <= most)

    def __call__(self, *arguments: Any) -> Any:
        """The result for these arguments; None if an argument is None or there is no result."""
        if any(argument is None for argument in arguments):
            return None
        try:
            result = self.python(*arguments)
        except (ValueError, OverflowError, ZeroDivisionError):
            return None
        return answer(result) if self.compile is None else result


def answer(value: Any) -> Any:
    """The value, or None for NaN and for an integer that does not fit into 64 bits.

    >>> answer(2**63 - 1), answer(2**63), answer(float("inf") - float("inf"))
    (9223372036854775807, None, None)
    """
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else None
    return None if isinstance(value, float) and value != value else value


def _sign(x: float) -> int:
    return (x > 0) - (x < 0)


def _round(x: float, digits: int = 0) -> float:
    # Rounds half away from zero, like SQL; Python rounds half to even.
    scale = 10.0**digits
    return math.copysign(math.floor(abs(x) * scale + 0.5) / scale, x)


def _number(
    name: str,
    python: Callable[..., Any],
    result: Kind | None = Kind.FLOAT,
    least: int = 1,
    most: int | None = 1,
) -> Function:
    return Function(name, python, least, most, Kind.FLOAT, result)


def _string(name: str, python: Callable[[str], Any], result: Kind = Kind.STRING) -> Function:
    return Function(name, python, 1, 1, Kind.STRING, result)


BUILT_IN: dict[str, Function] = {
    function.name: function
    for function in (
        _number("abs", abs, result=None),
        _number("sign", _sign, result=Kind.INTEGER),
        _number("floor", math.floor, result=Kind.INTEGER),
        _number("ceil", math.ceil, result=Kind.INTEGER),
        _number("round", _round, most=2),
        _number("sqrt", math.sqrt),
        _number("exp", math.exp),
        _number("ln", math.log),
        _number("log10", math.log10),
        _number("power", math.pow, least=2, most=2),
        _number("least", min, result=None, least=2, most=None),
        _number("greatest", max, result=None, least=2, most=None),
        _string("lower", str.lower),
        _string("upper", str.upper),
        _string("length", len, result=Kind.INTEGER),
    )
}


REGISTERED: dict[str, Function] = {}
"""The functions that the program has registered."""


def find_function(name: str) -> Function | None:
    """The function with this name; names of built-in functions are not case-sensitive.

    >>> find_function("ABS")(-3)
    3
    >>> find_function("sqrt")(-1) is None
    True
    >>> find_function("nothing") is None
    True
    """
    return BUILT_IN.get(name.lower()) or REGISTERED.get(name)


def function_names() -> tuple[str, ...]:
    """The names of all functions, in alphabetical order."""
    return tuple(sorted((*BUILT_IN, *REGISTERED)))
