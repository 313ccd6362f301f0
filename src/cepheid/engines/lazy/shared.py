"""One lazy engine for several alternatives of a query [Kolchinsky17 §5]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cepheid.engines.base.engine import Chunk, Engine, Restored
from cepheid.engines.lazy.engine import Block, LazyEngine
from cepheid.engines.lazy.sharing import SharedAlternatives
from cepheid.events.arrays import Int64s, int64s
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings
from cepheid.matches.kernels import match_tags
from cepheid.matches.metrics import EngineMetrics
from cepheid.snapshot_checks import FAR, check_arrays, expected
from cepheid.snapshots import Arrays


class SharedLazyEngine:
    """A lazy engine that finds the matches of several alternatives.

    The alternatives are fed one after the other with the same chunks. The first one lets the
    engine read a chunk, and keeps the matches of the others for them.
    """

    def __init__(self, engine: LazyEngine, shared: SharedAlternatives) -> None:
        self.engine = engine
        self._numbers = shared.numbers
        self._names = []
        for places in shared.places:
            names = int64s(len(shared.union.components))
            names[list(places)] = np.arange(len(places))
            self._names.append(names)
        self._found: list[list[Block]] = [[] for _ in shared.numbers]
        self.matches = int64s(len(shared.numbers))
        self.events_in_matches = int64s(len(shared.numbers))

    def part(self, number: int, components: Sequence[ast.Component]) -> SharedPart:
        """The engine of the alternative with this number."""
        return SharedPart(self, self._numbers.index(number), components)

    def read(self, chunk: Chunk) -> Iterator[Block]:
        """Read a chunk; the matches of the first alternative. Those of the others are kept."""
        for ids, offsets in self.engine.feed_tags(chunk):
            kinds = self.engine.kinds[: len(offsets) - 1]
            for place in range(1, len(self._names)):
                block = self._picked(place, ids, offsets, kinds)
                if len(block[1]) > 1:
                    self._found[place].append(block)
            yield self._picked(0, ids, offsets, kinds)

    def taken(self, place: int) -> list[Block]:
        """The kept matches of an alternative; they are handed out once."""
        found, self._found[place] = self._found[place], []
        return found

    def _picked(self, place: int, ids: Int64s, offsets: Int64s, kinds: Int64s) -> Block:
        """The matches of one alternative, with its own component numbers."""
        own = np.flatnonzero((kinds >> place) & 1)
        lengths = offsets[own + 1] - offsets[own]
        picked = np.concatenate([int64s(1), np.cumsum(lengths)])
        at = np.arange(picked[-1]) + np.repeat(offsets[own] - picked[:-1], lengths)
        tags = ids[at]
        match_tags.rename_components(tags, self._names[place])
        self.matches[place] += len(own)
        self.events_in_matches[place] += len(tags)
        return tags, picked


class SharedPart(Engine):
    """One alternative of a shared engine; the first alternative drives it."""

    def __init__(
        self, shared: SharedLazyEngine, place: int, components: Sequence[ast.Component]
    ) -> None:
        engine = shared.engine
        super().__init__(engine.partition_attributes, reads_partitions=engine.reads_partitions)
        self._shared = shared
        self._place = place
        self._components = components

    def feed(self, chunk: Chunk, first_event: int) -> Iterator[Bindings]:
        """Read a chunk, or take the matches that were found when the first alternative read it."""
        shared, place = self._shared, self._place
        for tags, offsets in shared.read(chunk) if place == 0 else shared.taken(place):
            yield Bindings.of_tags(tags, offsets, self._components, first_event)

    def state(self) -> Arrays:
        """The number of matches, and for the first alternative the state of the engine."""
        shared, place = self._shared, self._place
        counted = np.array([shared.matches[place], shared.events_in_matches[place]])
        return {"counted": counted, **(shared.engine.state() if place == 0 else {})}

    def load(self, state: Arrays, restored: Restored) -> None:
        """Take the state of a snapshot."""
        shared, place = self._shared, self._place
        rest = {name: each for name, each in state.items() if name != "counted"}
        own = {name: each for name, each in state.items() if place != 0 or name == "counted"}
        check_arrays(own, {"counted": expected(np.int64, 2, each=(0, FAR))})
        shared.matches[place], shared.events_in_matches[place] = state["counted"].tolist()
        if place == 0:
            shared.engine.load(rest, restored)

    def used_partitions(self, now: int) -> Int64s:
        """For each partition 1 if an event of it is kept; only the first alternative reports them.

        The partitions of negations are numbered separately.
        """
        return self._shared.engine.used_partitions(now) if self._place == 0 else int64s(0)

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Move what is kept for partition p to partition ``numbers[p]``."""
        if self._place == 0:
            self._shared.engine.renumber_partitions(numbers)

    @property
    def metrics(self) -> EngineMetrics:
        """The metrics of the engine for the first alternative; matches for each of them."""
        shared, place = self._shared, self._place
        matches, events = int(shared.matches[place]), int(shared.events_in_matches[place])
        if place == 0:
            return replace(shared.engine.metrics, matches=matches, events_in_matches=events)
        return EngineMetrics(matches=matches, events_in_matches=events)
