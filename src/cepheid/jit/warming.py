"""Compiles all kernels ahead of their first use, for example into an image."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path


def kernel_modules() -> list[str]:
    """The modules with kernels."""
    root = Path(__file__).parents[2]
    files = sorted((root / "cepheid").rglob("kernels/[a-z]*.py"))
    return [".".join(each.relative_to(root).with_suffix("").parts) for each in files]


def warm(
    modules: Sequence[str], jobs: int | None = None, into: Path | None = None
) -> Iterator[int]:
    """Compile the kernels of the modules, each module in one of ``jobs`` processes.

    Yields the number of kernels of a module when they are ready: compiled, or found on disk. With
    a folder, their code is also stored there, for a wheel.
    """
    jobs = min(jobs or os.cpu_count() or 1, len(modules))
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(_warm, each, into) for each in modules]):
            yield done.result()


def _warm(name: str, into: Path | None) -> int:
    from cepheid.jit.decorators import Compilable

    found = [each for each in vars(import_module(name)).values() if isinstance(each, Compilable)]
    return sum(each.compile(into) for each in found if each.module == name)
