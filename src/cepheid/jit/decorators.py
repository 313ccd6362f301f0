"""The one place that knows how kernels are compiled and where compiled code is kept.

Kernels have explicit signatures, so that an unexpected array type is an error and not a
silent second compilation. Numba notices a change of a kernel's own file, but not of a helper
in another module; the cache folder is therefore named after all kernel sources.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaWarning
from numba.np import arrayobj

from cepheid.jit.file_lock import locked
from cepheid.jit.quick_compilation import (
    PartCompiler,
    of_any_value,
    operators_remembered,
)


def cache_folder() -> Path:
    """Where compiled code is kept: CEPHEID_CACHE_DIR, or the user's cache folder."""
    package = Path(__file__).parents[1]
    sources = {
        *package.glob("jit/*.py"),
        *package.rglob("kernels/*.py"),
        *package.rglob("*layout.py"),
    }
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(source.read_bytes())
    digest.update(f"{numba.__version__} {np.__version__} {sys.version}".encode())
    return _cache_root() / digest.hexdigest()[:16]


def _cache_root() -> Path:
    given = os.environ.get("CEPHEID_CACHE_DIR")
    if given:
        return Path(given)
    home_cache = os.environ.get("XDG_CACHE_HOME")
    root = (Path(home_cache) if home_cache else Path.home() / ".cache") / "cepheid"
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.gettempdir()) / f"cepheid-{os.getuid()}"
    return root


FOLDER = cache_folder()
FOLDER.mkdir(parents=True, exist_ok=True)
setattr(numba.config, "CACHE_DIR", str(FOLDER))  # noqa: B010 - not a declared name

# Kernels own no memory, so that nothing in them needs counting references; numba would count
# them at every call that passes an array, at several times the cost of the work itself.
_njit: Any = numba.njit
_PLAIN = {"error_model": "numpy", "_nrt": False}

_helper = _njit(
    inline="never",
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
    pipeline_class=PartCompiler,
    **_PLAIN,
)


def helper(python: Callable[..., Any]) -> Any:
    """A small function that kernels call; compiled as part of them."""
    return of_any_value(_helper(python))


small = _njit(forceinline=True, **_PLAIN)
"""The same for one that is short and on the way of every event: a call would cost more than it."""

array_helper = numba.njit(inline="never", error_model="numpy")
"""The same for one that makes an array of memory that it is given."""

careful = numba.njit(error_model="python", boundscheck=True)
"""A function that raises where Python would; what it raises has to be caught in compiled code."""


@contextmanager
def _indices_from_zero() -> Iterator[None]:
    """What is compiled in here counts no index from the end of an array.

    Numba would test every index for being negative, at up to a third of the cost of a kernel.
    """
    known = arrayobj.fix_integer_index

    def as_it_is(context: Any, builder: Any, index_type: Any, index: Any, _size: Any) -> Any:
        return context.cast(builder, index, index_type, types.intp)

    with global_compiler_lock:
        arrayobj.fix_integer_index = as_it_is
        try:
            yield
        finally:
            arrayobj.fix_integer_index = known


class _Kernel:
    """A loop that is compiled, or read from disk, when it is called first.

    A query needs few of all kernels. Of several processes that need one at once one compiles it.
    """

    def __init__(self, signature: Any, python: Callable[..., Any]) -> None:
        self._signature = signature
        self._python = python
        self.__doc__ = python.__doc__

    def __call__(self, *arguments: Any) -> Any:
        return self._compiled(*arguments)

    @cached_property
    def _compiled(self) -> Callable[..., Any]:
        decorate = _njit(self._signature, cache=True, nogil=True, **_PLAIN)
        lock = FOLDER / f"{self._python.__module__}.{self._python.__name__}.lock"
        if not lock.exists():
            _tell_once()
        with locked(lock), _indices_from_zero(), operators_remembered():
            compiled: Callable[..., Any] = decorate(self._python)
        return compiled


@cache
def _tell_once() -> None:
    if sys.stderr.isatty():
        text = "cepheid compiles what this query needs, once for this version: up to 15 seconds"
        print(text, file=sys.stderr)


def kernel(signature: Any) -> Callable[[Callable[..., Any]], _Kernel]:
    """A compiled loop with a fixed signature, kept on disk; no index in it is negative."""
    return partial(_Kernel, signature)


class _KernelOfWidths:
    """The same loop for positions of four bytes and of eight; each is compiled when needed."""

    def __init__(self, signature_of: Callable[..., Any], python: Callable[..., Any]) -> None:
        signatures = {
            np.dtype(width): signature_of(array_of(width), array_of(width, 2))
            for width in (np.int32, np.int64)
        }
        self._kernels = {width: _Kernel(each, python) for width, each in signatures.items()}
        narrow, wide = (each.args for each in signatures.values())
        self._told_by = [a == b for a, b in zip(narrow, wide, strict=True)].index(False)
        self.__doc__ = python.__doc__

    def __call__(self, *arguments: Any) -> Any:
        return self._kernels[arguments[self._told_by].dtype](*arguments)


def kernel_of_widths(
    signature_of: Callable[[types.Array, types.Array], Any],
) -> Callable[[Callable[..., Any]], _KernelOfWidths]:
    """A kernel for positions, whose arrays are of int32, or of int64 where these are too few.

    ``signature_of`` makes the signature of the types of a row of positions, and of several rows.
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
F64S_2D = array_of(np.float64, 2)


_KEPT: list[Any] = []


def c_function(python: Callable[..., Any], cached: bool = True) -> int:
    """The address of a predicate compiled to ``int64(int64, int64, int64, int64)``.

    What numba cannot keep on disk, such as code that reads a large global array, is compiled
    again in every process.
    """
    signature = I64(I64, I64, I64, I64)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Cannot cache", NumbaWarning)
        compiled = numba.cfunc(signature, cache=cached, error_model="numpy")(python)
    _KEPT.append(compiled)  # its code lives as long as this object
    address = compiled.address
    assert address is not None
    return int(address)
