"""Streams as [Wu06 §5.1] generates them: types and values drawn at random, a window of events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from cepheid.analysis.analyse import analyse
from cepheid.engines.base.engine import Engine
from cepheid.engines.base.evaluation import INSTANCE_STACKS
from cepheid.engines.base.event_batch import EventBatch
from cepheid.engines.base.options import Options
from cepheid.events.events import Events, order_events
from cepheid.language.parser import parse
from cepheid.matches.modes.rule import EVERY_MATCH
from cepheid.sessions.session import Session
from cepheid.tuning import tuning

_CHUNK = tuning().chunk_events

TYPES = 20
SEED = 6


def table(count: int, domains: Mapping[str, int], types: int = TYPES) -> pa.Table:
    """Events of types E1, E2, … with an attribute for each domain, drawn evenly.

    Types after the first twenty, which no query names, have one name together.
    """
    random = np.random.default_rng(SEED)
    names = pa.array([f"E{number}" for number in range(1, min(types, TYPES + 1) + 1)])
    codes = pa.array(np.minimum(random.integers(0, types, count), TYPES).astype(np.int32))
    columns = {"ts": np.arange(count), "type": pa.DictionaryArray.from_arrays(codes, names)}
    for name, size in domains.items():
        columns[name] = random.integers(0, size, count)
    return pa.table(columns)


def query_text(length: int, window: int, condition: str = "") -> str:
    """``SEQ(E1 e1, E2 e2, …) WHERE condition WITHIN window EVENTS``."""
    components = ", ".join(f"E{number} e{number}" for number in range(1, length + 1))
    where = f" WHERE {condition}" if condition else ""
    return f"PATTERN SEQ({components}){where} WITHIN {window} EVENTS"


class Sequence:
    """A query over a stream, analysed once and run in the ways that are measured."""

    def __init__(self, text: str, window: int, stream: pa.Table) -> None:
        self.window = window
        self.events: Events = order_events(stream)
        self.query = analyse(parse(text, "benchmark", {}), self.events.schema, text, "benchmark")

    def session(self, **options: object) -> Session:
        """A session that has read nothing yet."""
        chosen = Options(**options)  # type: ignore[arg-type]
        return Session(self.query, self.window, EVERY_MATCH, chosen, evaluation=INSTANCE_STACKS)

    def run(self, session: Session) -> Session:
        """Feed all events, and make every match as the bindings of its variables."""
        for low in range(0, len(self.events), _CHUNK):
            session.feed(self.events.slice(low, min(low + _CHUNK, len(self.events))))
        return session

    def engine(self) -> Engine:
        """The stacks alone, which have read nothing yet."""
        engine: Engine = self.session()._alternatives[0].engine
        return engine

    def batches(
        self, partitions: np.ndarray
    ) -> Iterator[tuple[EventBatch, np.ndarray, np.ndarray]]:
        """The events as an engine reads them, with their partitions and positions."""
        strings = self.session()._strings
        for low in range(0, len(self.events), _CHUNK):
            high = min(low + _CHUNK, len(self.events))
            batch = EventBatch.of(self.events.slice(low, high), low, strings)
            yield batch, np.ascontiguousarray(partitions[low:high]), np.arange(low, high)
