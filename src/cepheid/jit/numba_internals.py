"""The private parts of numba that make kernels compile sooner and run faster.

This is the only module that uses them. At import it checks that each part still looks as
expected. A part that has changed is not used: kernels are then compiled by plain ``njit``. They
give the same answers, but compile or run more slowly, and a log message says so.
"""

from __future__ import annotations

import inspect
import logging
import operator
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any, cast

import numba
from numba import types

from cepheid.cache import CHECKED, FOLDER, warn_not_stored

setattr(numba.config, "CACHE_DIR", str(FOLDER))  # noqa: B010 - not a declared name

_LOCK = {"numba.core.compiler_lock:global_compiler_lock": None}

_PARTS: dict[str, dict[str, tuple[str, ...] | None]] = {
    "helpers without machine code": {
        "numba.core.codegen:JITCodeLibrary.__init__": ("self", "codegen", "name"),
        "numba.core.codegen:JITCodeLibrary._optimize_final_module": ("self",),
        "numba.core.codegen:JITCodeLibrary._finalize_final_module": ("self",),
        "numba.core.codegen:JITCodeLibrary._finalized": None,
        "numba.core.codegen:JITCodeLibrary.codegen": None,
        "numba.core.compiler:CompilerBase.define_pipelines": ("self",),
        "numba.core.compiler:DefaultPassBuilder.define_nopython_pipeline": ("state", "name"),
    },
    "helpers compiled once for all constants": {
        "numba.core.dispatcher:Dispatcher.get_call_template": ("self", "args", "kws"),
    },
    "a cache that may fail": {
        **_LOCK,
        "numba.core.caching:Cache.load_overload": ("self", "sig", "target_context"),
        "numba.core.caching:Cache.save_overload": ("self", "sig", "data"),
        "numba.core.caching:_CacheLocator.ensure_cache_path": ("self",),
    },
    "operators looked up once": {
        **_LOCK,
        "numba.core.types.functions:BaseFunction.get_call_type": ("self", "context", "args", "kws"),
    },
    "compiled code of the wheel": {
        **_LOCK,
        "numba.core.compiler:CompileResult._reduce": ("self",),
        "numba.core.compiler:CompileResult._rebuild": (
            *("target_context", "libdata", "fndesc", "env", "signature", "objectmode"),
            *("lifted", "typeann", "reload_init", "referenced_envs"),
        ),
        "numba.core.dispatcher:Dispatcher.add_overload": ("self", "cres"),
        "numba.core.serialize:dumps": ("obj",),
    },
    "calls without dispatch": {
        "numba.core.compiler:CompileResult.entry_point": None,
        "numba.core.dispatcher:Dispatcher.add_overload": ("self", "cres"),
    },
    "no negative indices": {
        **_LOCK,
        "numba.np.arrayobj:fix_integer_index": ("context", "builder", "idxty", "idx", "size"),
    },
}
"""What each part needs: a function and its parameters, or an attribute that has none."""


def _is_there(place: str, parameters: tuple[str, ...] | None) -> bool:
    module, _, name = place.partition(":")
    try:
        found = operator.attrgetter(name)(import_module(module))
        return parameters is None or (*inspect.signature(found).parameters,) == parameters
    except (ImportError, AttributeError, TypeError, ValueError):
        return False


@cache
def _has(part: str) -> bool:
    """Whether numba still has all that a part needs."""
    missing = [
        place for place, parameters in _PARTS[part].items() if not _is_there(place, parameters)
    ]
    if missing:
        _log_change(part, missing)
    return not missing


def _log_change(part: str, changed: list[str]) -> None:
    logging.getLogger(__name__).warning(
        "numba %s has changed (%s). cepheid works without %s, but is slower.",
        numba.__version__,
        ", ".join(changed),
        part,
    )


def _known_options(**options: Any) -> dict[str, Any]:
    """The options of ``njit`` without the undocumented ones that this version does not know."""
    try:
        from numba.core.cpu import CPUTargetOptions
    except ImportError:
        known = {}
    else:
        known = {name: value for name, value in options.items() if hasattr(CPUTargetOptions, name)}
    if known != options:
        _log_change("these options", [name for name in options if name not in known])
    return known


# --- calling kernels


def without_dispatch(compiled: Any) -> Callable[..., Any]:
    """The machine code of a function of one signature, to be called without choosing it by types.

    To find out the types of arguments that are tuples of arrays takes numba ten times as long
    as the call itself. Only the number of dimensions and the size of elements is still checked.
    """
    if CHECKED or not _has("calls without dispatch"):
        return cast(Callable[..., Any], compiled)
    (result,) = compiled.overloads.values()
    return cast(Callable[..., Any], result.entry_point)


# --- compiled code of the wheel


def code_as_bytes(compiled: Any) -> bytes | None:
    """The machine code of a function of one signature; None if it cannot be stored."""
    if not _has("compiled code of the wheel"):
        return None
    from numba.core.serialize import dumps

    (result,) = compiled.overloads.values()
    return bytes(dumps(result._reduce()))


def code_from_bytes(dispatcher: Any, data: bytes) -> bool:
    """Let a function that is not compiled run the code; whether that is possible."""
    if not _has("compiled code of the wheel"):
        return False
    from numba.core.compiler import CompileResult
    from numba.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        dispatcher.targetctx.refresh()
        try:
            result = CompileResult._rebuild(dispatcher.targetctx, *pickle.loads(data))
        except Exception:  # Whatever unpickling a damaged file leads to.
            return False
        dispatcher.add_overload(result)
    dispatcher.disable_compile()
    return True


