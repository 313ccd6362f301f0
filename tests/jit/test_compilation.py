"""How kernels are compiled: when they are needed, and their helpers once."""

from __future__ import annotations

import sys

import numba
import numpy as np
import pytest

from cepheid import cache
from cepheid.jit import decorators as jit


@jit.helper
def _sum(one, other):
    return one + other


@jit.kernel(jit.I64(jit.I64S))
def _sum_all(numbers):
    total = 0
    for number in numbers:
        total = _sum(total, number)
    return _sum(_sum(total, 1), 2)


@jit.kernel(jit.I64(jit.I64))
def _next(number):
    return number + 1


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    jit._announce_compilation.cache_clear()


@pytest.mark.usefixtures("empty_cache")
def test_a_kernel_is_compiled_at_its_first_call_and_a_helper_once_for_all_constants(
    monkeypatch, capsys
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert not _sum.overloads
    assert _sum_all(np.arange(4)) == 9
    assert len(_sum.overloads) == 1
    assert _next(1) == 2
    assert capsys.readouterr().err.count("cepheid compiles") == 1


def test_a_kernel_refuses_what_its_signature_does_not_say():
    with pytest.raises(TypeError):
        _next(np.zeros(2))
