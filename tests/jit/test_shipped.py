"""Compiled kernels in the installed package: loaded where they fit, compiled where they do not."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from cepheid.jit import decorators, shipped
from cepheid.jit.decorators import I64, I64S, kernel

BEST = next(iter(shipped.CPUS[platform.machine()]))
GENERIC = list(shipped.CPUS[platform.machine()])[-1]


def total(numbers: Any) -> Any:
    result = 0
    for each in numbers:
        result += each
    return result


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The folder of a package that brings the kernel, for two CPUs."""
    monkeypatch.setattr(shipped, "SHIPPED", tmp_path)
    folder = shipped.versions_folder(tmp_path)
    for name in (BEST, GENERIC):
        (folder / name).mkdir(parents=True, exist_ok=True)
        kernel(I64(I64S))(total).compile(into=folder / name)
    shipped.shipped_folder.cache_clear()
    yield folder
    shipped.shipped_folder.cache_clear()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that are compiled, or read from the cache."""
    tasks: list[str] = []
    first_time = decorators.first_time

    def noted(task: str) -> Any:
        tasks.append(task)
        return first_time(task)

    monkeypatch.setattr(decorators, "first_time", noted)
    return tasks


def answer() -> int:
    """What the kernel finds when it is called for the first time, and once more."""
    fresh = kernel(I64(I64S))(total)
    first, again = (fresh(np.arange(5, dtype=np.int64)) for _ in range(2))
    assert first == again
    return int(first)


def test_a_kernel_of_the_package_is_not_compiled(package: Path, compiled: list[str]) -> None:
    assert (answer(), compiled) == (10, [])
    assert shipped.shipped_folder() in {package / BEST, package / GENERIC}


@pytest.mark.parametrize("damage", [b"", b"\x80\x04N."])
def test_a_damaged_file_is_compiled_instead(
    package: Path, compiled: list[str], damage: bytes
) -> None:
    for file in package.glob("*/*.kernel"):
        file.write_bytes(damage)
    assert answer() == 10
    assert len(compiled) == 1


def test_a_kernel_that_the_package_lacks(package: Path, compiled: list[str]) -> None:
    for file in package.glob("*/*.kernel"):
        file.unlink()
    assert answer() == 10
    assert len(compiled) == 1


def test_the_features_of_the_cpu_decide(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped.binding, "get_host_cpu_features", lambda: {"sse2": True})
    assert shipped.shipped_folder() == package / GENERIC
    shipped.shipped_folder.cache_clear()
    every = dict.fromkeys(shipped.CPUS[platform.machine()][BEST], True)
    monkeypatch.setattr(shipped.binding, "get_host_cpu_features", lambda: every)
    assert shipped.shipped_folder() == package / BEST


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        (numba, "__version__", "0.1"),
        (shipped, "kernel_digest", lambda: "other sources"),
        (shipped.platform, "machine", lambda: "riscv64"),
        (numba.config, "CPU_NAME", "generic"),
        (shipped, "CHECKED", True),
    ],
)
def test_what_does_not_fit_is_not_loaded(
    monkeypatch: pytest.MonkeyPatch, compiled: list[str], where: Any, name: str, value: Any
) -> None:
    monkeypatch.setattr(where, name, value)
    assert shipped.shipped_folder() is None
    assert (answer(), len(compiled)) == (10, 1)
