"""Names for registered functions, under which their compiled code is cached.

When numba compiles a function, it freezes all that the function refers to: constants, defaults,
variables of an enclosing function, globals, and other compiled functions. All of them are part of
the name, so that cached code is never that of an older version. A value that cannot be hashed is
identified by its address; the name is then valid in this process only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

PASSING = "passing_"
"""The prefix of a name that is valid in this process only."""

_LIBRARIES = ("builtins", "cmath", "math", "numba", "numpy", "operator")
"""Modules with functions that are identified by name; the cache folder depends on versions."""

_KEPT: dict[int, Any] = {}
"""Objects identified by address stay alive, so that the address is not reused."""


def fingerprint(function: FunctionType) -> str:
    """The name of a function: the same for the same code, values and callees.

    >>> def twice(x, by=2): return x * by
    >>> name = fingerprint(twice)
    >>> twice.__defaults__ = (3,)
    >>> fingerprint(twice) == name
    False
    """
    found = _Fingerprint()
    found.add(function)
    digest = found.digest.hexdigest()[:32]
    return f"{PASSING}{digest}" if found.is_passing else digest


@dataclass(slots=True)
class _Fingerprint:
    digest: Any = field(default_factory=hashlib.sha256)
    is_passing: bool = False
    _seen: dict[int, int] = field(default_factory=dict)

    def _say(self, *words: object) -> None:
        for word in words:
            text = repr(word).encode()
            self.digest.update(b"%d:%b" % (len(text), text))

    def add(self, function: FunctionType) -> None:
        """Include a function: its code, and the values of all names that the code uses."""
        if id(function) in self._seen:
            self._say("again", self._seen[id(function)])
            return
        self._seen[id(function)] = len(self._seen)
        code = function.__code__
        self._code(code)
        self._values(function.__defaults__ or ())
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:
                self._say("not yet")
            else:
                self._value(value, code)
        self._named("global", function.__globals__, code)

    def _code(self, code: CodeType) -> None:
        self._say(code.co_code, code.co_names, code.co_varnames, code.co_argcount, code.co_flags)
        self._say(code.co_freevars, code.co_cellvars)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant)
            else:
                self._value(constant, code)

    def _values(self, values: tuple[Any, ...]) -> None:
        self._say("values", len(values))
        for value in values:
            self._value(value, None)

    def _value(self, value: Any, code: CodeType | None) -> None:
        """Include a value; for a module, only the attributes that ``code`` names."""
        compiled = getattr(value, "py_func", None)
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            self._say(type(value).__name__, value)
        elif isinstance(value, tuple | list):
            self._say(type(value).__name__)
            self._values(tuple(value))
        elif isinstance(value, frozenset):
            self._say("set", *sorted(map(repr, value)))
        elif isinstance(value, np.ndarray | np.generic) and value.dtype != object:
            self._say("array", value.dtype.str, value.shape)
            self.digest.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(compiled, FunctionType):
            self._say("compiled", getattr(value, "targetoptions", None))
            self.add(compiled)
        elif isinstance(value, ModuleType):
            self._say("module", value.__name__)
            if code is not None and not _is_library(value.__name__) and id(value) not in self._seen:
                self._seen[id(value)] = len(self._seen)
                self._named("attribute", vars(value), code)
        elif callable(value) and _is_library(getattr(value, "__module__", None) or ""):
            self._say("library", value.__module__, getattr(value, "__qualname__", repr(value)))
        else:
            self.is_passing = True
            _KEPT[id(value)] = value
            self._say("identity", id(value))

    def _named(self, what: str, values: Mapping[str, Any], code: CodeType) -> None:
        """Include the values that ``code`` names."""
        for name in dict.fromkeys(_names(code)):
            if name in values:
                self._say(what, name)
                self._value(values[name], code)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in _LIBRARIES
