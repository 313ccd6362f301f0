"""Builds the C queries and calls them on the columns of events."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.stocks import SYMBOLS
from cepheid.events.events import Events
from cepheid.tuning import tuning

_CHUNK = tuning().chunk_events

SOURCE = Path(__file__).with_name("stocks.c")
FLAGS = ("-O3", "-march=native", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
DONE, FULL = 0, 1
ID_ROOM, MATCH_ROOM = 1 << 20, 1 << 17  # those of cepheid
I64, POINTER = ctypes.c_int64, ctypes.c_void_p
Int64s = np.ndarray


def has_compiler() -> bool:
    """Whether the C queries can be built here."""
    return shutil.which("gcc") is not None


class NativeStocks:
    """The six queries, compiled into a folder."""

    def __init__(self, folder: Path) -> None:
        library = folder / "stocks.so"
        subprocess.run(["gcc", *FLAGS, "-o", library, SOURCE], check=True)
        self._library = ctypes.CDLL(str(library))
        self._library.make_state.restype = POINTER
        self._library.make_state.argtypes = [I64, I64]
        self._library.free_state.argtypes = [POINTER]
        self._library.matches_of.restype = I64
        self._library.matches_of.argtypes = [POINTER]
        self._ids = np.zeros(ID_ROOM, dtype=np.int64)
        self._offsets = np.zeros(MATCH_ROOM + 1, dtype=np.int64)

    def enumerate(self, name: str, window: int, events: Events) -> int:
        """Write every match into a buffer that is used again; how many there are."""
        return self._run(f"enumerate_{name}", window, events, lambda _ids, _offsets: None)

    def count(self, name: str, window: int, events: Events) -> int:
        """How many matches there are."""
        return self._run(f"count_{name}", window, events, lambda _ids, _offsets: None)

    def matches(self, name: str, window: int, events: Events) -> tuple[Int64s, Int64s]:
        """All matches: the events of all, one after another, and where each begins."""
        ids: list[Int64s] = []
        offsets: list[Int64s] = [np.zeros(1, dtype=np.int64)]

        def keep(block: Int64s, block_offsets: Int64s) -> None:
            offsets.append(block_offsets[1:] + sum(map(len, ids)))
            ids.append(block.copy())

        self._run(f"enumerate_{name}", window, events, keep)
        return np.concatenate([*ids, np.empty(0, np.int64)]), np.concatenate(offsets)

    def _run(
        self,
        function_name: str,
        window: int,
        events: Events,
        consume: Callable[[Int64s, Int64s], object],
    ) -> int:
        function = getattr(self._library, function_name)
        function.restype = I64
        function.argtypes = [*[POINTER] * 4, I64, POINTER, POINTER, I64, POINTER, I64, POINTER]
        columns = [events.table[name].to_numpy() for name in ("symbol", "price", "volume")]
        at, written = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)
        state = self._library.make_state(SYMBOLS, window)
        ids, offsets = self._ids, self._offsets
        try:
            # As cepheid is fed: the matches of a batch are there when it has been read.
            for high in range(_CHUNK, len(events) + _CHUNK, _CHUNK):
                status = FULL
                while status == FULL:
                    status = function(
                        state,
                        *(column.ctypes.data for column in columns),
                        min(high, len(events)),
                        at.ctypes.data,
                        ids.ctypes.data,
                        len(ids),
                        offsets.ctypes.data,
                        MATCH_ROOM,
                        written.ctypes.data,
                    )
                    assert status in (DONE, FULL), "the ring of nodes is too small"
                    if written[1]:
                        consume(ids[: written[0]], offsets[: written[1] + 1])
                    elif status == FULL:
                        ids = self._ids = np.zeros(2 * len(ids), dtype=np.int64)
                    written[:] = 0
            return int(self._library.matches_of(state))
        finally:
            self._library.free_state(state)