# --- compiling helpers


def _part_compiler() -> type[Any]:
    """A compiler for helpers that stops where a kernel takes over.

    Only kernels call helpers. Numba would optimise a helper with all that it calls and make
    machine code of it. It would do so again for each caller, up to the kernel, which alone runs.
    """
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder

    class Part(JITCodeLibrary):
        """The code of a helper until it becomes part of a kernel."""

        @property
        def codegen(self) -> Any:
            """Ignores where machine code finds its constants: there is no machine code."""
            return SimpleNamespace(set_env=lambda *_: None)

        def _optimize_final_module(self) -> None:
            """The kernel is optimised as a whole."""

        def _finalize_final_module(self) -> None:
            self._finalized = True

    class PartCompiler(CompilerBase):
        """Numba's own passes, with another library for the code."""

        def define_pipelines(self) -> list[Any]:
            state = self.state
            state.library = Part(state.targetctx.codegen(), state.func_id.func_qualname)
            return [DefaultPassBuilder.define_nopython_pipeline(state)]

    return PartCompiler


def compiled_once_for_all_constants(compiled: Any) -> Any:
    """Let a helper be compiled once for each combination of argument types.

    Numba would compile it again for every constant that it is called with, and for every
    variable that starts as one.
    """
    if not _has("helpers compiled once for all constants"):
        return compiled
    template: Callable[..., Any] = compiled.get_call_template

    def without_constants(arguments: Any, keywords: Any) -> Any:
        plain = tuple(types.unliteral(argument) for argument in arguments)
        return template(plain, {name: types.unliteral(kind) for name, kind in keywords.items()})

    compiled.get_call_template = without_constants
    return compiled


# --- compiling kernels


@contextmanager
def _replaced(place: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    """One of numba's functions is replaced for as long as this thread compiles."""
    from numba.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        original = getattr(place, name)
        setattr(place, name, function)
        try:
            yield
        finally:
            setattr(place, name, original)


def _indices_from_zero() -> Any:
    """Compile array accesses without the test whether an index counts from the end.

    The test costs up to a third of the time of a kernel.
    """
    from numba.np import arrayobj

    def as_it_is(context: Any, builder: Any, index_type: Any, index: Any, _size: Any) -> Any:
        return context.cast(builder, index, index_type, types.intp)

    return _replaced(arrayobj, "fix_integer_index", as_it_is)


_operators: dict[Any, Any] = {}


def _operators_remembered() -> Any:
    """Look up the result type of an operator once for each combination of operand types.

    Numba would try dozens of candidates at each ``+`` and each index.
    """
    from numba.core.types.functions import BaseFunction

    look_up = BaseFunction.get_call_type

    def remembered(function: Any, context: Any, arguments: Any, keywords: Any) -> Any:
        name = getattr(function, "typing_key", None)
        if keywords or getattr(name, "__module__", "") != "_operator":
            return look_up(function, context, arguments, keywords)
        key = function, context, tuple(arguments)
        found = _operators.get(key)
        if found is None:
            found = _operators[key] = look_up(function, context, arguments, keywords)
        return found

    return _replaced(BaseFunction, "get_call_type", remembered)


def _tolerant_cache() -> Iterator[Any]:
    """Compile what cannot be read from the cache, and go on if it cannot be stored there.

    Numba would stop at a file that is empty or truncated, at a full disk, and at a folder that
    cannot be written.
    """
    from numba.core.caching import Cache, _CacheLocator

    load, save, ensure = Cache.load_overload, Cache.save_overload, _CacheLocator.ensure_cache_path

    def load_or_not(cache: Any, signature: Any, context: Any) -> Any:
        try:
            return load(cache, signature, context)
        except ImportError:
            raise
        except Exception:  # Whatever unpickling a damaged file leads to.
            with suppress(OSError, AttributeError):
                os.unlink(cache._cache_file._index_path)
            return None

    def save_or_not(cache: Any, signature: Any, data: Any) -> None:
        try:
            save(cache, signature, data)
        except (OSError, EOFError, pickle.PickleError) as error:
            warn_not_stored(getattr(error, "strerror", None) or str(error))

    def ensure_or_not(locator: Any) -> None:
        with suppress(OSError):
            ensure(locator)

    yield _replaced(Cache, "load_overload", load_or_not)
    yield _replaced(Cache, "save_overload", save_or_not)
    yield _replaced(_CacheLocator, "ensure_cache_path", ensure_or_not)


@contextmanager
def tolerant_cache() -> Iterator[None]:
    """Within this, code is compiled whatever state the cache on disk is in."""
    with ExitStack() as stack:
        if _has("a cache that may fail"):
            for replaced in _tolerant_cache():
                stack.enter_context(replaced)
        yield


@contextmanager
def fast_compilation() -> Iterator[None]:
    """Within this, kernels compile sooner, and no array index in them may be negative."""
    with tolerant_cache(), ExitStack() as stack:
        if _has("no negative indices"):
            stack.enter_context(_indices_from_zero())
        if _has("operators looked up once"):
            stack.enter_context(_operators_remembered())
        yield


# Kernels own no memory, so that references need no counting. Numba would count them at every
# call that passes an array, at several times the cost of the work itself.
KERNEL_OPTIONS = _known_options(_nrt=False, boundscheck=CHECKED)

HELPER_OPTIONS = {
    **KERNEL_OPTIONS,
    **_known_options(no_cpython_wrapper=True, no_cfunc_wrapper=True),
}
if _has("helpers without machine code"):
    HELPER_OPTIONS["pipeline_class"] = _part_compiler()
