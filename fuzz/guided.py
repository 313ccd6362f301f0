"""Cases that are made from bytes, which atheris changes to reach more lines of cepheid.

``python -m fuzz.guided`` is ``python -m fuzz`` with lines that are counted. Where atheris is not
installed, the same cases are made from random numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from random import Random

MODULE = "fuzz.guided"
COUNTED = ("cepheid.language", "cepheid.analysis", "cepheid.explain", "cepheid.events.sources")
"""Packages without kernels: numba cannot compile code that counts its lines."""
MOST_BYTES = 2_048
RUNS = 20_000
"""Cases of a process; then there is a new one, so that memory is returned."""


class Bytes(Random):
    """Random numbers that are read from bytes; when none are left, others that depend on them."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at, self._others = data, 0, Random(data)

    def getrandbits(self, k: int, /) -> int:
        """The next ``k`` bits, of whole bytes."""
        size = (k + 7) // 8
        taken = self._data[self._at : self._at + size]
        self._at += size
        taken += self._others.randbytes(size - len(taken))
        return int.from_bytes(taken, "little") & ((1 << k) - 1)

    def random(self) -> float:
        """A number from 0 to below 1; a byte is enough to choose."""
        return self.getrandbits(8) / 256


def is_installed() -> bool:
    """Whether atheris can choose the bytes."""
    return find_spec("atheris") is not None


def fuzz(run: Callable[[bytes], None], seed: int, corpus: Path) -> None:
    """Run cases; those that reach new lines are kept in the corpus. It ends the process."""
    import atheris

    corpus.mkdir(parents=True, exist_ok=True)
    options = {"seed": seed % 2**31, "runs": RUNS, "max_len": MOST_BYTES}
    # Inputs are long from the beginning. The parent process watches time, and the system memory.
    options |= {"len_control": 0, "handle_term": 0}
    options |= {"timeout": 100_000, "rss_limit_mb": 0, "malloc_limit_mb": 0}
    given = [f"-{name}={value}" for name, value in options.items()]
    atheris.Setup(["fuzz", *given, f"-artifact_prefix={corpus}-", str(corpus)], run)
    atheris.Fuzz()


if __name__ == "__main__":
    import atheris

    with atheris.instrument_imports(include=[*COUNTED]):
        from fuzz.__main__ import main
    sys.exit(main())
