"""Compilation of generated predicate source, cached on disk by a hash of the source."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from cepheid.codegen.fingerprints import PASSING
from cepheid.jit.cache import FOLDER
from cepheid.jit.decorators import c_function

_SOURCES: dict[int, str] = {}
"""The source of each predicate function, by its address."""


@cache
def predicate_address(source: str) -> int:
    """The address of the compiled ``predicate`` function of a generated module."""
    address = _compiled(_module_of(source).predicate, source)
    _SOURCES[address] = source
    return address


@cache
def marks_address(predicate: int) -> int:
    """The address of the ``marks`` function in the same module as a predicate function."""
    source = _SOURCES[predicate]
    return _compiled(_module_of(source).marks, source)


def _compiled(function: Callable[..., Any], source: str) -> int:
    try:
        return c_function(function, cached=PASSING not in source)
    except ImportError:
        # The cached code calls a function of a module that this process does not have, such as
        # a function that was sent to a Spark worker.
        return c_function(function, cached=False)


@cache
def _module_of(source: str) -> ModuleType:
    return _passing_module(source) if PASSING in source else _module(source)


def _passing_module(source: str) -> ModuleType:
    """The module of code that is valid in this process only."""
    module = ModuleType("q_passing")
    exec(compile(source, "<predicate>", "exec"), module.__dict__)
    return module


def _module(source: str) -> ModuleType:
    """The module, from a real file: numba caches compiled code for files only."""
    name = "q_" + hashlib.sha256(source.encode()).hexdigest()[:24]
    path = FOLDER / f"{name}.py"
    if not path.exists():
        _write_atomically(path, source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _write_atomically(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)
