"""Builds the sequence in C and calls it on the columns of events."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.c_bound.native import DONE, FLAGS, FULL, I64, ID_ROOM, POINTER
from cepheid.tuning import tuning

_CHUNK = tuning().chunk_events

SOURCE = Path(__file__).with_name("stacks.c")


class NativeStacks:
    """``SEQ(A, B, C, …) WHERE [id]`` of two to six components, compiled into a folder.

    With ``any_id`` nothing is known of the ids beforehand.
    """

    def __init__(self, folder: Path, length: int, *, any_id: bool = False) -> None:
        library = folder / f"stacks{length}{any_id}.so"
        defined = [f"-DLENGTH={length}", *(["-DANY_ID"] if any_id else [])]
        subprocess.run(["gcc", *FLAGS, *defined, "-o", library, SOURCE], check=True)
        self._library = ctypes.CDLL(str(library))
        self._library.make_state.restype = POINTER
        self._library.make_state.argtypes = [I64, I64]
        self._library.free_state.argtypes = [POINTER]
        self._library.matches_of.restype = I64
        self._library.matches_of.argtypes = [POINTER]
        self._library.read_events.restype = I64
        arguments = [*[POINTER] * 4, I64, POINTER, POINTER, I64, POINTER]
        self._library.read_events.argtypes = arguments
        self._ids = np.zeros(ID_ROOM, dtype=np.int64)

    def run(
        self,
        type_codes: np.ndarray,
        components: np.ndarray,
        ids: np.ndarray,
        domain: int,
        window: int,
        consume: Callable[[np.ndarray], object] = lambda _tags: None,
    ) -> int:
        """Write every match into a buffer that is used again; how many there are.

        ``components`` has the component of each type, or -1.
        """
        at, written = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        state = self._library.make_state(domain, window)
        try:
            for high in range(_CHUNK, len(ids) + _CHUNK, _CHUNK):
                status = FULL
                while status == FULL:
                    status = self._library.read_events(
                        state,
                        type_codes.ctypes.data,
                        components.ctypes.data,
                        ids.ctypes.data,
                        min(high, len(ids)),
                        at.ctypes.data,
                        self._ids.ctypes.data,
                        len(self._ids),
                        written.ctypes.data,
                    )
                    assert status in (DONE, FULL)
                    consume(self._ids[: written[0]])
            return int(self._library.matches_of(state))
        finally:
            self._library.free_state(state)
