"""The decorators that compile kernels and their helpers.

Kernels have explicit signatures, so that an unexpected array type is an error and not a
silent second compilation.
"""

from __future__ import annotations

import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaWarning

from cepheid.cache import first_time
from cepheid.jit import shipped
from cepheid.jit.numba_internals import (
    HELPER_OPTIONS,
    KERNEL_OPTIONS,
    compiled_once_for_all_constants,
    fast_compilation,
    tolerant_cache,
    without_dispatch,
)

_njit: Any = numba.njit

_helper = _njit(inline="never", error_model="numpy", **HELPER_OPTIONS)


def helper(python: Callable[..., Any]) -> Any:
    """A small function that kernels call; compiled as part of them."""
    return compiled_once_for_all_constants(_helper(python))


_inlined = _njit(forceinline=True, error_model="numpy", **HELPER_OPTIONS)


def inlined(python: Callable[..., Any]) -> Any:
    """A helper that is shorter than a call and runs for every event; it is inlined."""
    return compiled_once_for_all_constants(_inlined(python))


small = _njit(forceinline=True, error_model="numpy", **KERNEL_OPTIONS)
"""As :func:`inlined`, but optimised before it is inlined too.

It takes several times as long to compile. The lazy kernels are a tenth faster with it.
"""

array_helper = numba.njit(inline="never", error_model="numpy")
"""A helper that makes an array from an address."""

careful = numba.njit(error_model="python", boundscheck=True)
"""A function that raises where Python would; compiled code has to catch the exception."""


class Compilable(ABC):
    """A kernel as :mod:`cepheid.jit.warming` sees it."""

    module: str

    @abstractmethod
    def compile(self, into: Path | None = None) -> int:
        """Compile it or load it from disk; the number of loops that are ready now.

        With a folder, the code is also stored there, for a wheel.
        """


class _Kernel(Compilable):
    """A loop that is compiled, or loaded from disk, when it is first called.

    A query needs few of all kernels. If several processes need one, only one compiles it.
    """

    def __init__(self, signature: Any, python: Callable[..., Any]) -> None:
        self._signature = signature
        self._python = python
        self._code: Callable[..., Any] = self._first_call
        self._task = f"{python.__module__}.{python.__name__}{signature}"
        self.module = python.__module__
        self.__doc__ = python.__doc__

    def __call__(self, *arguments: Any) -> Any:
        return self._code(*arguments)

    def compile(self, into: Path | None = None) -> int:
        """Compile it or load it from disk; code for a wheel is always compiled."""
        if into is None:
            return int(self._compiled is not None)
        with fast_compilation():
            shipped.save(self._task, self._decorate(self._signature)(self._python), into)
        return 1

    def _first_call(self, *arguments: Any) -> Any:
        """Numba compares the types of the arguments with the signature; later they are known."""
        result = self._compiled(*arguments)
        self._code = without_dispatch(self._compiled)
        return result

    @cached_property
    def _compiled(self) -> Any:
        code = self._decorate()(self._python)
        if shipped.load(self._task, code):
            return code
        with first_time(self._task) as is_first, fast_compilation():
            if is_first:
                _announce_compilation()
            return self._decorate(self._signature, cache=True)(self._python)

    def _decorate(self, *signature: Any, **caching: bool) -> Any:
        return _njit(*signature, nogil=True, error_model="numpy", **KERNEL_OPTIONS, **caching)


@cache
def _announce_compilation() -> None:
    if sys.stderr.isatty():
        message = "cepheid compiles what this query needs, once per version: up to 15 seconds"
        print(message, file=sys.stderr)


def kernel(signature: Any) -> Callable[[Callable[..., Any]], _Kernel]:
    """A compiled loop with a fixed signature, cached on disk; no index in it may be negative."""
    return partial(_Kernel, signature)


class _KernelOfWidths(Compilable):
    """The same loop for 4-byte and for 8-byte positions; each is compiled when it is needed."""

    def __init__(self, signature_of: Callable[..., Any], python: Callable[..., Any]) -> None:
        signatures = {
            np.dtype(width): signature_of(array_of(width), array_of(width, 2))
            for width in (np.int32, np.int64)
        }
        self._kernels = {width: _Kernel(each, python) for width, each in signatures.items()}
        narrow, wide = (each.args for each in signatures.values())
        self._position_argument = [a == b for a, b in zip(narrow, wide, strict=True)].index(False)
        self.module = python.__module__
        self.__doc__ = python.__doc__

    def compile(self, into: Path | None = None) -> int:
        """Compile it for both widths."""
        return sum(each.compile(into) for each in self._kernels.values())

    def __call__(self, *arguments: Any) -> Any:
        return self._kernels[arguments[self._position_argument].dtype](*arguments)


def kernel_of_widths(
    signature_of: Callable[[types.Array, types.Array], Any],
) -> Callable[[Callable[..., Any]], _KernelOfWidths]:
    """A kernel for arrays of positions: int32, or int64 where 32 bits are too few.

    ``signature_of`` makes the signature, given the types of a 1-d and a 2-d array of positions.
    """
    return partial(_KernelOfWidths, signature_of)


def array_of(dtype: Any, dimensions: int = 1) -> types.Array:
    """The type of a contiguous array, for a kernel's signature."""
    return types.Array(numba.from_dtype(np.dtype(dtype)), dimensions, "C")


def type_of(arrays: Any) -> Any:
    """The type of a NamedTuple of arrays, for a kernel's signature.

    Its fields have empty arrays as defaults, and those tell their types:

    >>> from typing import NamedTuple
    >>> class Runs(NamedTuple):
    ...     starts: Any = np.zeros(0, np.int64)
    ...     values: Any = np.zeros((0, 0), np.float64)
    >>> type_of(Runs)
    Runs(array(int64, 1d, C), array(float64, 2d, C))
    """
    return numba.typeof(arrays())


I64 = types.int64
I64S = array_of(np.int64)
I32S = array_of(np.int32)
I64S_2D = array_of(np.int64, 2)
F64S = array_of(np.float64)


_KEPT: list[Any] = []


def c_function(python: Callable[..., Any], cached: bool = True) -> int:
    """The address of a predicate compiled to ``int64(int64, int64, int64, int64)``.

    Numba cannot cache some code, such as code that reads a large global array. Every process
    compiles it again.
    """
    signature = I64(I64, I64, I64, I64)
    with warnings.catch_warnings(), tolerant_cache():
        warnings.filterwarnings("ignore", "Cannot cache", NumbaWarning)
        compiled = numba.cfunc(signature, cache=cached, error_model="numpy")(python)
    _KEPT.append(compiled)  # its code lives as long as this object
    address = compiled.address
    assert address is not None
    return int(address)
