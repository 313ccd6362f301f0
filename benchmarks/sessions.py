"""A query run over events in the ways that are measured.

The one module here that reaches into a session: that no match is made is nothing that cepheid
offers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cepheid.analysis.analyse import analyse
from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.options import Options
from cepheid.engines.nfa_b.engine import NfaBEngine
from cepheid.events.events import Events
from cepheid.language.parser import parse
from cepheid.matches.modes.rule import EVERY_MATCH
from cepheid.sessions.session import Session
from cepheid.tuning import tuning

_CHUNK = tuning().chunk_events

BATCHES = 8
"""How many batches a short stream is fed in: in the first, a session has nothing to evict yet."""


class CompiledStocks:
    """A query, analysed for the events that it will read."""

    def __init__(self, text: str, window: int, events: Events) -> None:
        self.window = window
        self.query: AnalysedQuery = analyse(
            parse(text, "benchmark", {}), events.schema, text, "benchmark"
        )

    def session(self, algorithm: str) -> Session:
        """A session that has read nothing yet."""
        return Session(self.query, self.window, EVERY_MATCH, Options(algorithm=algorithm))

    def enumerate(self, events: Events, algorithm: str) -> Session:
        """Make every match, as the bindings of its variables, and drop it."""
        return _fed(self.session(algorithm), events)

    def match_only(self, events: Events, algorithm: str) -> Session:
        """Read all events, keep what matches are made of, and make none."""
        session = self.session(algorithm)
        engine = engine_of(session)
        engine._listed = lambda _first_event: _dropped(engine)
        return _fed(session, events)

    def count(self, events: Events, algorithm: str) -> Session:
        """Read all events and count the matches, without making them."""
        options = Options(algorithm=algorithm)
        return _fed(Session(self.query, self.window, EVERY_MATCH, options, counts=True), events)


def engine_of(session: Session) -> NfaBEngine:
    """The runs of a session of one automaton."""
    return session._alternatives[0].engine


def _fed(session: Session, events: Events) -> Session:
    size = min(_CHUNK, -(-len(events) // BATCHES))
    for low in range(0, len(events), size):
        session.feed(events.slice(low, min(low + size, len(events))))
    return session


def _dropped(engine: NfaBEngine) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    engine._control[0]["finals"] = 0
    return iter(())


def matches_of(session: Session, events: Events) -> tuple[np.ndarray, np.ndarray]:
    """All matches: the events of all, one after another, and where each match begins.

    They are in the order of their last event, then of their first.
    """
    parts = []
    offsets = [np.zeros(1, dtype=np.int64)]
    shift = 0
    for bindings in session.run(events):
        a, b = bindings.variables["a"], bindings.variables["b"]
        ends = a.offsets[1:]
        parts.append(np.insert(a.positions, ends, b.positions))
        offsets.append(ends + np.arange(1, len(ends) + 1) + shift)
        shift += len(parts[-1])
    return sorted_matches(np.concatenate(parts), np.concatenate(offsets))


def sorted_matches(ids: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The matches in the order of their last event, then of their first."""
    lengths = np.diff(offsets)
    order = np.lexsort((ids[offsets[:-1]], ids[offsets[1:] - 1]))
    sorted_offsets = np.concatenate([[0], np.cumsum(lengths[order])])
    places = np.repeat(offsets[:-1][order] - sorted_offsets[:-1], lengths[order])
    return ids[places + np.arange(len(ids))], sorted_offsets
