"""Registered functions: user functions that are checked, compiled, and called from Python."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import partial
from hashlib import blake2b
from itertools import islice, product
from types import FunctionType
from typing import Any, TypeVar, overload

from cepheid.aggregates import AGGREGATES
from cepheid.errors import OptionError
from cepheid.functions import BUILT_IN, REGISTERED, Compiled, Function, Uncallable
from cepheid.language.parser import KEYWORDS, STRATEGIES
from cepheid.schema import Kind

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])

_LETTERS = {
    Kind.INTEGER: "i",
    Kind.FLOAT: "f",
    Kind.BOOLEAN: "b",
    Kind.STRING: "i",
    Kind.TIMESTAMP: "i",
    Kind.DATE: "i",
    Kind.DURATION: "i",
    Kind.LIST: "l",
}
_RESULTS = {"i": Kind.INTEGER, "f": Kind.FLOAT, "b": Kind.BOOLEAN}
_MOST_TRIED = 40
_MICROSECOND = timedelta(microseconds=1)

_COMPILED: dict[str, Compiled] = {}


@overload
def register_function(name: str, python_function: AnyFunction) -> AnyFunction: ...
@overload
def register_function(name: str) -> Callable[[AnyFunction], AnyFunction]: ...
def register_function(name: str, python_function: Any = None) -> Any:
    """Register a function that queries can call in WHERE and in RETURN; also a decorator.

    numba compiles it for the kinds of argument that a query passes. Numbers are int64 or float64,
    booleans bool, points in time and durations int64 microseconds, and lists arrays of float64 (a
    missing element is NaN). A string is an int64 code that can only be compared with another
    string for equality. The result is a number or a boolean. It is null if an argument is null, or
    if the function raises, returns None, or returns a number that is not finite.

    A function that was registered under the same name is replaced.

    Raises:
        OptionError: the name cannot be that of a function, or numba cannot compile it.

    Example::

        @cep.register_function("distance")
        def distance(x, y, u, v):
            return math.hypot(x - u, y - v)

        cep.query("PATTERN SEQ(Car a, Car b) WHERE distance(a.x, a.y, b.x, b.y) < 5")
    """
    _check_name(name)
    if python_function is None:
        return partial(register_function, name)
    plain = _plain_function(name, python_function)
    least, most = _arity(name, plain)
    _check_compiles(name, plain)
    REGISTERED[name] = Function(
        name,
        partial(_call, plain),
        least,
        most,
        (Kind.UNKNOWN,),
        Kind.UNKNOWN,
        partial(_compile, plain),
    )
    return python_function


def registered_python(name: str) -> FunctionType | None:
    """The Python function registered under this name, to register it in another process."""
    found = REGISTERED.get(name)
    if found is None:
        return None
    python = found.python
    assert isinstance(python, partial)
    plain: FunctionType = python.args[0]
    return plain


# --- what can be registered


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.isidentifier():
        raise OptionError(
            f"{name!r} cannot be the name of a function: a name is a word of letters, digits and "
            "underscores"
        )
    taken = {
        "a built-in function": BUILT_IN,
        "an aggregate": tuple(AGGREGATES),
        "a word of the language": (*map(str.lower, KEYWORDS), *STRATEGIES),
    }
    for what, names in taken.items():
        if name.lower() in names:
            raise OptionError(f"{name!r} is {what} already; register the function as another name")


def _plain_function(name: str, given: Any) -> FunctionType:
    plain = getattr(given, "py_func", given)  # numba recompiles it for each query
    if isinstance(plain, FunctionType) and not inspect.iscoroutinefunction(plain):
        return plain
    if not callable(given):
        raise OptionError(f"{name!r} is registered as {given!r}, which is not a function")
    raise OptionError(
        f"{name!r} is registered as {given!r}; numba compiles functions that are written in "
        "Python, with def or lambda; such a function may call others if they have @numba.njit"
    )


def _arity(name: str, function: FunctionType) -> tuple[int, int]:
    """The minimum and maximum number of arguments."""
    code = function.__code__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount:
        raise OptionError(
            f"{name!r} takes any number of arguments, or keyword arguments; a function of a "
            "query has a fixed list of arguments"
        )
    return code.co_argcount - len(function.__defaults__ or ()), code.co_argcount


def _check_compiles(name: str, function: FunctionType) -> None:
    """Refuse a function that numba cannot compile for numbers, lists, or a mix of both."""
    count = function.__code__.co_argcount
    for_numbers, for_lists = (_refusal(function, letter * count) for letter in "fl")
    if for_numbers is None or for_lists is None:
        return
    if for_numbers == for_lists:
        raise OptionError(f"{name!r} cannot be compiled: {for_numbers}")
    mixed = islice(product("lif", repeat=count), _MOST_TRIED)
    if all(_refusal(function, "".join(letters)) is not None for letters in mixed):
        raise OptionError(
            f"{name!r} cannot be compiled\nfor numbers: {for_numbers}\nfor lists: {for_lists}"
        )


def _refusal(function: FunctionType, letters: str) -> str | None:
    try:
        _native(function, letters)
    except Uncallable as reason:
        return str(reason)
    return None


# --- native code


def _compile(function: FunctionType, kinds: tuple[Kind, ...]) -> Compiled:
    """The native code for arguments of these known kinds."""
    return _native(function, "".join(_LETTERS[kind] for kind in kinds))


def _native(function: FunctionType, letters: str) -> Compiled:
    from cepheid.codegen.fingerprints import fingerprint
    from cepheid.codegen.kernels import registered as kernels

    key = f"{fingerprint(function)}_{letters}"
    if key not in _COMPILED:
        try:
            call, result, changes_lists = kernels.compile_function(function, letters)
        except kernels.Refused as reason:
            raise Uncallable(str(reason)) from None
        kernels.offer(key, call)
        _COMPILED[key] = Compiled(key, _RESULTS[result], changes_lists, call)
    return _COMPILED[key]


# --- plain Python, for the reference evaluation


def _call(function: FunctionType, *arguments: Any) -> Any:
    """The result of the function for values of events, none of which is null."""
    import numpy as np

    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            result = function(*map(_as_number, arguments))
    except Exception:  # any exception means: no result
        return None
    if isinstance(result, bool | np.bool_):
        return bool(result)
    if isinstance(result, int | np.integer):
        return int(result)
    if isinstance(result, float | np.floating):
        return float(result) if math.isfinite(result) else None
    return None


def _as_number(value: Any) -> Any:
    """A value of an event as a compiled function sees it."""
    if isinstance(value, str):
        # Fewer than 53 bits, so that it is exact in a list of floats.
        return int.from_bytes(blake2b(value.encode(), digest_size=6).digest(), "big")
    if isinstance(value, list):
        import numpy as np

        numbers = [math.nan if element is None else _as_number(element) for element in value]
        return np.array(numbers, dtype=np.float64)
    if isinstance(value, timedelta):
        return value // _MICROSECOND
    if isinstance(value, date):
        if not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        start = datetime(1970, 1, 1, tzinfo=UTC if value.tzinfo else None)
        return (value - start) // _MICROSECOND
    return value
