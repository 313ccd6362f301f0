"""Compilation of generated predicate source, cached on disk by a hash of the source."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from cepheid.cache import FOLDER, store, warn_not_stored
from cepheid.codegen.fingerprints import PASSING
from cepheid.jit.decorators import c_function

_NO_FILE = "<predicate>"

_SOURCES: dict[int, str] = {}
"""The source of each predicate function, by its address."""


@cache
def predicate_address(source: str) -> int:
    """The address of the compiled ``predicate`` function of a generated module."""
    address = _compiled(_module_of(source).predicate)
    _SOURCES[address] = source
    return address


@cache
def marks_address(predicate: int) -> int:
    """The address of the ``marks`` function in the same module as a predicate function."""
    source = _SOURCES[predicate]
    return _compiled(_module_of(source).marks)


def _compiled(function: Callable[..., Any]) -> int:
    is_stored = function.__code__.co_filename != _NO_FILE
    try:
        return c_function(function, cached=is_stored)
    except ImportError:
        # The cached code calls a function of a module that this process does not have, such as
        # a function that was sent to a Spark worker.
        return c_function(function, cached=False)


@cache
def _module_of(source: str) -> ModuleType:
    """The module of a source; numba caches its code if the source is also in a file.

    Code that is valid in this process only is in no file. What is executed is always the source
    at hand, and never what somebody may have written into the file.
    """
    name = "q_" + hashlib.sha256(source.encode()).hexdigest()[:24]
    path = FOLDER / f"{name}.py"
    is_stored = PASSING not in source and _is_in_file(path, source)
    module = sys.modules[name] = ModuleType(name)  # Cached code finds its module by its name.
    exec(compile(source, str(path) if is_stored else _NO_FILE, "exec"), module.__dict__)
    return module


def _is_in_file(path: Path, source: str) -> bool:
    """Whether a file has this source, after it was written if need be."""
    with suppress(OSError, UnicodeDecodeError):
        if path.read_text(encoding="utf-8") == source:
            return True
    try:
        store(path, source.encode())
    except OSError as error:
        warn_not_stored(error.strerror)
        return False
    return True
