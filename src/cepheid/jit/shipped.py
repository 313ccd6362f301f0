"""Compiled kernels that a wheel for one platform brings along.

They fit one version of Python and of numba and one state of the kernels' sources, and are there
for several kinds of CPU. Where they do not fit, kernels are compiled as if there were none.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding

from cepheid.cache import CHECKED, SHIPPED, kernel_digest, store
from cepheid.jit.numba_internals import code_as_bytes, code_from_bytes

_V3 = (
    "avx avx2 bmi bmi2 cmov cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sahf "
    "sse sse2 sse3 sse4.1 sse4.2 ssse3 xsave"
)
_X86 = {"x86-64-v3": frozenset(_V3.split()), "x86-64": frozenset[str]()}
_ARM = {"generic": frozenset[str]()}

CPUS: Mapping[str, Mapping[str, frozenset[str]]] = {
    "x86_64": _X86,
    "AMD64": _X86,
    "aarch64": _ARM,
    "arm64": _ARM,
}
"""For each machine the CPUs that code is compiled for, the best first: LLVM's name, and the
features that a CPU must have."""


def versions_folder(root: Path) -> Path:
    """The folder of what fits this Python, this numba and these sources."""
    key = f"{kernel_digest()} {numba.__version__} {sys.implementation.cache_tag}"
    return root / "kernels" / hashlib.sha256(key.encode()).hexdigest()[:16]


@cache
def shipped_folder() -> Path | None:
    """The folder with code for this CPU; None if the package brings none that fits."""
    folder, config = versions_folder(SHIPPED), vars(numba.config)
    if CHECKED or config.get("CPU_NAME") is not None or not folder.is_dir():
        return None
    features = binding.get_host_cpu_features()
    has = {name for name, is_there in features.items() if is_there}
    if not config.get("ENABLE_AVX", True):
        has.discard("avx")
    for name, needs in CPUS.get(platform.machine(), {}).items():
        if needs <= has and (folder / name).is_dir():
            return folder / name
    return None


def load(task: str, dispatcher: Any) -> bool:
    """Let a kernel that is not compiled run what the package brings; whether there is that."""
    folder = shipped_folder()
    if folder is None:
        return False
    try:
        data = (folder / _file_name(task)).read_bytes()
    except OSError:
        return False
    return code_from_bytes(dispatcher, data)


def save(task: str, compiled: Any, folder: Path) -> None:
    """Store the code of a kernel for a wheel."""
    data = code_as_bytes(compiled)
    if data is not None:
        store(folder / _file_name(task), data)


def _file_name(task: str) -> str:
    return f"{hashlib.sha256(task.encode()).hexdigest()[:24]}.kernel"
