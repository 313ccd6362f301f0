"""Where a session spends its time, by the functions that do the parts of its work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import process_time
from typing import Any
from unittest.mock import patch

from benchmarks.sessions import CompiledStocks
from cepheid.engines.base.event_batch import EventBatch
from cepheid.engines.base.retained import Retained
from cepheid.engines.nfa_b.kernels import advance, memory
from cepheid.events.events import Events
from cepheid.events.partition_numbers import PartitionNumbers
from cepheid.matches.kernels import match_columns
from cepheid.sessions import session as sessions

# A part of the work, and what does it. None of them calls another one but for those of
# the group ``retained``, which are subtracted where they are called.
PARTS: tuple[tuple[str, Any, str], ...] = (
    ("mask", EventBatch, "mask"),
    ("columns", EventBatch, "column"),
    ("partitions", PartitionNumbers, "_numbered"),
    ("runs", advance, "advance_runs"),
    ("nodes", memory, "drop_nodes"),
    ("nodes", memory, "keep_reachable"),
    ("construction", match_columns, "list_columns"),
    ("retaining", Retained, "append"),
    ("forgetting", sessions.Session, "_evict"),
)
COLUMNS = tuple(dict.fromkeys(name for name, _, _ in PARTS))


class _Clock:
    """Adds up the time of each part without that of the parts that it calls."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(COLUMNS, 0.0)
        self._inner = [0.0]

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            self._inner.append(0.0)
            begun = process_time()
            try:
                return function(*arguments, **named)
            finally:
                spent = process_time() - begun
                self.seconds[name] += spent - self._inner.pop()
                self._inner[-1] += spent

        return timed


@contextmanager
def _clocked() -> Iterator[_Clock]:
    clock = _Clock()
    with ExitStack() as stack:
        for name, owner, attribute in PARTS:
            wrapped = clock.wrap(name, getattr(owner, attribute))
            stack.enter_context(patch.object(owner, attribute, wrapped))
        yield clock


def profile(stocks: CompiledStocks, events: Events, algorithm: str) -> dict[str, float]:
    """Nanoseconds per event of each part of enumerating all matches, and of the rest.

    ``gain_without_runs`` is how many times as fast it would be if runs took no time: no other way
    of moving them can gain more.
    """
    best: dict[str, float] | None = None
    for _ in range(3):
        with _clocked() as clock:
            begun = process_time()
            stocks.enumerate(events, algorithm)
            total = process_time() - begun
        parts = {name: 1e9 * spent / len(events) for name, spent in clock.seconds.items()}
        parts["rest"] = 1e9 * total / len(events) - sum(parts.values())
        parts["total"] = 1e9 * total / len(events)
        parts["gain_without_runs"] = parts["total"] / (
            parts["total"] - parts["runs"] - parts["nodes"]
        )
        if best is None or parts["total"] < best["total"]:
            best = parts
    assert best is not None
    return best
