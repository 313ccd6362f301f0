"""Scalar functions that a condition or RETURN may call.

A function gets plain values and never null: the result for a null argument is null, but for
coalesce. A call without a result (``sqrt(-1)``, ``ln(0)``) gives null too, like a division by zero.
"""

from __future__ import annotations

import functools
import ipaddress
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from cepheid.errors import list_words
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

    ``parameters`` are the kinds of the arguments, the last one for all that follow (FLOAT for any
    number, TIMESTAMP for any point in time, UNKNOWN for any kind); ``result`` is None if the result
    has the kind of the arguments, which is then the same. Registered functions also have
    ``compile``, which gives the native code for the kinds of the arguments. The argument with the
    number ``constant`` is a literal, and ``check`` tells what is wrong with it.
    """

    name: str
    python: Callable[..., Any]
    least_arguments: int
    most_arguments: int | None
    parameters: tuple[Kind, ...]
    result: Kind | None
    compile: Callable[[tuple[Kind, ...]], Compiled] | None = None
    takes_null: bool = False
    constant: int | None = None
    check: Callable[[str], str | None] = lambda _: None

    def parameter(self, number: int) -> Kind:
        """The kind of an argument."""
        return self.parameters[min(number, len(self.parameters) - 1)]

    def takes(self, count: int) -> bool:
        """Whether it can be called with this number of arguments."""
        most = self.most_arguments
        return self.least_arguments <= count and (most is None or count <= most)

    def __call__(self, *arguments: Any) -> Any:
        """The result for these arguments; None if an argument is None or there is no result."""
        if not self.takes_null and any(argument is None for argument in arguments):
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
    return Function(name, python, least, most, (Kind.FLOAT,), result)


def _string(
    name: str, python: Callable[..., Any], result: Kind = Kind.STRING, strings: int = 1
) -> Function:
    return Function(name, python, strings, strings, (Kind.STRING,), result)


def _time(name: str, python: Callable[[date], int]) -> Function:
    return Function(name, python, 1, 1, (Kind.TIMESTAMP,), Kind.INTEGER)


_WHITESPACE = " \t\n\r\f\v"


def _substring(string: str, start: int, length: int | None = None) -> str:
    low = start - 1
    high = len(string) if length is None else low + max(length, 0)
    return string[max(low, 0) : max(high, 0)]


def _nullif(value: Any, other: Any) -> Any:
    if isinstance(value, float) or isinstance(other, float):
        return None if float(value) == float(other) else value
    return None if value == other else value


def _matches(string: str, pattern: str) -> Any:
    # Arrow's expressions take linear time; Python's can take exponential time.
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.match_substring_regex(pa.scalar(string, pa.string()), pattern).as_py()


def _check_pattern(pattern: str) -> str | None:
    try:
        _matches("", pattern)
    except ValueError as error:
        return f"is not a regular expression: {error}"
    return None


@functools.lru_cache(maxsize=1000)
def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(text, strict=False)


def _in_network(address: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(address) in _network(network)
    except ValueError:  # no address
        return False


def _check_network(network: str) -> str | None:
    try:
        _network(network)
    except ValueError:
        return "is not a network; write one such as '10.0.0.0/8'"
    return None


DATE_PARTS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
"""What date_trunc can round down to."""


def _check_part(part: str) -> str | None:
    names = list_words(list(DATE_PARTS))
    return None if part.lower() in DATE_PARTS else f"is not a part of a date; they are {names}"


def _truncated(part: str, moment: date) -> datetime:
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    part = part.lower()
    if part == "week":
        moment -= timedelta(days=moment.weekday())
    if part == "quarter":
        moment = moment.replace(month=moment.month - (moment.month - 1) % 3, day=1)
    zeroed: dict[str, int] = {"microsecond": 0}
    parts = ("second", "minute", "hour", "day", "month")
    finer = {"week": 3, "quarter": 4, "year": 5}
    for name in parts[: finer.get(part, parts.index(part) if part in parts else 0)]:
        zeroed[name] = int(name in ("day", "month"))
    return moment.replace(**zeroed)  # type: ignore[arg-type]


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
        Function("least", min, 2, None, (Kind.UNKNOWN,), None),
        Function("greatest", max, 2, None, (Kind.UNKNOWN,), None),
        _string("lower", str.lower),
        _string("upper", str.upper),
        _string("length", len, result=Kind.INTEGER),
        _string("trim", lambda string: string.strip(_WHITESPACE)),
        _string("replace", str.replace, strings=3),
        _string("starts_with", str.startswith, Kind.BOOLEAN, strings=2),
        _string("ends_with", str.endswith, Kind.BOOLEAN, strings=2),
        _string("contains", str.__contains__, Kind.BOOLEAN, strings=2),
        Function("concat", lambda *strings: "".join(strings), 1, None, (Kind.STRING,), Kind.STRING),
        Function("substring", _substring, 2, 3, (Kind.STRING, Kind.INTEGER), Kind.STRING),
        Function(
            "regexp_like",
            _matches,
            2,
            2,
            (Kind.STRING,),
            Kind.BOOLEAN,
            constant=1,
            check=_check_pattern,
        ),
        Function(
            "in_network",
            _in_network,
            2,
            2,
            (Kind.STRING,),
            Kind.BOOLEAN,
            constant=1,
            check=_check_network,
        ),
        _time("minute", lambda moment: getattr(moment, "minute", 0)),
        _time("hour", lambda moment: getattr(moment, "hour", 0)),
        _time("day", lambda moment: moment.day),
        _time("weekday", date.isoweekday),
        _time("month", lambda moment: moment.month),
        _time("year", lambda moment: moment.year),
        Function(
            "date_trunc",
            _truncated,
            2,
            2,
            (Kind.STRING, Kind.TIMESTAMP),
            Kind.TIMESTAMP,
            constant=0,
            check=_check_part,
        ),
        Function("nullif", _nullif, 2, 2, (Kind.UNKNOWN,), None),
        Function(
            "coalesce",
            lambda *values: next((value for value in values if value is not None), None),
            1,
            None,
            (Kind.UNKNOWN,),
            None,
            takes_null=True,
        ),
    )
}


EXTREMES = ("least", "greatest")
"""The functions that order their arguments."""

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
