"""Faults on demand: an allocation by NumPy, or an operation on files, that fails."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cepheid.budget import Budget, OverBudget


class Countdown:
    """Counts operations down to the one that fails."""

    def __init__(self) -> None:
        self.left = 0
        self.has_failed = False

    def fails(self) -> bool:
        """Count an operation; whether it is the one that fails."""
        self.left -= 1
        self.has_failed = self.has_failed or self.left == 0
        return self.left == 0

    @contextmanager
    def at(self, number: int) -> Iterator[Countdown]:
        """Within this, the operation of this number fails; 1 is the first."""
        self.left, self.has_failed = number, False
        try:
            yield self
        finally:
            self.left = 0


# --- Allocations

_Pointer, _Size = ctypes.c_void_p, ctypes.c_size_t


class _Handler(ctypes.Structure):
    """``PyDataMem_Handler``, by which NumPy allocates the memory of arrays."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", _Pointer),
        ("malloc", ctypes.PYFUNCTYPE(_Pointer, _Pointer, _Size)),
        ("calloc", ctypes.PYFUNCTYPE(_Pointer, _Pointer, _Size, _Size)),
        ("realloc", ctypes.PYFUNCTYPE(_Pointer, _Pointer, _Pointer, _Size)),
        ("free", _Pointer),
    )


def _function(address: Any, result: Any, *arguments: Any) -> Callable[..., Any]:
    return ctypes.PYFUNCTYPE(result, *arguments)(address)


_new_capsule = _function(
    ("PyCapsule_New", ctypes.pythonapi), ctypes.py_object, _Pointer, ctypes.c_char_p, _Pointer
)
_pointer_of = _function(
    ("PyCapsule_GetPointer", ctypes.pythonapi), _Pointer, ctypes.py_object, ctypes.c_char_p
)
_API = ctypes.cast(_pointer_of(np._core.multiarray._ARRAY_API, None), ctypes.POINTER(_Pointer))
_set_handler = _function(_API[304], ctypes.py_object, ctypes.py_object)
_get_handler = _function(_API[305], ctypes.py_object)

_NAME = b"mem_handler"
_USUAL = _Handler.from_address(_pointer_of(_get_handler(), _NAME))
_FAILING = _Handler.from_buffer_copy(_USUAL)
_ALLOCATIONS = Countdown()


def _failing(allocate: Callable[..., int | None]) -> Callable[..., int | None]:
    return lambda *given: None if _ALLOCATIONS.fails() else allocate(*given)


for _name, _kind in _Handler._fields_[3:6]:
    setattr(_FAILING, _name, _kind(_failing(getattr(_USUAL, _name))))


@contextmanager
def failing_allocation(number: int) -> Iterator[Countdown]:
    """Within this, NumPy gets no memory for the array of this number; 1 is the first."""
    before = _set_handler(_new_capsule(ctypes.addressof(_FAILING), _NAME, None))
    try:
        with _ALLOCATIONS.at(number):
            yield _ALLOCATIONS
    finally:
        _set_handler(before)


@contextmanager
def failing_charge(number: int) -> Iterator[Countdown]:
    """Within this, the budget is exceeded when it is charged for that time; 1 is the first."""
    charge, charges = Budget.charge, Countdown()

    def failing(budget: Budget, size: int) -> None:
        if charges.fails():
            raise OverBudget
        charge(budget, size)

    with pytest.MonkeyPatch.context() as patch, charges.at(number):
        patch.setattr(Budget, "charge", failing)
        patch.setattr("cepheid.events.arrays._SMALL", 0)  # Small arrays are charged too.
        yield charges


# --- Files

_FILES = Countdown()
_below: list[Path] = []


def _watch(event: str, given: tuple[Any, ...]) -> None:
    if not _below or event not in ("open", "os.rename", "os.mkdir", "os.chmod"):
        return
    if event == "open" and not (given[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        return
    if isinstance(given[0], int) or not Path(os.fsdecode(given[0])).is_relative_to(_below[0]):
        return
    if _FILES.fails():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), given[0])


sys.addaudithook(_watch)


@contextmanager
def failing_file(folder: Path, number: int) -> Iterator[Countdown]:
    """Within this, the disk is full when a file below the folder is changed for that time.

    A change is to open a file to write to it, to rename it, to set its mode, or to make a folder.
    """
    _below.append(folder)
    try:
        with _FILES.at(number):
            yield _FILES
    finally:
        _below.clear()


@contextmanager
def full_after(size: int) -> Iterator[None]:
    """Within this, no file gets larger than this many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
