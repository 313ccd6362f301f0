"""Generated predicate source to a compiled function, kept on disk by the hash of its text."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

from cepheid.automata.fingerprints import PASSING
from cepheid.kernels import jit


@cache
def predicate_address(source: str) -> int:
    """The address of the compiled ``predicate`` function of a generated module."""
    is_passing = PASSING in source
    module = _passing_module(source) if is_passing else _module(source)
    return jit.c_function(module.predicate, cached=not is_passing)


def _passing_module(source: str) -> ModuleType:
    """The module of code that means something in this process only."""
    module = ModuleType("q_passing")
    exec(compile(source, "<predicate>", "exec"), module.__dict__)
    return module


def _module(source: str) -> ModuleType:
    """The module, from a real file: compiled code is cached only for those."""
    name = "q_" + hashlib.sha256(source.encode()).hexdigest()[:24]
    path = jit.FOLDER / f"{name}.py"
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
