"""The engine interface: read chunks of events, find matches of the positive components."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.budget import Budget
from cepheid.engines.base.event_batch import EventBatch
from cepheid.engines.base.layout import NOTHING_CLOSED, Closing
from cepheid.engines.base.options import Options
from cepheid.events.arrays import Int64s
from cepheid.language import syntax as ast
from cepheid.matches.bindings import Bindings
from cepheid.matches.layout import NO_PRUNING, Chains
from cepheid.matches.metrics import EngineMetrics
from cepheid.snapshots import Arrays


@dataclass(frozen=True, slots=True, eq=False)
class EngineTask:
    """The task of an engine: one alternative of a query, its window and the options.

    ``by_partition`` means that the window counts the events of a partition. An engine that
    ``keeps_all`` lists no matches: its buffer is the answer. An engine that ``counts`` only has to
    count the matches. ``prunes`` tells which matches an engine may leave out, as in
    :mod:`cepheid.matches.layout`; an engine that cannot prune finds all. ``shared`` has the engines
    that several alternatives of the query share. ``budget`` counts the memory of the run.
    """

    query: AnalysedQuery
    alternative: Alternative
    window: int
    by_partition: bool
    options: Options
    keeps_all: bool = False
    counts: bool = False
    prunes: int = NO_PRUNING
    shared: dict[tuple[int, ...], Any] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Consecutive events, with the partition of each and its place on the axis of the window.

    ``closing`` has the edges that negated components close, for an engine that ``closes_edges``.
    """

    events: EventBatch
    partition_of: Int64s
    partitions: int
    axis: Int64s
    closing: Closing = NOTHING_CLOSED


@dataclass(frozen=True, slots=True, eq=False)
class StandingStacks:
    """The instances that a later match can contain, and the keys of their partitions.

    ``keys`` has, for each component, the attributes of the key that is pushed into the scan.
    """

    instances: npt.NDArray[np.void]
    keys: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class StandingBuffer:
    """What runs have selected, in a versioned buffer, and the runs that are left.

    A row of ``pointers`` leads from an entry to the one selected before it, or to none (-1); it is
    labelled with a version, as a row of ``runs`` is.
    """

    entries: npt.NDArray[np.void]
    pointers: npt.NDArray[np.void]
    versions: npt.NDArray[np.void]
    runs: tuple[tuple[int, int, int], ...]
    """The version, the state and the latest entry of each run."""

    def dewey(self, version: int) -> str:
        """A version as a dewey number, such as ``1.0.1``."""
        digits: list[str] = []
        while version >= 0:
            digits.insert(0, str(int(self.versions[version]["digit"])))
            version = int(self.versions[version]["parent"])
        return ".".join(digits)


@dataclass(frozen=True, slots=True)
class Restored:
    """What a session knows when an engine restores its state.

    Events with the numbers ``events`` are retained; earlier ones are at ``edge`` or before it on
    the axis of the window. ``partitions`` is the number of partitions.
    """

    events: range
    edge: int
    partitions: int


class Engine(ABC):
    """One alternative of a query over a stream, without its negations.

    All events of a match agree on the ``partition_attributes``. ``reads_partitions`` says whether
    the engine reads partitions; otherwise all events are in partition 0. An engine that
    ``closes_edges`` drops partial matches that a negated component has violated, if the events
    alone that violate it tell.
    """

    closes_edges = False

    def __init__(self, partition_attributes: tuple[str, ...], *, reads_partitions: bool) -> None:
        self.partition_attributes = partition_attributes
        self.reads_partitions = reads_partitions

    @abstractmethod
    def feed(self, chunk: Chunk, first_event: int) -> Iterator[Bindings]:
        """Read a chunk, and yield the matches that it completes, in blocks without times.

        Positions count from ``first_event``. The arrays of a block are never overwritten.
        """

    @abstractmethod
    def state(self) -> Arrays:
        """The state that the engine keeps between chunks, for a snapshot."""

    @abstractmethod
    def load(self, state: Arrays, restored: Restored) -> None:
        """Restore the state of a snapshot.

        Raises:
            SnapshotError: a kernel could not read this state.
        """

    @property
    @abstractmethod
    def metrics(self) -> EngineMetrics:
        """Metrics of the engine so far."""

    @property
    def counted(self) -> float:
        """The number of matches, for an engine that counts; exact below 2 ** 53."""
        return float(self.metrics.matches)

    def live_starts(self) -> Int64s | None:
        """The positions of the first events of all runs, if the engine knows them.

        Of the events read so far, later matches begin only with these.
        """
        return None

    def crowded(self) -> ast.Component | None:
        """The component at which there are most partial matches, if the engine knows."""
        return None

    @property
    def buffer(self) -> Chains:
        """The matches of an engine that keeps all of them."""
        raise NotImplementedError

    def standing(self, now: int) -> StandingStacks:
        """The instance stacks at a time, for an engine that has them."""
        raise NotImplementedError

    def selected(self) -> StandingBuffer:
        """The versioned buffer of an engine that has one."""
        raise NotImplementedError

    @abstractmethod
    def used_partitions(self, now: int) -> Int64s:
        """For each partition, 1 if the engine keeps state for it.

        ``now`` is the least place that a later event can have on the axis of the window.
        """

    @abstractmethod
    def renumber_partitions(self, numbers: Int64s) -> None:
        """Move the state of partition p to partition ``numbers[p]``; unused partitions have -1."""
