"""Several alternatives that one lazy automaton evaluates together [Kolchinsky17 §5]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cepheid.engines.base.engine import Chunk, Engine
from cepheid.engines.lazy.engine import LazyEngine
from cepheid.engines.lazy.sharing import SharedAlternatives
from cepheid.events.arrays import Int64s, int64s
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings
from cepheid.matches.kernels import match_tags
from cepheid.matches.metrics import EngineMetrics
from cepheid.snapshots import Arrays

Block = tuple[Int64s, Int64s]


class SharedLazyEngine:
    """A lazy engine whose matches are those of several alternatives.

    The alternatives are fed one after the other with the same batches: the first lets the engine
    read a batch, and the others get what was found of theirs.
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
        """Read a chunk; the matches of the first alternative, while those of others are kept."""
        for ids, offsets in self.engine.feed_tags(chunk):
            kinds = self.engine.kinds[: len(offsets) - 1]
            for place in range(1, len(self._names)):
                block = self._picked(place, ids, offsets, kinds)
                if len(block[1]) > 1:
                    self._found[place].append(block)
            yield self._picked(0, ids, offsets, kinds)

    def taken(self, place: int) -> list[Block]:
        """What was found of an alternative and not given yet."""
        found, self._found[place] = self._found[place], []
        return found

    def _picked(self, place: int, ids: Int64s, offsets: Int64s, kinds: Int64s) -> Block:
        """The matches of one alternative, with its own numbers of components."""
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
    """What a shared engine is for one of its alternatives; the first one drives it."""

    def __init__(
        self, shared: SharedLazyEngine, place: int, components: Sequence[ast.Component]
    ) -> None:
        self._shared = shared
        self._place = place
        self._components = components

    @property
    def partition_attributes(self) -> tuple[str, ...]:
        """Attributes in which all events of a match agree."""
        return self._shared.engine.partition_attributes

    @property
    def reads_partitions(self) -> bool:
        """Whether buffers and instances are kept by partition."""
        return self._shared.engine.reads_partitions

    def feed(self, chunk: Chunk, first_event: int) -> Iterator[Bindings]:
        """Read a chunk, or take what the first alternative has found when it read it."""
        shared, place = self._shared, self._place
        for tags, offsets in shared.read(chunk) if place == 0 else shared.taken(place):
            yield Bindings.of_tags(tags, offsets, self._components, first_event)

    def state(self) -> Arrays:
        """The state of the engine, once, and how many matches there were."""
        shared, place = self._shared, self._place
        counted = np.array([shared.matches[place], shared.events_in_matches[place]])
        return {"counted": counted, **(shared.engine.state() if place == 0 else {})}

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot."""
        shared, place = self._shared, self._place
        shared.matches[place], shared.events_in_matches[place] = state["counted"].tolist()
        if place == 0:
            shared.engine.load({name: each for name, each in state.items() if name != "counted"})

    def used_partitions(self, now: int) -> Int64s:
        """For each partition 1 if an event of it is kept, told of the first alternative.

        The others do not read partitions, and those of their negations are numbered apart.
        """
        return self._shared.engine.used_partitions(now) if self._place == 0 else int64s(0)

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Give what is kept for partition p to partition ``numbers[p]``."""
        if self._place == 0:
            self._shared.engine.renumber_partitions(numbers)

    @property
    def metrics(self) -> EngineMetrics:
        """What the engine has done, told of the first alternative; matches are its own."""
        shared, place = self._shared, self._place
        matches, events = int(shared.matches[place]), int(shared.events_in_matches[place])
        if place == 0:
            return replace(shared.engine.metrics, matches=matches, events_in_matches=events)
        return EngineMetrics(0, 0, 0, 0, 0, matches, events, {}, 0.0, 0.0)
